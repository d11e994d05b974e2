package coordinator

import (
	"context"

	"klamm/internal/metadata"
	"klamm/internal/record"
)

// PartitionLog is the replicated log that coordinators write to and load from. The replica layer
// implements it; errors carry Kafka's error code where they have one.
type PartitionLog interface {
	// Append writes one batch as the partition's leader and returns the offset of its last record.
	// The batch is in the log but not yet committed. After an error nothing of the batch is
	// assumed to be there or not to be there.
	Append(ctx context.Context, topic string, partition int32, batch record.Batch) (lastOffset int64, err error)
	// WaitCommitted calls done exactly once: with nil as soon as the high watermark is above
	// offset, with an error when this broker stops leading the partition or the log fails. It may
	// call done before it returns, and from any goroutine.
	WaitCommitted(topic string, partition int32, offset int64, done func(error))
	// Read returns whole batches from offset `from` on, at least one, about maxBytes in all, up to
	// the end of the log, committed or not. An offset below the log's start reads from its start.
	// At the end it returns no bytes. next is the offset to go on with.
	Read(topic string, partition int32, from int64, maxBytes int) (batches []byte, next int64, err error)
}

// TopicInfo is what the coordinator needs to know of a topic.
type TopicInfo struct {
	Name       string
	ID         [16]byte
	Partitions int32
}

// Topics tells which topics exist. ImageTopics implements it over the metadata image.
type Topics interface {
	TopicByName(name string) (TopicInfo, bool)
	TopicByID(id [16]byte) (TopicInfo, bool)
}

// ImageTopics answers from the newest metadata image.
func ImageTopics(image func() *metadata.Image) Topics { return imageTopics(image) }

type imageTopics func() *metadata.Image

func (f imageTopics) TopicByName(name string) (TopicInfo, bool) {
	if image := f(); image != nil {
		return topicInfo(image.Topic(name))
	}
	return TopicInfo{}, false
}

func (f imageTopics) TopicByID(id [16]byte) (TopicInfo, bool) {
	if image := f(); image != nil {
		return topicInfo(image.TopicByID(id))
	}
	return TopicInfo{}, false
}

func topicInfo(t *metadata.Topic) (TopicInfo, bool) {
	if t == nil {
		return TopicInfo{}, false
	}
	return TopicInfo{Name: t.Name, ID: t.ID, Partitions: int32(len(t.Partitions))}, true
}
