//go:build mutation_hw_ahead

package replica

const highWatermarkAhead = true
