package history

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// write is one record of a well-behaved run, in the order of the log.
type write struct {
	partition int32
	offset    int64
	value     Value
}

// run records a history in which everything is right and lets edit spoil it before it is judged.
func run(edit func(r *Recorder, log []write) []write) []Violation {
	r := NewRecorder()
	log := []write{
		{0, 0, Value{"a", 0}},
		{0, 1, Value{"a", 1}},
		{0, 2, Value{"b", 0}},
		{0, 3, Value{"a", 2}},
		{1, 0, Value{"c", 0}},
		{1, 1, Value{"c", 1}},
	}
	for _, w := range log {
		r.Sent(w.value)
		r.Acked(Place{w.partition, w.offset}, w.value)
		r.Polled("one", Place{w.partition, w.offset}, w.value)
	}
	r.Committing(0, 4)
	r.Committed(0, 4)
	r.FetchedCommit(r.Now(), 0, 4)
	for _, w := range edit(r, log) {
		r.Final(Place{w.partition, w.offset}, w.value)
	}
	return r.Check()
}

func TestCheck(t *testing.T) {
	cases := []struct {
		name string
		edit func(r *Recorder, log []write) []write
		want []Kind
	}{
		{"nothing is wrong", func(_ *Recorder, log []write) []write { return log }, nil},
		{"an unacknowledged record may be there", func(r *Recorder, log []write) []write {
			r.Sent(Value{"a", 3})
			return append(log, write{0, 4, Value{"a", 3}})
		}, nil},
		{"an unacknowledged record may be missing", func(r *Recorder, log []write) []write {
			r.Sent(Value{"a", 3})
			return log
		}, nil},
		{"the acknowledged tail is gone", func(_ *Recorder, log []write) []write { return log[:5] }, []Kind{LostRead, LostWrite}},
		{"an acknowledged record nobody read is gone", func(r *Recorder, log []write) []write {
			r.Sent(Value{"c", 2})
			r.Acked(Place{1, 2}, Value{"c", 2})
			return log
		}, []Kind{LostWrite}},
		{"a record read but not acknowledged is gone", func(r *Recorder, log []write) []write {
			r.Sent(Value{"c", 2})
			r.Polled("one", Place{1, 2}, Value{"c", 2})
			return log
		}, []Kind{LostRead}},
		{"a retried record lies there twice", func(_ *Recorder, log []write) []write {
			return append(log, write{1, 2, Value{"c", 1}})
		}, []Kind{Duplicate}},
		{"two records of a key changed places", func(_ *Recorder, log []write) []write {
			log[0].value, log[1].value = log[1].value, log[0].value
			return log
		}, []Kind{InconsistentOffset, Reorder}},
		{"unread, unacknowledged records in the wrong order", func(r *Recorder, log []write) []write {
			r.Sent(Value{"c", 2})
			r.Sent(Value{"c", 3})
			return append(log, write{1, 2, Value{"c", 3}}, write{1, 3, Value{"c", 2}})
		}, []Kind{Reorder}},
		{"a key moved to another partition", func(r *Recorder, log []write) []write {
			r.Sent(Value{"a", 3})
			return append(log, write{1, 2, Value{"a", 3}})
		}, []Kind{Reorder}},
		{"an offset skipped in the log", func(r *Recorder, log []write) []write {
			r.Sent(Value{"c", 2})
			return append(log, write{1, 3, Value{"c", 2}})
		}, []Kind{Gap}},
		{"a value nobody sent", func(_ *Recorder, log []write) []write {
			return append(log, write{1, 2, Value{"z", 9}})
		}, []Kind{Phantom}},
		{"a reader that skips", func(r *Recorder, log []write) []write {
			r.Polled("two", Place{0, 0}, Value{"a", 0})
			r.Polled("two", Place{0, 2}, Value{"b", 0})
			return log
		}, []Kind{PollSkip}},
		{"a reader that starts again under a new name", func(r *Recorder, log []write) []write {
			r.Polled("two", Place{0, 1}, Value{"a", 1})
			return log
		}, nil},
		{"a reader that saw another value", func(r *Recorder, log []write) []write {
			r.Polled("two", Place{0, 1}, Value{"b", 0})
			return log
		}, []Kind{InconsistentOffset}},
		{"a commit that went back", func(r *Recorder, log []write) []write {
			r.FetchedCommit(r.Now(), 0, 3)
			return log
		}, []Kind{CommitWentBack}},
		{"a commit that was forgotten", func(r *Recorder, log []write) []write {
			r.FetchedCommit(r.Now(), 0, -1)
			return log
		}, []Kind{CommitWentBack}},
		{"a commit stored after the question", func(r *Recorder, log []write) []write {
			asked := r.Now()
			r.Committing(0, 9)
			r.Committed(0, 9)
			r.FetchedCommit(asked, 0, 4)
			return log
		}, nil},
		{"a commit applied though its answer was lost", func(r *Recorder, log []write) []write {
			r.Committing(0, 9)
			r.FetchedCommit(r.Now(), 0, 9)
			return log
		}, nil},
		{"a commit nobody sent", func(r *Recorder, log []write) []write {
			r.FetchedCommit(r.Now(), 1, 7)
			return log
		}, []Kind{Phantom}},
		{"a part of the log that cannot be read", func(r *Recorder, log []write) []write {
			r.Unreadable("partition 0 from offset 3 on")
			return log
		}, []Kind{Unreadable}},
		{"a topic that vanished and one that came back", func(r *Recorder, log []write) []write {
			for name, exists := range map[string]bool{"kept": true, "gone": false, "lost": true} {
				r.ChangingName(name)
				r.ChangedName(name, exists)
			}
			r.ListedNames([]string{"kept", "gone"})
			return log
		}, []Kind{NameLost}},
		{"a topic whose creation was not acknowledged", func(r *Recorder, log []write) []write {
			r.ChangingName("maybe")
			r.ListedNames([]string{"maybe"})
			return log
		}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := run(c.edit)
			if diff := cmp.Diff(c.want, Kinds(got)); diff != "" {
				t.Errorf("kinds of violation (-want +got):\n%s\n%v", diff, got)
			}
		})
	}
}

// Whatever acknowledged record is removed from a right history, the checker notices.
func TestCheckFindsAnyLostRecord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		victim := rapid.IntRange(0, 5).Draw(t, "victim")
		got := Kinds(run(func(_ *Recorder, log []write) []write {
			return append(log[:victim:victim], log[victim+1:]...)
		}))
		if !slices.Contains(got, LostWrite) {
			t.Fatalf("record %d removed, found only %v", victim, got)
		}
	})
}
