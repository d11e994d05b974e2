package cli

import (
	"log/slog"
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"klamm/internal/metadata"
	"klamm/internal/replica"
)

// maxScrapes bounds the scrapes that are answered at once.
const maxScrapes = 4

// newMetrics serves Prometheus' text form: the process, and the node when there is one. Everything is
// computed when it is asked for; nothing runs between.
func newMetrics(node *Node, logger *slog.Logger) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if node != nil {
		registry.MustRegister(newNodeMetrics(node))
	}
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn), MaxRequestsInFlight: maxScrapes,
	})
}

// maxSeries bounds the partitions, and then the topics, that have log metrics of their own.
const maxSeries = 2000

// nodeMetrics reads a node's state under the names that Kafka's MBeans have behind Prometheus' JMX
// exporter, so that dashboards for Kafka work.
type nodeMetrics struct {
	nodeID   int32
	statuses func() []replica.Status
	image    func() *metadata.Image

	partitions, leaders, underReplicated, offline *prometheus.Desc
	activeController, brokers, topics             *prometheus.Desc
	size, start, end                              *prometheus.Desc
}

func newNodeMetrics(n *Node) *nodeMetrics {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("kafka_"+name, help, labels, nil)
	}
	return &nodeMetrics{
		nodeID: n.nodeID, statuses: n.replicas.Statuses, image: n.replicas.Image,
		partitions:       desc("server_replicamanager_partitioncount", "Replicas on this broker."),
		leaders:          desc("server_replicamanager_leadercount", "Partitions that this broker leads."),
		underReplicated:  desc("server_replicamanager_underreplicatedpartitions", "Partitions led here with fewer replicas in sync than they have."),
		offline:          desc("server_replicamanager_offlinereplicacount", "Replicas on this broker whose files cannot be used."),
		activeController: desc("controller_kafkacontroller_activecontrollercount", "1 on the node that is the active controller, else 0."),
		brokers:          desc("controller_kafkacontroller_activebrokercount", "Brokers of the cluster that are not fenced."),
		topics:           desc("controller_kafkacontroller_globaltopiccount", "Topics of the cluster."),
		size:             desc("log_log_size", logHelp("Bytes of the log's segments"), "topic", "partition"),
		start:            desc("log_log_logstartoffset", logHelp("First offset that can be read"), "topic", "partition"),
		end:              desc("log_log_logendoffset", logHelp("Offset after the last record"), "topic", "partition"),
	}
}

func logHelp(what string) string {
	return what + ". With more than " + strconv.Itoa(maxSeries) + " partitions: the sum of each topic, without the label partition; with as many topics: one sum."
}

// Describe implements prometheus.Collector.
func (m *nodeMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.partitions, m.leaders, m.underReplicated, m.offline, m.activeController, m.brokers, m.topics, m.size, m.start, m.end} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (m *nodeMetrics) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, n int64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), labels...)
	}
	statuses := m.statuses()
	var leading, under, offline int64
	for _, s := range statuses {
		leading += one(s.Leading)
		under += one(s.UnderReplicated)
		offline += one(s.Offline)
	}
	gauge(m.partitions, int64(len(statuses)))
	gauge(m.leaders, leading)
	gauge(m.underReplicated, under)
	gauge(m.offline, offline)
	for _, l := range bounded(statuses) {
		gauge(m.size, l.Size, l.Topic, l.partition)
		gauge(m.start, l.LogStartOffset, l.Topic, l.partition)
		gauge(m.end, l.LogEndOffset, l.Topic, l.partition)
	}
	image := m.image()
	if image == nil {
		return // nothing is known yet
	}
	active := image.ControllerID() == m.nodeID
	gauge(m.activeController, one(active))
	if !active {
		return // as in Kafka, the controller counts the cluster
	}
	var brokers int64
	for _, b := range image.Brokers() {
		brokers += one(!b.Fenced)
	}
	gauge(m.brokers, brokers)
	gauge(m.topics, int64(len(image.Topics())))
}

func one(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// logMetrics are those of one log, or of several together.
type logMetrics struct {
	replica.Status
	partition string // empty for a sum
}

// bounded gives the logs one by one when they are few, else by topic, else all together. statuses
// are sorted; logs that cannot be used have no size and no offsets.
func bounded(statuses []replica.Status) []logMetrics {
	var single, byTopic []logMetrics
	all := logMetrics{}
	for _, s := range statuses {
		if s.Offline {
			continue
		}
		single = append(single, logMetrics{s, strconv.Itoa(int(s.Partition))})
		if n := len(byTopic); n == 0 || byTopic[n-1].Topic != s.Topic {
			byTopic = append(byTopic, logMetrics{Status: replica.Status{Topic: s.Topic}})
		}
		byTopic[len(byTopic)-1].add(s)
		all.add(s)
	}
	switch {
	case len(single) <= maxSeries:
		return single
	case len(byTopic) <= maxSeries:
		return byTopic
	}
	return []logMetrics{all}
}

func (l *logMetrics) add(s replica.Status) {
	l.Size += s.Size
	l.LogStartOffset += s.LogStartOffset
	l.LogEndOffset += s.LogEndOffset
}
