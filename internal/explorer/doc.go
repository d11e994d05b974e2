// Package explorer looks at and changes any Kafka cluster over the wire protocol: connections,
// topics, records, groups. It never imports the broker: the cluster of this process is dialled as any
// other. The page (through httpapi) and the CLI use the same functions.
//
// Two rules hold everywhere. Each call degrades by itself: what is forbidden, unsupported or out of
// reach is named as a Problem in the answer, and the rest is filled. And nothing that is shown passes
// through a float: integers are exact, bytes are kept as they are.
package explorer
