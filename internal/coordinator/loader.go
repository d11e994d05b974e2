package coordinator

import (
	"fmt"

	"klamm/internal/record"
)

// load reads the whole log into a new machine. Until everything read is committed, answers that
// show it wait.
func (r *runner) load(life int64) {
	m := r.shared.newMachine()
	end, err := r.readLog(life, m)
	if !r.alive(life) {
		return
	}
	if err != nil {
		r.fail(life, fmt.Errorf("cannot load %s-%d: %w", r.shared.topic, r.partition, err))
		return
	}
	r.machine, r.open = m, map[*call]struct{}{}
	r.committed, r.appended = 0, m.replayed()
	if end > 0 {
		r.await(life, end-1, r.appended)
	}
	r.mu.Lock()
	if r.life == life {
		r.phase = active
	}
	r.mu.Unlock()
	r.step(life, m.loaded)
}

// readLog replays the log up to its end and returns the offset after the last record.
func (r *runner) readLog(life int64, m machine) (end int64, err error) {
	var decompressor record.Decompressor
	for r.alive(life) {
		batches, next, err := r.shared.log.Read(r.shared.topic, r.partition, end, r.shared.loadBytes)
		if err != nil {
			return end, err
		}
		if len(batches) == 0 {
			return max(end, next), nil
		}
		if next <= end {
			return end, fmt.Errorf("reading from offset %d goes on at %d", end, next)
		}
		if err := replayBatches(&decompressor, batches, m); err != nil {
			return end, err
		}
		end = next
	}
	return end, nil
}

// replayBatches gives every record of whole batches to the machine, control records excepted.
func replayBatches(d *record.Decompressor, batches []byte, m machine) error {
	for len(batches) > 0 {
		b, rest, err := record.Next(batches)
		if err != nil {
			return err
		}
		batches = rest
		if err := b.VerifyCRC(); err != nil {
			return err
		}
		if b.IsControl() {
			continue
		}
		if err := d.Walk(b, func(rec record.Record) error {
			if err := m.replay(Record{Key: rec.Key, Value: rec.Value}); err != nil {
				return fmt.Errorf("offset %d: %w", rec.Offset, err)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}
