//go:build !windows

package storage

import (
	"errors"
	"syscall"
)

// isNoSpace tells a full disk (or quota) from a broken one.
func isNoSpace(err error) bool {
	var failed *syncError
	if errors.As(err, &failed) {
		return false // after a failed sync the content of the disk is unknown, whatever the reason
	}
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
