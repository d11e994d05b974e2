package storage

import (
	"errors"
	"syscall"
)

// Windows names for a full disk.
const (
	errorHandleDiskFull = syscall.Errno(39)
	errorDiskFull       = syscall.Errno(112)
)

// isNoSpace tells a full disk from a broken one.
func isNoSpace(err error) bool {
	var failed *syncError
	if errors.As(err, &failed) {
		return false // after a failed sync the content of the disk is unknown, whatever the reason
	}
	return errors.Is(err, errorDiskFull) || errors.Is(err, errorHandleDiskFull) || errors.Is(err, syscall.ENOSPC)
}
