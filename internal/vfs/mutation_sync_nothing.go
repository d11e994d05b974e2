//go:build mutation_sync_nothing

package vfs

const syncNothing = true
