//go:build !mutation_hw_ahead

package replica

// highWatermarkAhead, set by the build tag mutation_hw_ahead, shows consumers records before they
// are durable. It exists to prove that the crash checker notices.
const highWatermarkAhead = false
