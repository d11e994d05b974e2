package metadata

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/kafkarecord"
	"klamm/internal/protocol"
)

// registerBroker handles BrokerRegistration (62). The epoch of a registration is the offset of its
// record. A broker that did not stop cleanly (its previous epoch is unknown or another one) leaves
// every ISR and ELR first, because its log may lack its tail.
func (s *step) registerBroker(req *kmsg.BrokerRegistrationRequest) kmsg.Response {
	resp := kmsg.NewPtrBrokerRegistrationResponse()
	resp.BrokerEpoch = -1
	if err := s.checkRegistration(req); err != nil {
		resp.ErrorCode = err.code
		return resp
	}
	old := s.img().Broker(req.BrokerID)
	if old != nil && old.Incarnation != req.IncarnationID {
		s.leaveISRs(old, old.Epoch != req.PreviousBrokerEpoch)
	}
	r := registration(req)
	r.BrokerEpoch = s.nextOffset()
	if old != nil && old.Incarnation == req.IncarnationID {
		r.BrokerEpoch = old.Epoch // a repeated request
		r.Fenced, r.InControlledShutdown = old.Fenced, old.InControlledShutdown
	}
	version := s.img().registerBrokerVersion()
	if version < 4 {
		r.CordonedLogDirs = nil
	}
	s.emit(r, version)
	resp.BrokerEpoch = r.BrokerEpoch
	return resp
}

func (s *step) checkRegistration(req *kmsg.BrokerRegistrationRequest) *apiError {
	img := s.img()
	old := img.Broker(req.BrokerID)
	switch {
	case req.ClusterID != img.clusterID:
		return refuse(protocol.CodeInconsistentClusterID, "This is cluster %s, not %s.", img.clusterID, req.ClusterID)
	case old != nil && old.Incarnation != req.IncarnationID && !old.Fenced && req.BrokerID != s.c.NodeID:
		// The broker of this process may always replace itself: it holds the lock of the data
		// directory, so its former incarnation is gone.
		return refuse(protocol.CodeDuplicateBrokerRegistration, "Another process is registered as broker %d.", req.BrokerID)
	case len(req.LogDirs) == 0:
		return refuse(protocol.CodeInvalidRegistration, "Broker %d names no log directory.", req.BrokerID)
	}
	for i, dir := range req.LogDirs {
		if reservedDir(dir) || slices.Contains(req.LogDirs[:i], dir) {
			return refuse(protocol.CodeInvalidRegistration, "Log directory id %s is reserved or given twice.", kafkarecord.FormatUUID(dir))
		}
		for _, b := range img.brokers {
			if b.ID != req.BrokerID && slices.Contains(b.LogDirs, dir) {
				return refuse(protocol.CodeDuplicateBrokerRegistration, "Log directory %s belongs to broker %d.", kafkarecord.FormatUUID(dir), b.ID)
			}
		}
	}
	return checkFeatureRanges(img, req)
}

// checkFeatureRanges: a broker must support every finalised level.
func checkFeatureRanges(img *Image, req *kmsg.BrokerRegistrationRequest) *apiError {
	ranges := map[string]VersionRange{}
	for _, f := range req.Features {
		ranges[f.Name] = VersionRange{f.MinSupportedVersion, f.MaxSupportedVersion}
	}
	for name, level := range img.features {
		if r := ranges[name]; level < r.Min || level > r.Max {
			return refuse(protocol.CodeUnsupportedVersion, "Broker %d supports levels %d to %d of %s, the cluster is at %d.", req.BrokerID, r.Min, r.Max, name, level)
		}
	}
	return nil
}

func registration(req *kmsg.BrokerRegistrationRequest) *kafkarecord.RegisterBrokerRecord {
	r := kafkarecord.NewRegisterBrokerRecord()
	r.BrokerID, r.IncarnationID, r.Rack, r.LogDirs = req.BrokerID, req.IncarnationID, req.Rack, req.LogDirs
	for _, l := range req.Listeners {
		r.EndPoints = append(r.EndPoints, kafkarecord.RegisterBrokerRecordBrokerEndpoint{Name: l.Name, Host: l.Host, Port: l.Port, SecurityProtocol: l.SecurityProtocol})
	}
	for _, f := range req.Features {
		r.Features = append(r.Features, kafkarecord.RegisterBrokerRecordBrokerFeature{Name: f.Name, MinSupportedVersion: f.MinSupportedVersion, MaxSupportedVersion: f.MaxSupportedVersion})
	}
	slices.SortFunc(r.Features, func(a, b kafkarecord.RegisterBrokerRecordBrokerFeature) int {
		return compareNames(a.Name, b.Name)
	})
	return r
}

// heartbeat handles BrokerHeartbeat (63): unfence, fence, controlled shutdown, failed directories.
func (s *step) heartbeat(req *kmsg.BrokerHeartbeatRequest) kmsg.Response {
	resp := kmsg.NewPtrBrokerHeartbeatResponse()
	resp.IsFenced = true
	if err := s.checkBrokerEpoch(req.BrokerID, req.BrokerEpoch); err != nil {
		resp.ErrorCode = err.code
		return resp
	}
	b := s.img().Broker(req.BrokerID)
	s.directoriesOffline(b, req.OfflineLogDirs)
	caughtUp := req.CurrentMetadataOffset >= b.Epoch
	switch {
	case b.Fenced && req.WantShutdown:
		resp.ShouldShutdown = true
	case b.Fenced && !req.WantFence && caughtUp:
		s.unfence(b)
	case !b.Fenced && req.WantFence:
		s.fence(b)
		resp.ShouldShutdown = req.WantShutdown
	case !b.Fenced && req.WantShutdown:
		resp.ShouldShutdown = s.shutDown(b)
	}
	resp.IsCaughtUp, resp.IsFenced = caughtUp, s.img().Broker(req.BrokerID).Fenced
	return resp
}

// unfence lets a broker lead again and gives it the partitions that wait for one.
func (s *step) unfence(b *Broker) {
	r := kafkarecord.NewBrokerRegistrationChangeRecord()
	r.BrokerID, r.BrokerEpoch, r.Fenced = b.ID, b.Epoch, -1
	s.emit(r, 0)
	s.changePartitions(func(p *Partition) bool {
		return p.Leader == NoLeader && slices.Contains(p.Replicas, b.ID)
	}, func(*partitionChange) {})
}

// fence takes a broker out of every ISR, moves its leaderships and marks it fenced.
func (s *step) fence(b *Broker) {
	s.leaveISRs(b, false)
	r := kafkarecord.NewBrokerRegistrationChangeRecord()
	r.BrokerID, r.BrokerEpoch, r.Fenced = b.ID, b.Epoch, 1
	s.emit(r, 0)
}

// leaveISRs takes a broker out of every ISR, and out of every ELR too when it stopped uncleanly.
func (s *step) leaveISRs(b *Broker, unclean bool) {
	s.changePartitions(func(p *Partition) bool {
		return p.Leader == b.ID || slices.Contains(p.ISR, b.ID) || unclean && slices.Contains(p.ELR, b.ID)
	}, func(c *partitionChange) {
		c.isr = without(c.old.ISR, b.ID)
		online := c.online
		c.online = func(id int32) bool { return id != b.ID && online(id) }
		if unclean {
			c.unclean = []int32{b.ID}
		}
	})
}

// shutDown moves a broker's leaderships away and reports whether it may stop now: when it leads
// nothing any more.
func (s *step) shutDown(b *Broker) bool {
	if !b.InControlledShutdown {
		r := kafkarecord.NewBrokerRegistrationChangeRecord()
		r.BrokerID, r.BrokerEpoch, r.InControlledShutdown = b.ID, b.Epoch, 1
		s.emit(r, 1)
		s.leaveISRs(s.img().Broker(b.ID), false)
	}
	for _, t := range s.img().sortedTopics() {
		if slices.ContainsFunc(t.Partitions, func(p *Partition) bool { return p.Leader == b.ID }) {
			return false
		}
	}
	s.fence(s.img().Broker(b.ID))
	return true
}

// directoriesOffline drops failed log directories from a registration and moves the leaderships in
// them.
func (s *step) directoriesOffline(b *Broker, offline [][16]byte) {
	online := slices.DeleteFunc(slices.Clone(b.LogDirs), func(dir [16]byte) bool { return slices.Contains(offline, dir) })
	if len(online) == len(b.LogDirs) || len(online) == 0 {
		return // nothing new; a broker without any directory stops by itself
	}
	r := kafkarecord.NewBrokerRegistrationChangeRecord()
	r.BrokerID, r.BrokerEpoch, r.LogDirs = b.ID, b.Epoch, online
	s.emit(r, 2)
	s.changePartitions(func(p *Partition) bool {
		return slices.Contains(p.Replicas, b.ID) && slices.Contains(offline, p.dir(b.ID))
	}, func(c *partitionChange) { c.isr = without(c.old.ISR, b.ID) })
}

// changePartitions runs a change on every partition that matches, in order of topic names.
func (s *step) changePartitions(match func(*Partition) bool, edit func(*partitionChange)) {
	for _, t := range s.img().sortedTopics() {
		for _, p := range t.Partitions {
			if !match(p) {
				continue
			}
			c := s.newChange(t, p)
			edit(c)
			if r := c.build(); r != nil {
				s.emit(r, partitionRecordVersion)
			}
		}
	}
}

// partitionRecordVersion is the version of PartitionRecord and PartitionChangeRecord at every
// metadata.version this build runs at.
const partitionRecordVersion = 2

// newChange starts a change of one partition with the settings that apply to its topic.
func (s *step) newChange(t *Topic, p *Partition) *partitionChange {
	img := s.img()
	settings := s.topicConfig(t.Name)
	return &partitionChange{
		topic: t, old: p, minISR: settings.MinInsyncReplicas, elr: img.elrEnabled(),
		allowUnclean: settings.UncleanLeaderElection, recovery: unchangedState,
		online: func(id int32) bool { return img.replicaOnline(p, id) },
	}
}

// replicaOnline says whether a replica's broker is active and its log directory works.
func (m *Image) replicaOnline(p *Partition, id int32) bool {
	b := m.Broker(id)
	if !b.active() || !slices.Contains(p.Replicas, id) {
		return false
	}
	dir := p.dir(id)
	return dir == DirUnassigned || dir == DirMigrating || slices.Contains(b.LogDirs, dir)
}
