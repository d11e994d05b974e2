//go:build !mutation_dedupe_off && !mutation_index_trusted

package storage

// Constants that are true only in builds made to prove that the tests notice a missing safeguard.
const (
	dedupeOff    = false // retries of idempotent producers are appended again
	indexTrusted = false // recovery believes the indexes and checks no batch
)
