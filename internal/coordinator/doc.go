// Package coordinator keeps consumer groups: who belongs to a group, which assignment its leader
// chose, and the offsets it committed. Everything durable lies in __consumer_offsets, in Kafka's
// own record schemas.
//
// A shard is the pure state machine of one partition of that topic: a request and the time go in,
// records and answers come out, and only replaying a record changes what must survive a restart. A
// Runtime owns one shard for every partition this broker leads. It loads the shard from the log,
// feeds it one event at a time, appends its records and lets an answer go once everything the
// answer shows is committed.
package coordinator
