package broker

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// AddressInUseError says that another program listens where the broker should.
type AddressInUseError struct{ Address string }

func (e *AddressInUseError) Error() string {
	return fmt.Sprintf("address %s is in use by another program: stop it, or choose another port with --listen (port 0 takes a free one)", e.Address)
}

// Windows' own numbers of the errors that syscall names only for Unix.
const (
	windowsAddressInUse = syscall.Errno(10048) // WSAEADDRINUSE
	windowsReset        = syscall.Errno(10054) // WSAECONNRESET
	windowsAborted      = syscall.Errno(10053) // WSAECONNABORTED
)

// isReset tells a connection that the other side tore down.
func isReset(err error) bool {
	for _, e := range []error{syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED, windowsReset, windowsAborted} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// isTemporary tells errors of Accept that end when connections close: no file descriptors or memory.
func isTemporary(err error) bool {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED, syscall.EINTR} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// portAttempts is how often a free port is looked for that both loopback addresses have.
const portAttempts = 20

// Listen binds HOST:PORT. localhost means 127.0.0.1 and ::1 (the second only where the machine has
// IPv6), with the same port on both; port 0 takes a free one.
func Listen(address string) ([]net.Listener, error) {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%q is not an address of the form host:port", address)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("the port of %q is not a number from 0 to 65535", address)
	}
	if host != "localhost" {
		l, err := listenOn(net.JoinHostPort(host, portText))
		if err != nil {
			return nil, err
		}
		return []net.Listener{l}, nil
	}
	return listenLoopback(int(port))
}

func listenLoopback(port int) ([]net.Listener, error) {
	for attempt := 1; ; attempt++ {
		v4, err := listenOn(net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			return nil, err
		}
		v6, err := listenOn(net.JoinHostPort("::1", strconv.Itoa(v4.Addr().(*net.TCPAddr).Port)))
		var inUse *AddressInUseError
		switch {
		case err == nil:
			return []net.Listener{v4, v6}, nil
		case !errors.As(err, &inUse):
			return []net.Listener{v4}, nil // no IPv6 here
		}
		v4.Close()
		if port != 0 || attempt == portAttempts {
			return nil, err
		}
	}
}

func listenOn(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE), errors.Is(err, windowsAddressInUse):
		return nil, &AddressInUseError{Address: address}
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("address %s may not be used by this user: choose a port from 1024 on with --listen", address)
	case err != nil:
		return nil, fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	return l, nil
}
