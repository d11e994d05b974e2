package metadata

import (
	"fmt"
	"slices"

	"klamm/internal/kafkarecord"
)

// Ids of log directories that stand for no real one (Kafka's DirectoryId). The first 100 ids are
// reserved.
var (
	DirMigrating  = [16]byte{}      // not known yet
	DirUnassigned = [16]byte{15: 1} // the broker picks one
	DirLost       = [16]byte{15: 2} // the directory failed
)

// reservedDir says whether an id may not name a real log directory.
func reservedDir(id [16]byte) bool {
	return slices.Equal(id[:15], make([]byte, 15)) && id[15] < 100
}

func (d *draft) replayBrokers(m kafkarecord.MetadataRecord) error {
	switch m := m.(type) {
	case *kafkarecord.RegisterBrokerRecord:
		d.putBroker(brokerOf(m))
	case *kafkarecord.UnregisterBrokerRecord:
		if _, err := d.broker(m.BrokerID, m.BrokerEpoch); err != nil {
			return err
		}
		d.brokers[m.BrokerID] = true
		d.img.brokers = set(d.img.brokers, m.BrokerID, nil)
	case *kafkarecord.FenceBrokerRecord:
		return d.changeBroker(m.ID, m.Epoch, func(b *Broker) { b.Fenced = true })
	case *kafkarecord.UnfenceBrokerRecord:
		return d.changeBroker(m.ID, m.Epoch, func(b *Broker) { b.Fenced = false })
	case *kafkarecord.BrokerRegistrationChangeRecord:
		return d.changeBroker(m.BrokerID, m.BrokerEpoch, func(b *Broker) { b.change(m) })
	}
	return nil
}

// broker finds a registered broker and checks that the record speaks of this registration.
func (d *draft) broker(id int32, epoch int64) (*Broker, error) {
	b := d.img.Broker(id)
	switch {
	case b == nil:
		return nil, fmt.Errorf("broker %d is not registered", id)
	case b.Epoch != epoch:
		return nil, fmt.Errorf("broker %d is registered with epoch %d, the record has %d", id, b.Epoch, epoch)
	}
	return b, nil
}

func (d *draft) changeBroker(id int32, epoch int64, change func(*Broker)) error {
	b, err := d.broker(id, epoch)
	if err != nil {
		return err
	}
	n := *b
	change(&n)
	d.putBroker(&n)
	return nil
}

// change applies a BrokerRegistrationChangeRecord: 0 and empty mean unchanged.
func (b *Broker) change(m *kafkarecord.BrokerRegistrationChangeRecord) {
	if m.Fenced != 0 {
		b.Fenced = m.Fenced > 0
	}
	if m.InControlledShutdown != 0 {
		b.InControlledShutdown = m.InControlledShutdown > 0
	}
	if len(m.LogDirs) > 0 {
		b.LogDirs = m.LogDirs
	}
	if m.CordonedLogDirs != nil {
		b.CordonedLogDirs = m.CordonedLogDirs
	}
}

func brokerOf(m *kafkarecord.RegisterBrokerRecord) *Broker {
	b := &Broker{
		ID: m.BrokerID, Epoch: m.BrokerEpoch, Incarnation: m.IncarnationID, Rack: m.Rack, Fenced: m.Fenced,
		InControlledShutdown: m.InControlledShutdown, LogDirs: m.LogDirs, CordonedLogDirs: m.CordonedLogDirs,
		Features: map[string]VersionRange{},
	}
	for _, e := range m.EndPoints {
		b.Listeners = append(b.Listeners, Listener{e.Name, e.Host, int32(e.Port), e.SecurityProtocol})
	}
	for _, f := range m.Features {
		b.Features[f.Name] = VersionRange{f.MinSupportedVersion, f.MaxSupportedVersion}
	}
	return b
}
