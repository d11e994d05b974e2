package protocol

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"
)

// appendRequest is the client's side: a frame without its size.
func appendRequest(correlationID int32, clientID *string, req kmsg.Request) []byte {
	f := kmsg.NewRequestFormatter()
	if clientID != nil {
		f = kmsg.NewRequestFormatter(kmsg.FormatterClientID(*clientID))
	}
	return f.AppendRequest(nil, req, correlationID)[4:]
}

func TestParseRequestEveryVersion(t *testing.T) {
	id := "a client"
	for _, r := range Kafka44() {
		for version := r.Min; version <= r.Max; version++ {
			if r.Key == 0 && version < minProduce {
				continue
			}
			for _, client := range []*string{&id, nil} {
				req := kmsg.RequestForKey(r.Key)
				req.SetVersion(version)
				frame := appendRequest(77, client, req)
				h, got, err := ParseRequest(frame)
				if err != nil {
					t.Fatalf("%s version %d: %v", kmsg.NameForKey(r.Key), version, err)
				}
				want := RequestHeader{Key: r.Key, Version: version, CorrelationID: 77, ClientID: client}
				if diff := cmp.Diff(want, h); diff != "" {
					t.Errorf("%s version %d: %s", kmsg.NameForKey(r.Key), version, diff)
				}
				if again := got.AppendTo(nil); !bytes.Equal(again, req.AppendTo(nil)) || got.GetVersion() != version {
					t.Errorf("%s version %d does not survive: % x", kmsg.NameForKey(r.Key), version, again)
				}
				for n := range frame {
					if _, _, err := ParseRequest(frame[:n]); err == nil {
						t.Errorf("%s version %d: a frame cut at %d of %d bytes was accepted", kmsg.NameForKey(r.Key), version, n, len(frame))
					}
				}
			}
		}
	}
}

func TestParseRequestRealFrames(t *testing.T) {
	for _, name := range realFrames(t) {
		frame, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		h, req, err := ParseRequest(frame)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !strings.Contains(name, fmt.Sprintf("-%02d-v%02d", h.Key, h.Version)) || h.ClientID == nil {
			t.Errorf("%s: header %+v", name, h)
		}
		if body := req.AppendTo(nil); !bytes.HasSuffix(frame, body) {
			t.Errorf("%s: the request does not encode to the same bytes", name)
		}
	}
}

func realFrames(t testing.TB) []string {
	t.Helper()
	names, err := filepath.Glob("testdata/frames/*.bin")
	if err != nil || len(names) < 30 {
		t.Fatalf("frames of real clients are missing: %d found, %v", len(names), err)
	}
	return names
}

func TestParseRequestTaggedHeader(t *testing.T) {
	req := kmsg.NewPtrApiVersionsRequest()
	req.SetVersion(3)
	req.ClientSoftwareName, req.ClientSoftwareVersion = "name", "1.0"
	frame := appendRequest(1, nil, req)
	// key, version, correlation id, null client id, then no tags: put two tags there.
	tagged := append(bytes.Clone(frame[:10]), 2, 0, 3, 'a', 'b', 'c', 9, 0)
	tagged = append(tagged, frame[11:]...)
	_, got, err := ParseRequest(tagged)
	if err != nil || got.(*kmsg.ApiVersionsRequest).ClientSoftwareName != "name" {
		t.Errorf("tagged header: %+v %v", got, err)
	}
	for _, tags := range [][]byte{{5, 0, 0}, {1, 0, 200, 1}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, {1}} {
		bad := append(bytes.Clone(frame[:10]), tags...)
		var malformed *MalformedError
		if _, _, err := ParseRequest(bad); !errors.As(err, &malformed) {
			t.Errorf("tags % x: %v", tags, err)
		}
	}
}

func TestParseRequestRefuses(t *testing.T) {
	frame := func(key, version int16, rest ...byte) []byte {
		f := binary.BigEndian.AppendUint16(nil, uint16(key))
		f = binary.BigEndian.AppendUint16(f, uint16(version))
		return append(binary.BigEndian.AppendUint32(f, 5), rest...)
	}
	for _, c := range []struct {
		name  string
		frame []byte
	}{
		{"produce below the floor", frame(0, 2)},
		{"future fetch", frame(1, 99)},
		{"negative version", frame(3, -1)},
		{"unknown key", frame(999, 0)},
		{"negative key", frame(-1, 0)},
		{"inter-broker key of the past", frame(4, 0)},
		{"future ApiVersions", frame(18, 100, 0xff, 0xff, 1, 2, 3)},
	} {
		h, _, err := ParseRequest(c.frame)
		var unsupported *UnsupportedVersionError
		if !errors.As(err, &unsupported) || unsupported.Key != h.Key || unsupported.Version != h.Version || h.CorrelationID != 5 {
			t.Errorf("%s: header %+v, error %v", c.name, h, err)
		}
	}
	only := Kafka44().Only(func(key int16) bool { return key == 18 })
	if _, _, err := only.ParseRequest(frame(3, 9, 0xff, 0xff, 0, 0, 0, 0)); err == nil {
		t.Error("a key outside the table was parsed")
	}
	for _, rest := range [][]byte{nil, {0}, {0, 5, 'a'}, {0xff, 0xfe}} {
		var malformed *MalformedError
		if _, _, err := ParseRequest(frame(18, 0, rest...)); !errors.As(err, &malformed) {
			t.Errorf("client id % x: %v", rest, err)
		}
	}
}

func TestAppendResponseHeaders(t *testing.T) {
	for _, c := range []struct {
		resp kmsg.Response
		tag  bool
	}{
		{&kmsg.HeartbeatResponse{Version: 3}, false},
		{&kmsg.HeartbeatResponse{Version: 4}, true},
		{&kmsg.ApiVersionsResponse{Version: 0}, false},
		{&kmsg.ApiVersionsResponse{Version: 3}, false},
		{&kmsg.ApiVersionsResponse{Version: 4}, false},
	} {
		got := AppendResponse([]byte("before"), -2, c.resp)
		got = got[len("before"):]
		body := c.resp.AppendTo(nil)
		want := binary.BigEndian.AppendUint32(nil, uint32(4+len(body)))
		if c.tag {
			want = binary.BigEndian.AppendUint32(nil, uint32(5+len(body)))
		}
		want = append(want, 0xff, 0xff, 0xff, 0xfe)
		if c.tag {
			want = append(want, 0)
		}
		if want = append(want, body...); !bytes.Equal(got, want) {
			t.Errorf("%T version %d: % x, want % x", c.resp, c.resp.GetVersion(), got, want)
		}
	}
}

func TestReadFrame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "body")
		if rapid.IntRange(0, 9).Draw(t, "long") == 0 {
			body = bytes.Repeat(append(body, 1), 30_000)
		}
		stream := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
		stream = append(stream, body...)
		buf := make([]byte, rapid.IntRange(0, 400).Draw(t, "buffer"))
		var r io.Reader = bytes.NewReader(stream)
		if rapid.Bool().Draw(t, "slow") {
			r = iotest.HalfReader(r)
		}
		got, err := ReadFrame(r, 1<<30, buf)
		if err != nil || !bytes.Equal(got, body) {
			t.Fatalf("%d bytes, want %d, error %v", len(got), len(body), err)
		}
		cut := rapid.IntRange(0, len(stream)-1).Draw(t, "cut")
		want := io.ErrUnexpectedEOF
		if cut == 0 {
			want = io.EOF
		}
		if _, err := ReadFrame(bytes.NewReader(stream[:cut]), 1<<30, buf); err != want {
			t.Fatalf("a stream cut at %d of %d: %v", cut, len(stream), err)
		}
	})
}

func TestReadFrameBounds(t *testing.T) {
	for _, size := range []uint32{101, 1 << 30, 1 << 31, 0xffffffff} {
		stream := append(binary.BigEndian.AppendUint32(nil, size), make([]byte, 200)...)
		var frameSize *FrameSizeError
		if _, err := ReadFrame(bytes.NewReader(stream), 100, nil); !errors.As(err, &frameSize) {
			t.Errorf("size %d: %v", size, err)
		}
	}
	// A claim of 100 MB with nothing behind it must not cost 100 MB.
	stream := binary.BigEndian.AppendUint32(nil, 100<<20)
	allocated := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			_, _ = ReadFrame(bytes.NewReader(stream), 1<<30, nil)
		}
	}).AllocedBytesPerOp()
	if allocated > 2<<20 {
		t.Errorf("an empty claim of 100 MB allocated %d bytes", allocated)
	}
}

// TestTableIsKafkas compares the table with what Kafka's own kafka-broker-api-versions printed
// about a 4.4.0 node.
func TestTableIsKafkas(t *testing.T) {
	f, err := os.Open("testdata/kafka-4.4.0-api-versions.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var want APITable
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, rest, ok := strings.Cut(strings.TrimSpace(lines.Text()), "): ")
		if !ok || strings.Contains(rest, "UNSUPPORTED") {
			continue
		}
		key, err := strconv.Atoi(name[strings.Index(name, "(")+1:])
		if err != nil {
			continue
		}
		versions, _, _ := strings.Cut(rest, " [")
		low, high, ok := strings.Cut(versions, " to ")
		if !ok {
			high = low
		}
		lowN, err1 := strconv.Atoi(low)
		highN, err2 := strconv.Atoi(high)
		if err1 != nil || err2 != nil {
			t.Fatalf("line %q", lines.Text())
		}
		want = append(want, APIRange{int16(key), int16(lowN), int16(highN)})
	}
	if diff := cmp.Diff(want, Kafka44()); diff != "" {
		t.Error(diff)
	}
	for _, r := range Kafka44() {
		if req := kmsg.RequestForKey(r.Key); req == nil || req.MaxVersion() < r.Max {
			t.Errorf("key %d: the codec does not reach version %d", r.Key, r.Max)
		}
	}
}

func TestUnsupportedAPIVersions(t *testing.T) {
	resp := Kafka44().UnsupportedAPIVersions()
	frame := AppendResponse(nil, 9, resp)
	// size, correlation id, error 35, one key: 18, 0-5. Nothing else: version 0 has no throttle time.
	want := []byte{0, 0, 0, 16, 0, 0, 0, 9, 0, 35, 0, 0, 0, 1, 0, 18, 0, 0, 0, 5}
	if !bytes.Equal(frame, want) {
		t.Errorf("% x, want % x", frame, want)
	}
}

func TestCodeOf(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int16
	}{
		{nil, 0},
		{errors.New("x"), CodeUnknownServerError},
		{fmt.Errorf("wrapped: %w", &CodeError{Code: CodeNotController, Message: "m"}), CodeNotController},
		{fmt.Errorf("wrapped: %w", kerr.NotLeaderForPartition), CodeNotLeaderOrFollower},
		{context.DeadlineExceeded, CodeRequestTimedOut},
		{&UnsupportedVersionError{}, CodeUnsupportedVersion},
		{net.ErrClosed, CodeUnknownServerError},
	} {
		if got := CodeOf(c.err); got != c.want {
			t.Errorf("CodeOf(%v) = %d, want %d", c.err, got, c.want)
		}
	}
	if CodeName(0) != "NONE" || CodeName(3) != "UNKNOWN_TOPIC_OR_PARTITION" || CodeName(9999) != "UNKNOWN_SERVER_ERROR" {
		t.Errorf("names: %s %s %s", CodeName(0), CodeName(3), CodeName(9999))
	}
}

// FuzzParseRequest: no frame panics, and what parses encodes to a request that parses again.
func FuzzParseRequest(f *testing.F) {
	for _, name := range realFrames(f) {
		frame, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(frame)
	}
	for _, r := range Kafka44() {
		for _, version := range []int16{r.Min, r.Max} {
			req := kmsg.RequestForKey(r.Key)
			req.SetVersion(version)
			f.Add(appendRequest(1, nil, req))
		}
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		h, req, err := ParseRequest(frame)
		if err != nil {
			if CodeOf(err) == CodeUnknownServerError {
				t.Fatalf("error without a code: %v", err)
			}
			return
		}
		if _, _, err := ParseRequest(appendRequest(h.CorrelationID, h.ClientID, req)); err != nil {
			t.Fatalf("%s version %d: parsed, but not again: %v", kmsg.NameForKey(h.Key), h.Version, err)
		}
		AppendResponse(nil, h.CorrelationID, req.ResponseKind())
	})
}

// FuzzReadFrame: sizes are honoured and bounded.
func FuzzReadFrame(f *testing.F) {
	f.Add([]byte{0, 0, 0, 2, 1, 2, 3})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, stream []byte) {
		got, err := ReadFrame(bytes.NewReader(stream), 1<<16, nil)
		if err == nil && (len(got) > 1<<16 || !bytes.Equal(got, stream[4:4+len(got)])) {
			t.Fatalf("%d bytes from %d", len(got), len(stream))
		}
	})
}
