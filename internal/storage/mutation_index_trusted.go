//go:build mutation_index_trusted

package storage

const (
	dedupeOff    = false
	indexTrusted = true
)
