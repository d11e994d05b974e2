package replica

import (
	"errors"

	"klamm/internal/record"
)

// smallExpansion is how many bytes the records of a batch usually have at most once decompressed.
const smallExpansion = 16 << 20

// expanders bound the memory for decompressed records. A batch of a few KiB may hold a quarter of a
// gigabyte, and every connection may send one: small ones are looked into a few at a time, as there
// are processors, and of the large ones a single one.
type expanders struct {
	small, large record.Decompressor
	few, one     chan struct{} // as many as may run
}

func newExpanders(few int) *expanders {
	e := &expanders{few: make(chan struct{}, few), one: make(chan struct{}, 1)}
	e.small.MaxDecompressed = smallExpansion
	return e
}

// expand calls f with a Decompressor, and again with that for large batches when f returns a
// *record.TooLargeError. Without compression f does not wait for its turn.
func (e *expanders) expand(compressed bool, f func(*record.Decompressor) error) error {
	if !compressed {
		return f(&e.small)
	}
	err := within(e.few, &e.small, f)
	if large := (*record.TooLargeError)(nil); errors.As(err, &large) {
		return within(e.one, &e.large, f)
	}
	return err
}

func within(turns chan struct{}, d *record.Decompressor, f func(*record.Decompressor) error) error {
	turns <- struct{}{}
	defer func() { <-turns }()
	return f(d)
}
