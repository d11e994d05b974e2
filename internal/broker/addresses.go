package broker

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"klamm/internal/metadata"
)

// defaultListener names the one listener of a broker that is not told otherwise.
const defaultListener = "PLAINTEXT"

// advertisedListener is one entry of advertised.listeners.
type advertisedListener struct {
	name string
	host string
	port int32
}

// parseAdvertised reads NAME://HOST:PORT,... ; an empty property means an address per connection.
func parseAdvertised(property string) ([]advertisedListener, error) {
	var all []advertisedListener
	for entry := range strings.SplitSeq(property, ",") {
		entry = strings.TrimSpace(entry)
		if entry == "" {
			continue
		}
		name, address, ok := strings.Cut(entry, "://")
		host, portText, err := net.SplitHostPort(address)
		if !ok || err != nil || host == "" {
			return nil, fmt.Errorf("advertised.listeners: %q is not of the form PLAINTEXT://host:port", entry)
		}
		port, err := strconv.ParseUint(portText, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("advertised.listeners: the port of %q is not a number up to 65535", entry)
		}
		all = append(all, advertisedListener{name: strings.ToUpper(name), host: host, port: int32(port)})
	}
	return all, nil
}

// address is where the client of r reaches a broker. With advertised.listeners set, or for another
// broker, that is what the broker registered for the listener the client came in on. Without it
// the client is told the address it already uses, which is the one it can dial.
func (b *Broker) address(r *request, broker *metadata.Broker) (host string, port int32, ok bool) {
	if broker.ID == b.nodeID && len(b.advertised) == 0 {
		if host, port, ok := dialled(r.conn.net.LocalAddr()); ok {
			return host, port, true
		}
	}
	for _, l := range broker.Listeners {
		if l.Name == r.conn.listener {
			return l.Host, l.Port, true
		}
	}
	return "", -1, false
}

// dialled turns the local end of a connection into an address for clients: localhost for loopback,
// since the broker listens on both of its addresses.
func dialled(local net.Addr) (host string, port int32, ok bool) {
	a, ok := local.(*net.TCPAddr)
	if !ok {
		return "", 0, false
	}
	ip, ok := netip.AddrFromSlice(a.IP)
	if !ok {
		return "", 0, false
	}
	ip = ip.Unmap()
	if ip.IsLoopback() {
		return "localhost", int32(a.Port), true
	}
	return ip.WithZone(a.Zone).String(), int32(a.Port), true
}
