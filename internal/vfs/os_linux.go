package vfs

import (
	"errors"
	"os"
	"syscall"
)

// syncData flushes data and length but not times: one journal write less than fsync.
func syncData(f *os.File) error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if !errors.Is(err, syscall.EINTR) {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
