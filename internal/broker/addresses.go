package broker

import (
	"net"
	"net/netip"

	"klamm/internal/metadata"
)

// defaultListener names the one listener of a broker that is not told otherwise.
const defaultListener = "PLAINTEXT"

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
