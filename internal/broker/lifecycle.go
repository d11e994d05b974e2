package broker

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"

	"klamm/internal/metadata"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// register tells the controller of this process and its addresses, and asks to be unfenced. When
// it returns, the replicas have seen the registration and lead what they should.
func (b *Broker) register(ctx context.Context, listeners []Listener) error {
	req := kmsg.NewPtrBrokerRegistrationRequest()
	req.Version = 4
	req.BrokerID, req.ClusterID, req.IncarnationID = b.nodeID, b.clusterID, b.incarnation
	req.Listeners = b.registeredListeners(listeners)
	req.Features = supportedFeatures()
	req.LogDirs = [][16]byte{b.directoryID}
	req.PreviousBrokerEpoch = b.replicas.PreviousBrokerEpoch()
	if rack := b.config().String("broker.rack"); rack != "" {
		req.Rack = &rack
	}
	answer, err := b.controller.Request(ctx, req)
	if err != nil {
		return fmt.Errorf("the broker could not be registered: %w", err)
	}
	resp := answer.(*kmsg.BrokerRegistrationResponse)
	if resp.ErrorCode != 0 {
		return fmt.Errorf("the controller refused to register broker %d: %w", b.nodeID, kerr.ErrorForCode(resp.ErrorCode))
	}
	b.mu.Lock()
	b.epoch = resp.BrokerEpoch
	b.mu.Unlock()
	return b.heartbeat(ctx, false)
}

// heartbeat tells the controller that this broker lives, or that it wants to stop. In one process
// there is no periodic one: the controller sees the process die with itself.
func (b *Broker) heartbeat(ctx context.Context, wantShutdown bool) error {
	req := kmsg.NewPtrBrokerHeartbeatRequest()
	req.BrokerID, req.BrokerEpoch, req.WantShutdown = b.nodeID, b.brokerEpoch(), wantShutdown
	req.CurrentMetadataOffset, _ = b.image().Offset()
	answer, err := b.controller.Request(ctx, req)
	if err != nil {
		return fmt.Errorf("the controller did not take the broker's heartbeat: %w", err)
	}
	resp := answer.(*kmsg.BrokerHeartbeatResponse)
	if resp.ErrorCode != 0 {
		return fmt.Errorf("the controller refused the broker's heartbeat: %w", kerr.ErrorForCode(resp.ErrorCode))
	}
	if !wantShutdown && resp.IsFenced {
		return fmt.Errorf("the controller keeps broker %d fenced", b.nodeID)
	}
	return nil
}

func (b *Broker) brokerEpoch() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.epoch
}

// BrokerEpoch is the epoch of the registration, -1 before; a clean shutdown writes it down.
func (b *Broker) BrokerEpoch() int64 { return b.brokerEpoch() }

// registeredListeners are the addresses other brokers and tools are told: advertised.listeners, or
// what the broker is bound to, loopback as localhost.
func (b *Broker) registeredListeners(listeners []Listener) []kmsg.BrokerRegistrationRequestListener {
	var all []kmsg.BrokerRegistrationRequestListener
	add := func(name, host string, port int32) {
		for _, l := range all {
			if l.Name == name {
				return // the second of localhost's two addresses
			}
		}
		l := kmsg.NewBrokerRegistrationRequestListener()
		l.Name, l.Host, l.Port = name, host, uint16(port)
		all = append(all, l)
	}
	for _, a := range b.advertised {
		add(a.Name, a.Host, a.Port)
	}
	for _, l := range listeners {
		host, port, ok := dialled(l.Addr())
		if !ok {
			continue
		}
		if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
			host = "localhost" // bound to every address: clients are told per connection
		}
		add(l.Name, host, port)
	}
	return all
}

// supportedFeatures are the feature levels this build can work with; only what is built is named.
func supportedFeatures() []kmsg.BrokerRegistrationRequestFeature {
	var all []kmsg.BrokerRegistrationRequestFeature
	supported := metadata.SupportedFeatures()
	for _, name := range slices.Sorted(maps.Keys(supported)) {
		f := kmsg.NewBrokerRegistrationRequestFeature()
		f.Name, f.MinSupportedVersion, f.MaxSupportedVersion = name, supported[name].Min, supported[name].Max
		all = append(all, f)
	}
	return all
}

// Shutdown stops in order: no new connections; waiting group requests are answered so that their
// clients look for another coordinator; what connections are doing is finished until ctx ends; the
// controller is told. The replicas are closed by who opened them, after this.
func (b *Broker) Shutdown(ctx context.Context) error {
	b.disconnect(ctx)
	if b.brokerEpoch() < 0 {
		return nil
	}
	return b.heartbeat(ctx, true)
}

// Kill stops without ceremony, as far as a living process can: connections are cut and nobody is
// told.
func (b *Broker) Kill() {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	b.disconnect(ended)
}

func (b *Broker) disconnect(ctx context.Context) {
	b.mu.Lock()
	listeners := b.listeners
	b.mu.Unlock()
	for _, l := range listeners {
		l.Close()
	}
	b.groups.Close()
	b.server.shutdown(ctx)
	b.serving.Wait()
}
