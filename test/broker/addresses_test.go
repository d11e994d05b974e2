package broker_test

import (
	"net"
	"strconv"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/vfs"
)

// told lists the addresses of the broker in every answer that names one.
func told(t *testing.T, r *raw) []string {
	t.Helper()
	address := func(host string, port int32) string { return net.JoinHostPort(host, strconv.Itoa(int(port))) }
	metadata := kmsg.NewPtrMetadataRequest()
	metadata.Version, metadata.Topics = 12, []kmsg.MetadataRequestTopic{}
	m := ask[*kmsg.MetadataResponse](r, metadata).Brokers[0]
	cluster := kmsg.NewPtrDescribeClusterRequest()
	cluster.Version, cluster.EndpointType = 1, 1
	d := ask[*kmsg.DescribeClusterResponse](r, cluster).Brokers[0]
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.Version, find.CoordinatorKeys = 4, []string{"g"}
	f := ask[*kmsg.FindCoordinatorResponse](r, find).Coordinators[0]
	return []string{address(m.Host, m.Port), address(d.Host, d.Port), address(f.Host, f.Port)}
}

// Without advertised.listeners a client is told the address it came in on: localhost for loopback,
// by whichever of its addresses it came.
func TestAddressPerConnection(t *testing.T) {
	n := start(t, vfs.NewMem(), "localhost:0")
	_, port, err := net.SplitHostPort(n.Addr())
	if err != nil {
		t.Fatal(err)
	}
	hosts := []string{"localhost", "127.0.0.1"}
	if c, err := net.Dial("tcp", net.JoinHostPort("::1", port)); err == nil {
		c.Close()
		hosts = append(hosts, "::1")
	}
	for _, host := range hosts {
		t.Run(host, func(t *testing.T) {
			for _, got := range told(t, dial(t, net.JoinHostPort(host, port))) {
				if want := "localhost:" + port; got != want {
					t.Errorf("told %s, want %s", got, want)
				}
			}
		})
	}
}

// With advertised.listeners every client is told that.
func TestAdvertisedListeners(t *testing.T) {
	n := start(t, vfs.NewMem(), "localhost:0", "advertised.listeners", "PLAINTEXT://kafka.example:19999")
	for _, got := range told(t, dial(t, n.Addr())) {
		if got != "kafka.example:19999" {
			t.Errorf("told %s", got)
		}
	}
}
