package metadata

import (
	"fmt"
	"io"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/config"
	"klamm/internal/kafkarecord"
	"klamm/internal/protocol"
)

// Record is a metadata record and the version it is to be written in.
type Record struct {
	Message kafkarecord.MetadataRecord
	Version int16
}

// Controller decides. It has no state of its own beyond its settings: Handle is a function of its
// arguments, so the same request on the same image always gives the same records.
type Controller struct {
	NodeID int32
	Config *config.Broker
}

// Decision is what a request comes to.
type Decision struct {
	Records  []Record      // to be committed in this order, right after the image's offset
	Response kmsg.Response // to be sent once the records are applied
	Image    *Image        // the image with the records applied
}

// Handle answers one request on an image. rnd gives the random bytes of new ids and placements. The
// error is for a request of a kind the controller does not know.
func (c *Controller) Handle(img *Image, req kmsg.Request, now time.Time, rnd io.Reader) (Decision, error) {
	s := &step{c: c, base: img, draft: newDraft(img), now: now, rnd: rnd}
	var resp kmsg.Response
	switch req := req.(type) {
	case *kmsg.BrokerRegistrationRequest:
		resp = s.registerBroker(req)
	case *kmsg.BrokerHeartbeatRequest:
		resp = s.heartbeat(req)
	case *kmsg.AlterPartitionRequest:
		resp = s.alterPartition(req)
	case *kmsg.AllocateProducerIDsRequest:
		resp = s.allocateProducerIDs(req)
	case *kmsg.CreateTopicsRequest:
		resp = s.createTopics(req)
	case *kmsg.DeleteTopicsRequest:
		resp = s.deleteTopics(req)
	case *kmsg.CreatePartitionsRequest:
		resp = s.createPartitions(req)
	case *kmsg.IncrementalAlterConfigsRequest:
		resp = s.incrementalAlterConfigs(req)
	case *kmsg.AlterConfigsRequest:
		resp = s.alterConfigs(req)
	case *kmsg.UpdateFeaturesRequest:
		resp = s.updateFeatures(req)
	default:
		return Decision{}, fmt.Errorf("the controller does not answer %s requests", kmsg.NameForKey(req.Key()))
	}
	resp.SetVersion(req.GetVersion())
	return Decision{s.records, resp, s.draft.finish()}, nil
}

// step is the handling of one request: records are applied to the draft as they are made, so that
// later parts of the request see the earlier ones.
type step struct {
	c       *Controller
	base    *Image
	draft   *draft
	records []Record
	now     time.Time
	rnd     io.Reader

	effective    *config.Broker // cached by brokerConfig
	topicConfigs map[string]config.TopicConfig
}

func (s *step) img() *Image { return s.draft.img }

// nextOffset is the offset the next record will have.
func (s *step) nextOffset() int64 { return s.img().offset + 1 }

// emit adds a record and applies it. A record that does not apply is a mistake of the handler that
// made it, never of a client.
func (s *step) emit(m kafkarecord.MetadataRecord, version int16) {
	s.img().offset++
	if err := s.draft.replay(m); err != nil {
		panic(&ReplayError{s.img().offset, m.Schema().Name, err})
	}
	s.records = append(s.records, Record{m, version})
}

// forget drops everything done so far: validateOnly runs every check and writes nothing.
func (s *step) forget() {
	s.records, s.draft = nil, newDraft(s.base)
	s.effective, s.topicConfigs = nil, nil
}

// newTopicID draws an id that no topic has.
func (s *step) newTopicID() [16]byte {
	id := randomID(s.rnd)
	for s.img().TopicByID(id) != nil {
		id = randomID(s.rnd)
	}
	return id
}

// randomID draws a random id that clients and Kafka accept: not reserved, text not starting with '-'.
func randomID(rnd io.Reader) (id [16]byte) {
	for {
		if _, err := io.ReadFull(rnd, id[:]); err != nil {
			panic(fmt.Errorf("the source of randomness failed: %w", err)) // crypto/rand never does
		}
		id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80 // version 4 of RFC 9562, as java.util.UUID
		if !reservedDir(id) && kafkarecord.FormatUUID(id)[0] != '-' {
			return id
		}
	}
}

// apiError is a refusal as clients see it.
type apiError struct {
	code    int16
	message string
}

func (e *apiError) Error() string { return e.message }

// KafkaCode is the error code of the Kafka protocol.
func (e *apiError) KafkaCode() int16 { return e.code }

func refuse(code int16, format string, args ...any) *apiError {
	return &apiError{code, fmt.Sprintf(format, args...)}
}

// text is the message for a nullable field.
func (e *apiError) text() *string { return &e.message }

// checkBrokerEpoch refuses requests of a broker that is not registered, or not any more.
func (s *step) checkBrokerEpoch(id int32, epoch int64) *apiError {
	switch b := s.img().Broker(id); {
	case b == nil:
		return refuse(protocol.CodeBrokerIDNotRegistered, "Broker %d is not registered.", id)
	case b.Epoch != epoch:
		return refuse(protocol.CodeStaleBrokerEpoch, "Broker %d has epoch %d, the request has %d.", id, b.Epoch, epoch)
	}
	return nil
}

// producerIDBlock is how many producer ids a broker is given at once.
const producerIDBlock = 1000

// allocateProducerIDs hands out the next block. A block that is lost with its broker is only a gap.
func (s *step) allocateProducerIDs(req *kmsg.AllocateProducerIDsRequest) kmsg.Response {
	resp := kmsg.NewPtrAllocateProducerIDsResponse()
	if err := s.checkBrokerEpoch(req.BrokerID, req.BrokerEpoch); err != nil {
		resp.ErrorCode = err.code
		return resp
	}
	first := s.img().nextProducerID
	resp.ProducerIDStart, resp.ProducerIDLen = first, producerIDBlock
	s.emit(&kafkarecord.ProducerIdsRecord{BrokerID: req.BrokerID, BrokerEpoch: req.BrokerEpoch, NextProducerID: first + producerIDBlock}, 0)
	return resp
}
