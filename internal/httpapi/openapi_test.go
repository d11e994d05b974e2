package httpapi

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"klamm/internal/explorer"
)

// The page's types come from the committed description, so it must be the one the code gives.
func TestCommittedOpenAPIIsCurrent(t *testing.T) {
	want, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../ui/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Fatalf("ui/openapi.json differs; run: go run ./internal/httpapi/openapigen ui/openapi.json\n%s", diff)
	}
}

// Every 64-bit integer leaves as a JSON string, and plain int (whose size differs) is not used.
func TestNoJSONNumberCanLoseDigits(t *testing.T) {
	seen := map[reflect.Type]bool{}
	for _, v := range []any{
		explorer.Info{},
		explorer.ClusterList{},
		explorer.TestReport{},
		explorer.Overview{},
		explorer.BrokerList{},
		explorer.TopicList{},
		explorer.TopicDetail{},
		explorer.TopicCreate{},
		explorer.TopicCreated{},
		explorer.TopicImpact{},
		explorer.TopicConsumers{},
		explorer.GroupList{},
		explorer.GroupDetail{},
		explorer.RecordDetail{},
		explorer.SendRequest{},
		explorer.SendResult{},
		explorer.Slice{},
		explorer.Progress{},
		explorer.RecordBatch{},
		explorer.ScanProblem{},
		explorer.Done{},
	} {
		checkInts(t, reflect.TypeOf(v), seen)
	}
}

func checkInts(t *testing.T, typ reflect.Type, seen map[reflect.Type]bool) {
	t.Helper()
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || seen[typ] {
		return
	}
	seen[typ] = true
	for i := range typ.NumField() {
		f := typ.Field(i)
		if !f.IsExported() {
			continue
		}
		base := f.Type
		if base.Kind() == reflect.Pointer {
			base = base.Elem()
		}
		switch base.Kind() {
		case reflect.Int64, reflect.Uint64:
			if !strings.Contains(f.Tag.Get("json"), ",string") {
				t.Errorf("%s.%s is a JSON number of 64 bits", typ.Name(), f.Name)
			}
		case reflect.Int, reflect.Uint, reflect.Float32, reflect.Float64:
			t.Errorf("%s.%s has kind %s", typ.Name(), f.Name, base.Kind())
		}
		checkInts(t, f.Type, seen)
	}
}
