// Package broker serves Kafka's wire protocol: SocketServer reads requests from connections and
// writes answers in the order of the requests, one api_<name>.go per API key says what a request
// does, and lifecycle.go registers the broker with the controller and takes it down in order.
//
// The broker holds no data. Partitions belong to package replica, cluster state to package
// metadata, groups to package coordinator.
package broker
