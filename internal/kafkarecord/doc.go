// Package kafkarecord holds the codecs of the records Kafka keeps in its own topics and files:
// the metadata log, __consumer_offsets, __transaction_state, __share_group_state, control records
// and producer snapshots.
//
// The structs are generated from the schema text in the directory schema, which restates the
// fields, versions and tags of Kafka's definitions. Every decoder checks lengths against the bytes
// that are left before it allocates, so any input ends in a value or a *DecodeError.
package kafkarecord

//go:generate go run ./gen
