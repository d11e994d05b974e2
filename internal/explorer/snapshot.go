package explorer

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// snapshot is one metadata answer and the client to ask further with.
type snapshot struct {
	c       *Connection
	cl      *kgo.Client
	meta    *kmsg.MetadataResponse
	brokers map[int32]kmsg.MetadataResponseBroker

	mu       sync.Mutex
	problems []Problem
	silent   map[int32]*Problem // brokers that could not be reached: a page waits for each once only
}

// snapshot asks for topics (nil: all). The caller keeps the client acquired while it uses the answer.
func (c *Connection) snapshot(ctx context.Context, cl *kgo.Client, topics []string) (*snapshot, error) {
	m, err := c.metadata(ctx, cl, topics)
	if err != nil {
		return nil, err
	}
	s := &snapshot{c: c, cl: cl, meta: m, brokers: make(map[int32]kmsg.MetadataResponseBroker, len(m.Brokers)), silent: map[int32]*Problem{}}
	for _, b := range m.Brokers {
		s.brokers[b.NodeID] = b
	}
	return s, nil
}

// problem notes something missing; the same code, operation and resource is kept once.
func (s *snapshot) problem(p *Problem) {
	if p == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, old := range s.problems {
		if old.Code == p.Code && old.Operation == p.Operation && old.Resource == p.Resource {
			return
		}
	}
	s.problems = append(s.problems, *p)
}

// allProblems are those noted so far, in a stable order.
func (s *snapshot) allProblems() []Problem {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := append([]Problem{}, s.problems...)
	slices.SortFunc(out, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Code, b.Code))
	})
	return out
}

// brokerName is "broker 2 (host:port)".
func (s *snapshot) brokerName(id int32) string {
	b, ok := s.brokers[id]
	if !ok {
		return fmt.Sprintf("broker %d", id)
	}
	return fmt.Sprintf("broker %d (%s)", id, net.JoinHostPort(b.Host, fmt.Sprint(b.Port)))
}

// ask sends one request to one broker, in its own time limit. The error is a Problem.
func (s *snapshot) ask(ctx context.Context, broker int32, operation string, req kmsg.Request) (kmsg.Response, *Problem) {
	s.mu.Lock()
	known := s.silent[broker]
	s.mu.Unlock()
	if known != nil {
		p := *known
		p.Operation = operation
		return nil, &p
	}
	limited, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	resp, err := s.cl.Broker(int(broker)).RetriableRequest(limited, req)
	if err == nil {
		return resp, nil
	}
	if isUnsupported(err) {
		p := unsupported(operation)
		p.Resource = s.brokerName(broker)
		return nil, p
	}
	p := *s.c.connectProblem(err, operation)
	p.Resource = s.brokerName(broker)
	if p.Code == "TIMEOUT" {
		p.Title = "No answer from " + p.Resource + " in time."
	}
	if isUnreachable(p.Code) && ctx.Err() == nil {
		s.mu.Lock()
		s.silent[broker] = &p
		s.mu.Unlock()
	}
	return nil, &p
}

// silence is why a broker could not be reached, nil when it could or was not asked.
func (s *snapshot) silence(broker int32) *Problem {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.silent[broker]
}

// isUnsupported recognises kgo's refusal to send what the broker does not know; it has no exported error.
func isUnsupported(err error) bool {
	text := err.Error()
	return strings.Contains(text, "request key is unknown") || strings.Contains(text, "broker is too old")
}

func unsupported(operation string) *Problem {
	return &Problem{Code: "UNSUPPORTED_VERSION", Title: "This cluster does not offer " + operation + ".", Operation: operation}
}

// askAll sends one request to each broker at once (each its own: the client writes into it); each answer is handled under a lock, each failure
// noted as a problem.
func (s *snapshot) askAll(ctx context.Context, operation string, reqs map[int32]kmsg.Request, handle func(broker int32, resp kmsg.Response)) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for broker, req := range reqs {
		wg.Go(func() {
			resp, p := s.ask(ctx, broker, operation, req)
			if p != nil {
				s.problem(p)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			handle(broker, resp)
		})
	}
	wg.Wait()
}

// askAny sends a request to the first broker that answers.
func (s *snapshot) askAny(ctx context.Context, operation string, req kmsg.Request) (kmsg.Response, *Problem) {
	var last *Problem
	for _, b := range s.meta.Brokers {
		resp, p := s.ask(ctx, b.NodeID, operation, req)
		if p == nil {
			return resp, nil
		}
		last = p
	}
	if last == nil {
		last = &Problem{Code: "NO_BROKERS", Title: "The cluster names no broker.", Operation: operation, Retriable: true}
	}
	return nil, last
}

// tp names one partition.
type tp struct {
	topic     string
	partition int32
}

// leaders gives the partitions of the topics by leader; leaderless ones under -1.
func (s *snapshot) leaders() map[int32][]tp {
	out := map[int32][]tp{}
	for _, t := range s.meta.Topics {
		for _, p := range t.Partitions {
			out[p.Leader] = append(out[p.Leader], tp{deref(t.Topic), p.Partition})
		}
	}
	return out
}

// Timestamps with a meaning in ListOffsets.
const (
	atEnd   int64 = -1 // high watermark, or the last stable offset under read_committed
	atStart int64 = -2
	atMax   int64 = -3 // the record with the largest timestamp (KIP-734)
)

// listed is one answer of ListOffsets.
type listed struct {
	offset, timestamp int64
	problem           *Problem
}

// listOffsets asks the leaders for one offset of each partition. A partition that is missing in the
// answer had no leader, or its leader did not answer (noted as a problem).
func (s *snapshot) listOffsets(ctx context.Context, byLeader map[int32][]tp, timestamp int64, readCommitted bool) map[tp]listed {
	reqs := map[int32]kmsg.Request{}
	for leader, parts := range byLeader {
		if leader >= 0 && len(parts) > 0 {
			reqs[leader] = listOffsetsRequest(parts, timestamp, readCommitted)
		}
	}
	out := map[tp]listed{}
	s.askAll(ctx, "ListOffsets", reqs, func(_ int32, resp kmsg.Response) {
		for _, t := range resp.(*kmsg.ListOffsetsResponse).Topics {
			for _, p := range t.Partitions {
				at := tp{t.Topic, p.Partition}
				out[at] = listed{offset: p.Offset, timestamp: p.Timestamp, problem: codeProblem(p.ErrorCode, nil, "ListOffsets", partitionName(at))}
			}
		}
	})
	return out
}

func listOffsetsRequest(parts []tp, timestamp int64, readCommitted bool) *kmsg.ListOffsetsRequest {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	if readCommitted {
		req.IsolationLevel = 1
	}
	byTopic := map[string]int{}
	for _, at := range parts {
		i, ok := byTopic[at.topic]
		if !ok {
			i = len(req.Topics)
			byTopic[at.topic] = i
			t := kmsg.NewListOffsetsRequestTopic()
			t.Topic = at.topic
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp, p.CurrentLeaderEpoch = at.partition, timestamp, -1
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, p)
	}
	return req
}

func partitionName(at tp) string {
	return fmt.Sprintf("partition %d of topic %s", at.partition, at.topic)
}

// size is what DescribeLogDirs says about one replica.
type replicaSize struct {
	broker int32
	at     tp
	bytes  int64
	future bool
}

// logDirs asks every broker for its log directories (topics nil: all replicas).
func (s *snapshot) logDirs(ctx context.Context, topics []kmsg.MetadataResponseTopic) (dirs map[int32][]LogDir, sizes []replicaSize) {
	reqs := map[int32]kmsg.Request{}
	for id := range s.brokers {
		reqs[id] = logDirsRequest(topics)
	}
	dirs = map[int32][]LogDir{}
	s.askAll(ctx, "DescribeLogDirs", reqs, func(broker int32, resp kmsg.Response) {
		r := resp.(*kmsg.DescribeLogDirsResponse)
		s.problem(codeProblem(r.ErrorCode, nil, "DescribeLogDirs", "the cluster"))
		for _, d := range r.Dirs {
			dir := LogDir{Path: d.Dir, Problem: codeProblem(d.ErrorCode, nil, "DescribeLogDirs", s.brokerName(broker)+" "+d.Dir)}
			if dir.Problem != nil && d.Dir == "" { // before version 3 a refusal is an entry without a path
				s.problem(codeProblem(d.ErrorCode, nil, "DescribeLogDirs", "the cluster"))
				continue
			}
			if d.TotalBytes >= 0 && r.GetVersion() >= 4 {
				dir.TotalBytes, dir.UsableBytes = &d.TotalBytes, &d.UsableBytes
			}
			for _, t := range d.Topics {
				for _, p := range t.Partitions {
					dir.Bytes += p.Size
					sizes = append(sizes, replicaSize{broker, tp{t.Topic, p.Partition}, p.Size, p.IsFuture})
				}
			}
			dirs[broker] = append(dirs[broker], dir)
		}
	})
	return dirs, sizes
}

func logDirsRequest(topics []kmsg.MetadataResponseTopic) *kmsg.DescribeLogDirsRequest {
	req := kmsg.NewPtrDescribeLogDirsRequest()
	for _, t := range topics {
		rt := kmsg.NewDescribeLogDirsRequestTopic()
		rt.Topic = deref(t.Topic)
		for _, p := range t.Partitions {
			rt.Partitions = append(rt.Partitions, p.Partition)
		}
		req.Topics = append(req.Topics, rt)
	}
	return req
}

// leaderSizes keeps the sizes of leader replicas.
func (s *snapshot) leaderSizes(sizes []replicaSize) map[tp]int64 {
	leader := map[tp]int32{}
	for _, t := range s.meta.Topics {
		for _, p := range t.Partitions {
			leader[tp{deref(t.Topic), p.Partition}] = p.Leader
		}
	}
	out := map[tp]int64{}
	for _, r := range sizes {
		if l, ok := leader[r.at]; ok && l == r.broker && !r.future {
			out[r.at] = r.bytes
		}
	}
	return out
}

// controller asks DescribeQuorum: in KRaft, metadata names a random broker.
func (s *snapshot) controller(ctx context.Context) (id *int32, source string) {
	apis, err := s.c.versions(ctx, s.cl)
	if err == nil && !apis.offers(int16(kmsg.DescribeQuorum), 0) {
		return nil, "unknown: this cluster does not offer DescribeQuorum"
	}
	req := kmsg.NewPtrDescribeQuorumRequest()
	t := kmsg.NewDescribeQuorumRequestTopic()
	t.Topic = "__cluster_metadata"
	t.Partitions = append(t.Partitions, kmsg.NewDescribeQuorumRequestTopicPartition())
	req.Topics = append(req.Topics, t)
	resp, p := s.askAny(ctx, "DescribeQuorum", req)
	if p != nil {
		s.problem(p)
		return nil, "unknown: " + p.Title
	}
	q := resp.(*kmsg.DescribeQuorumResponse)
	if p := codeProblem(q.ErrorCode, q.ErrorMessage, "DescribeQuorum", "the cluster"); p != nil {
		s.problem(p)
		return nil, "unknown: " + p.Title
	}
	for _, t := range q.Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode == 0 && p.LeaderID >= 0 {
				return &p.LeaderID, "DescribeQuorum"
			}
		}
	}
	return nil, "unknown: the quorum has no leader at the moment"
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// topicID writes a topic id as Kafka's tools do; empty for none.
func topicID(id [16]byte) string {
	if id == ([16]byte{}) {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(id[:])
}
