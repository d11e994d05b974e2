package broker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"

	"pgregory.net/rapid"

	"klamm/internal/protocol"
)

// pieces reads from a buffer in pieces of random size.
type pieces struct {
	data []byte
	rnd  *rand.Rand
	max  int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.data) == 0 {
		return 0, io.EOF
	}
	n := min(len(b), len(p.data), 1+p.rnd.IntN(p.max))
	copy(b, p.data[:n])
	p.data = p.data[n:]
	return n, nil
}

func framed(frames ...[]byte) []byte {
	var out []byte
	for _, f := range frames {
		out = binary.BigEndian.AppendUint32(out, uint32(len(f)))
		out = append(out, f...)
	}
	return out
}

// Whatever the sizes of frames and of reads, the frames come out as they went in.
func TestFramesComeOutWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		sizes := rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 3, 50, 300, idleBufferSize - 4, idleBufferSize, 2000, 40_000, activeBufferSize - 4, activeBufferSize - 3, 100_000}), 1, 12).Draw(t, "sizes")
		var frames [][]byte
		for _, n := range sizes {
			f := make([]byte, n)
			for i := range f {
				f[i] = byte(i * n)
			}
			frames = append(frames, f)
		}
		src := &pieces{data: framed(frames...), rnd: rnd, max: rapid.SampledFrom([]int{7, 1500, 1 << 20}).Draw(t, "piece")}
		r := newFrameReader(src, 1<<30, &bufferPool{})
		for i, want := range frames {
			got, err := r.next()
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("frame %d of %d bytes: %v", i, len(want), err)
			}
			if rnd.IntN(2) == 0 {
				r.release()
			}
		}
		if _, err := r.next(); !errors.Is(err, io.EOF) {
			t.Fatalf("at the end: %v", err)
		}
		r.close()
		if r.lent != nil || r.frame != nil {
			t.Fatal("a lent buffer was kept")
		}
	})
}

// Frames too large to be pooled come out whole too.
func TestLargeFrames(t *testing.T) {
	var frames [][]byte
	for _, n := range []int{maxPooledFrame, maxPooledFrame + 1, 5*maxPooledFrame + 7, 10} {
		frames = append(frames, bytes.Repeat([]byte{byte(n), 3}, n/2))
	}
	r := newFrameReader(bytes.NewReader(framed(frames...)), 1<<30, &bufferPool{})
	for i, want := range frames {
		if got, err := r.next(); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("frame %d: %v", i, err)
		}
	}
}

func TestFrameReaderErrors(t *testing.T) {
	var size *protocol.FrameSizeError
	for name, c := range map[string]struct {
		data []byte
		want error
		size bool
	}{
		"nothing":            {nil, io.EOF, false},
		"cut size":           {[]byte{0, 0}, io.ErrUnexpectedEOF, false},
		"cut frame":          {framed(make([]byte, 100))[:50], io.ErrUnexpectedEOF, false},
		"cut large frame":    {framed(make([]byte, 3*maxPooledFrame))[:2*maxPooledFrame], io.ErrUnexpectedEOF, false},
		"no byte of a frame": {[]byte{0, 0, 0, 9}, io.ErrUnexpectedEOF, false},
		"negative":           {[]byte{0x80, 0, 0, 0, 1}, nil, true},
		"too large":          {[]byte{0, 0x40, 0, 1}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newFrameReader(bytes.NewReader(c.data), 4<<20, &bufferPool{}).next()
			if c.size != errors.As(err, &size) || !c.size && !errors.Is(err, c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// A size prefix alone costs no memory to speak of.
func TestClaimedSizeIsNotAllocated(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 20 {
		r := newFrameReader(bytes.NewReader([]byte{0x3f, 0xff, 0xff, 0xff, 1}), 1<<30, &bufferPool{})
		if _, err := r.next(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 20*4*maxPooledFrame {
		t.Errorf("20 claims of 1 GiB took %d bytes", grown)
	}
}
