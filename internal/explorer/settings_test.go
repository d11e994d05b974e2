package explorer

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The vectors are those of Kafka's own UtilsTest.
func TestMurmur2(t *testing.T) {
	for key, want := range map[string]int32{
		"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536, "a-little-bit-longer-string": -1486304829,
		"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971, "abc": 479470107,
	} {
		if got := int32(murmur2([]byte(key))); got != want {
			t.Errorf("%s: %d, not %d", key, got, want)
		}
	}
}

func TestJAAS(t *testing.T) {
	cases := map[string][2]string{
		`org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p";`:          {"u", "p"},
		`X required username='a b' password="q\"u\\o;te=";`:                                                    {"a b", `q"u\o;te=`},
		"X required\n  username=\"$ConnectionString\"\n  password=\"Endpoint=sb://x/;SharedAccessKey=abc=\" ;": {"$ConnectionString", "Endpoint=sb://x/;SharedAccessKey=abc="},
		`X required username=bare password=bare2;`:                                                             {"bare", "bare2"},
		`X required serviceName="kafka" username = "u" password = "p";`:                                        {"u", "p"},
		``:                                {"", ""},
		`X required username="never ends`: {"never ends", ""},
	}
	for in, want := range cases {
		got := parseJAAS(in)
		if got["username"] != want[0] || got["password"] != want[1] {
			t.Errorf("%s: %v", in, got)
		}
	}
}

func FuzzJAAS(f *testing.F) {
	f.Add(`X required username="u" password="p";`)
	f.Add(`= ="`)
	f.Fuzz(func(t *testing.T, text string) { parseJAAS(text) })
}

func TestBootstrapAddresses(t *testing.T) {
	got, err := parseBootstrap([]string{"a:1, b", "[::1]:9093", "::1", "PLAINTEXT://c:9094"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a:1", "b:9092", "[::1]:9093", "[::1]:9092", "c:9094"}, got); diff != "" {
		t.Fatal(diff)
	}
}

func TestIDsComeFromNames(t *testing.T) {
	for name, want := range map[string]string{"Prod 1": "prod-1", "Прод": "прод", "///": "cluster", strings.Repeat("x", 99): strings.Repeat("x", 40)} {
		if got := slug(name); got != want {
			t.Errorf("%q gives %q", name, got)
		}
	}
}

func TestProductGuess(t *testing.T) {
	all := map[int16]int16{}
	some := map[int16]int16{}
	newestVersions().EachMaxKeyVersion(func(k, v int16) {
		all[k] = v
		if k == 9 { // pinned by us, not by the release
			all[k] = 10
		}
		if k < 20 {
			some[k] = all[k]
		}
	})
	if p := guessProduct(all); p.Name != "Kafka 4.4 API" {
		t.Errorf("all of 4.4 is taken for %+v", p)
	}
	if p := guessProduct(some); p.Name != "Kafka 4.4 API" || p.Keys != int32(len(some)) {
		t.Errorf("a part of 4.4 is taken for %+v", p)
	}
	if p := guessProduct(nil); p.Name != "unknown API" {
		t.Errorf("nothing is taken for %+v", p)
	}
}
