package explorer

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/record"
)

// abortedFilter tells records of aborted transactions, as consumers with read_committed do: a
// transaction is aborted from its first offset until its abort marker.
type abortedFilter struct {
	pending []kmsg.FetchResponseTopicPartitionAbortedTransaction // by first offset
	open    map[int64]bool
}

func newAbortedFilter(list []kmsg.FetchResponseTopicPartitionAbortedTransaction) *abortedFilter {
	if len(list) == 0 {
		return nil
	}
	f := &abortedFilter{pending: slices.Clone(list), open: map[int64]bool{}}
	slices.SortFunc(f.pending, func(a, b kmsg.FetchResponseTopicPartitionAbortedTransaction) int {
		return cmp.Compare(a.FirstOffset, b.FirstOffset)
	})
	return f
}

// skips must see every batch in order.
func (f *abortedFilter) skips(b record.Batch) bool {
	if f == nil {
		return false
	}
	for len(f.pending) > 0 && f.pending[0].FirstOffset <= b.LastOffset() {
		f.open[f.pending[0].ProducerID] = true
		f.pending = f.pending[1:]
	}
	if !b.IsTransactional() {
		return false
	}
	if b.IsControl() {
		delete(f.open, b.ProducerID()) // a commit marker cannot come while it is open
		return false
	}
	return f.open[b.ProducerID()]
}
