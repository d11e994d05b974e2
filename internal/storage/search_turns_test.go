package storage

import (
	"testing"
	"testing/synctest"

	"klamm/internal/record"
	"klamm/internal/vfs"
)

// Searches by time decompress one after the other, whatever the partition; plain batches do not wait.
func TestSearchesTakeTurns(t *testing.T) {
	for _, c := range []struct {
		codec record.Codec
		waits bool
	}{{record.None, false}, {record.Zstd, true}} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, vfs.NewMem())
			l := w.open()
			w.append(batchSpec{n: 3, size: 10, codec: c.codec})
			l.manager.expanding <- struct{}{}
			done := make(chan TimestampOffset, 1)
			go func() {
				found, _, err := l.OffsetForTimestamp(1_700_000_000_002)
				if err != nil {
					t.Error(err)
				}
				done <- found
			}()
			synctest.Wait()
			if waited := len(done) == 0; waited != c.waits {
				t.Errorf("%v: waited %v", c.codec, waited)
			}
			<-l.manager.expanding
			if found := <-done; found.Offset != 2 {
				t.Errorf("%v: offset %d", c.codec, found.Offset)
			}
		})
	}
}
