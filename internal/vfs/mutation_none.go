//go:build !mutation_sync_nothing

package vfs

// syncNothing is true only in a build made to prove that the crash tests notice a missing sync.
const syncNothing = false
