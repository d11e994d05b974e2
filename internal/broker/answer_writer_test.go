package broker

import (
	"bytes"
	"errors"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// A client that takes a piece now and then gets all of a large answer, one that takes none is given up.
func TestSlowReaders(t *testing.T) {
	for _, c := range []struct {
		name  string
		pause time.Duration
		want  error
	}{
		{"slow", 30 * time.Second, nil},
		{"stuck", 2 * time.Minute, os.ErrDeadlineExceeded},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				defer ours.Close()
				answer := bytes.Repeat([]byte("answer"), answerPiece)
				got := make(chan []byte, 1)
				go func() {
					var read []byte
					buf := make([]byte, answerPiece)
					for {
						time.Sleep(c.pause)
						n, err := ours.Read(buf)
						read = append(read, buf[:n]...)
						if err != nil {
							got <- read
							return
						}
					}
				}()
				w := &answerWriter{net: theirs, limit: time.Minute}
				_, err := w.Write(answer)
				theirs.Close()
				if !errors.Is(err, c.want) {
					t.Errorf("error %v, want %v", err, c.want)
				}
				if read := <-got; c.want == nil && !bytes.Equal(read, answer) {
					t.Errorf("%d of %d bytes arrived", len(read), len(answer))
				}
			})
		})
	}
}
