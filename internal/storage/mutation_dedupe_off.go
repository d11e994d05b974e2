//go:build mutation_dedupe_off && !mutation_index_trusted

package storage

const (
	dedupeOff    = true
	indexTrusted = false
)
