package broker

import (
	"errors"
	"net"
	"strconv"
	"testing"
)

func portOf(t *testing.T, l net.Listener) int {
	t.Helper()
	return l.Addr().(*net.TCPAddr).Port
}

// hasIPv6 tells whether this machine has the second loopback address.
func hasIPv6() bool {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		return false
	}
	l.Close()
	return true
}

// localhost is both loopback addresses, on one port.
func TestListenLocalhost(t *testing.T) {
	ls, err := Listen("localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		for _, l := range ls {
			l.Close()
		}
	}()
	if want := map[bool]int{true: 2, false: 1}[hasIPv6()]; len(ls) != want {
		t.Fatalf("%d listeners, want %d", len(ls), want)
	}
	for _, l := range ls {
		if portOf(t, l) != portOf(t, ls[0]) {
			t.Errorf("ports %d and %d", portOf(t, ls[0]), portOf(t, l))
		}
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
}

// A port that another program has, on either address, is named with its way out.
func TestListenInUse(t *testing.T) {
	hosts := []string{"127.0.0.1"}
	if hasIPv6() {
		hosts = append(hosts, "::1")
	}
	for _, host := range hosts {
		t.Run(host, func(t *testing.T) {
			taken, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
			if err != nil {
				t.Fatal(err)
			}
			defer taken.Close()
			_, err = Listen("localhost:" + strconv.Itoa(portOf(t, taken)))
			var inUse *AddressInUseError
			if !errors.As(err, &inUse) {
				t.Fatalf("%v", err)
			}
		})
	}
}

func TestListenRefusesNonsense(t *testing.T) {
	for _, address := range []string{"", "localhost", "localhost:x", "localhost:70000", "localhost:-1", "256.1.1.1:0"} {
		if ls, err := Listen(address); err == nil {
			t.Errorf("%q: bound %v", address, ls[0].Addr())
			ls[0].Close()
		}
	}
}

// A client is told the address it has dialled: localhost for loopback.
func TestDialled(t *testing.T) {
	for _, c := range []struct {
		ip   string
		want string
	}{
		{"127.0.0.1", "localhost"},
		{"127.8.8.8", "localhost"},
		{"::1", "localhost"},
		{"::ffff:127.0.0.1", "localhost"},
		{"192.168.1.7", "192.168.1.7"},
		{"::ffff:192.168.1.7", "192.168.1.7"},
		{"2001:db8::1", "2001:db8::1"},
	} {
		host, port, ok := dialled(&net.TCPAddr{IP: net.ParseIP(c.ip), Port: 9092})
		if host != c.want || port != 9092 || !ok {
			t.Errorf("%s: %s %d %v, want %s", c.ip, host, port, ok, c.want)
		}
	}
	if _, _, ok := dialled(&net.UnixAddr{Name: "x"}); ok {
		t.Error("a Unix socket has a TCP address")
	}
}

func TestSoftwareNames(t *testing.T) {
	for name, want := range map[string]bool{
		"apache-kafka-java": true, "kgo": true, "a": true, "1.2.3": true, "a..b": true, "A-1": true,
		"": false, "-a": false, "a-": false, ".": false, "a b": false, "a_b": false, "ä": false, "a\x00": false,
	} {
		if got := isSoftwareName(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

func TestTopicNames(t *testing.T) {
	long := make([]byte, maxTopicName)
	for i := range long {
		long[i] = 'x'
	}
	for name, want := range map[string]bool{
		"a": true, "a.b_c-D9": true, "...": true, string(long): true,
		"": false, ".": false, "..": false, "a b": false, "a/b": false, "ä": false, string(long) + "x": false,
	} {
		if got := isTopicName(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}
