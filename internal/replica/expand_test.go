package replica

import (
	"fmt"
	"testing"
	"testing/synctest"

	"klamm/internal/record"
)

// Large batches are decompressed one at a time; small ones go on meanwhile.
func TestLargeBatchesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newExpanders(2)
		inside, leave := 0, make(chan struct{})
		large := func(d *record.Decompressor) error {
			if d == &e.small {
				return fmt.Errorf("wrapped: %w", &record.TooLargeError{Limit: smallExpansion})
			}
			inside++
			<-leave
			inside--
			return nil
		}
		done := make(chan error, 3)
		for range 3 {
			go func() { done <- e.expand(true, large) }()
		}
		for range 3 {
			synctest.Wait()
			if inside != 1 {
				t.Errorf("%d large batches at a time", inside)
			}
			if err := e.expand(true, func(*record.Decompressor) error { return nil }); err != nil {
				t.Error(err)
			}
			leave <- struct{}{}
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}
