package metadata

// PartitionChange is one partition that is new or differs from the image before. Old is nil for a
// new partition.
type PartitionChange struct {
	Topic    *Topic
	Old, New *Partition
}

// Delta says what changed between two images. All lists have a deterministic order.
type Delta struct {
	Old, New          *Image
	TopicsCreated     []*Topic
	TopicsDeleted     []*Topic
	PartitionsChanged []PartitionChange // those of created topics too; not those of deleted ones
	ConfigsChanged    []Resource
	BrokersChanged    []int32 // registered, changed or unregistered broker ids
	FeaturesChanged   bool
}
