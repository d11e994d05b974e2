//go:build oracle

package coordinator

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestRandomAgainstKafka plays random scenarios against Apache Kafka at KLAMM_GROUP_ORACLE and in
// process. KLAMM_GROUP_RANDOM is how many, KLAMM_GROUP_SEED the first seed.
func TestRandomAgainstKafka(t *testing.T) {
	addr, count := os.Getenv("KLAMM_GROUP_ORACLE"), os.Getenv("KLAMM_GROUP_RANDOM")
	if addr == "" || count == "" {
		t.Fatal("comparing needs a real Kafka: set KLAMM_GROUP_ORACLE=host:port and KLAMM_GROUP_RANDOM=runs")
	}
	runs, err := strconv.Atoi(count)
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	if given := os.Getenv("KLAMM_GROUP_SEED"); given != "" {
		if seed, err = strconv.ParseUint(given, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	node := newNetworkTarget(t, addr)
	node.quiet = 150 * time.Millisecond
	for i := range runs {
		run := seed + uint64(i)
		t.Run(fmt.Sprint("seed ", run), func(t *testing.T) {
			t.Parallel()
			s := randomScenario(t, run)
			target := *node
			target.t = t
			p := newPlayer(t, &target, fmt.Sprintf("~%d", time.Now().UnixNano()))
			p.lenient = true
			for i, line := range s.lines {
				got := p.step(line)
				s.lines[i].number = i + 1
				if strings.Join(got, "\n") != strings.Join(line.want, "\n") {
					t.Fatalf("seed %d, step %d\n%s\nKafka:\n  %s\nours:\n  %s", run, i+1, history(s, i), strings.Join(got, "\n  "), strings.Join(line.want, "\n  "))
				}
			}
		})
	}
}

func history(s *scenario, upTo int) string {
	var lines []string
	for _, line := range s.lines[:upTo+1] {
		lines = append(lines, line.text)
	}
	return strings.Join(lines, "\n")
}

// randomScenario makes steps that look sensible for what the group does in process, now and then
// one that does not, and keeps our answers as what to expect. It ends early where Apache Kafka's
// choice of a leader depends on the hash of random ids.
func randomScenario(t *testing.T, seed uint64) *scenario {
	rnd := rand.New(rand.NewPCG(seed, 0))
	s := &scenario{path: fmt.Sprint("seed ", seed), config: map[string]string{}}
	synctest.Test(t, func(t *testing.T) {
		r := newTestRuntime(t, newMemLog(), testConfig(t, nil))
		leadAll(r, 0)
		synctest.Wait()
		p := newPlayer(t, &productTarget{t: t, runtime: r}, "~1")
		p.lenient = true
		for range 60 {
			line := scenarioLine{text: randomStep(rnd, r, p), number: len(s.lines) + 1, step: true}
			leader := leaderOf(randomGroup(r))
			line.want = p.step(line)
			g := randomGroup(r)
			if now := leaderOf(g); now != leader && leader != "" && len(g.members) > 1 {
				break
			}
			s.lines = append(s.lines, line)
			if g == nil && (strings.Contains(line.text, " join/") || strings.Contains(line.text, " leave/")) {
				// Apache Kafka keeps an empty group that nobody got into, we do not.
				break
			}
		}
		r.Close()
	})
	return s
}

func randomGroup(r *Runtime) *group {
	return r.runners[PartitionFor("g~1", DefaultPartitions)].machine.(*groupShard).groups["g~1"]
}

func leaderOf(g *group) string {
	if g == nil {
		return ""
	}
	return g.leader
}

func randomStep(rnd *rand.Rand, r *Runtime, p *player) string {
	pick := func(words ...string) string { return words[rnd.IntN(len(words))] }
	label := pick("A", "B", "C", "S", "T")
	busy := func(label string) bool {
		return slices.ContainsFunc(p.pending, func(c *pendingCall) bool { return c.label == label })
	}
	if busy(label) {
		return "- " + pick("describe/6", "list/5", "fetch/9 topics=null")
	}
	instance := ""
	if label == "S" || label == "T" {
		instance = " instance=" + label
	}
	member := ""
	if rnd.IntN(8) == 0 {
		member = " member=" + pick("-", "#A", "#S", "#S1", "#B1", "nobody")
	}
	if owner, ok := strings.CutPrefix(member, " member=#"); ok {
		// Of two waiting requests of one member Apache Kafka answers only the later one, we both. A
		// static member with the pending id of a dynamic one runs into an exception there.
		if g := randomGroup(r); g != nil {
			id := p.resolve("#" + owner)
			m := g.members[id]
			if g.pending[id] != nil || m != nil && (m.awaitsJoin() || m.awaitsSync()) {
				member = ""
			}
		}
	}
	generation := "*"
	if rnd.IntN(8) == 0 {
		generation = pick("-1", "0", "1", "2", "3")
	}
	switch n := rnd.IntN(20); {
	case n < 8:
		version := pick("9", "9", "8", "7", "5")
		if instance == "" {
			version = pick("9", "9", "8", "5", "4", "4", "3", "1")
		}
		protocols := pick("range:x;sticky:y", "sticky:y;range:x", "range:x", "range:z", "sticky:q;range:q")
		if rnd.IntN(15) == 0 {
			protocols = pick("sticky:only", "other:o", "-")
		}
		kind := ""
		if rnd.IntN(25) == 0 {
			kind = " type=connect"
		}
		if instance != "" && rnd.IntN(3) == 0 {
			member = " member=-"
		}
		return fmt.Sprintf("%s join/%s protocols=%s session=300000 rebalance=300000%s%s%s", label, version, protocols, kind, instance, member)
	case n < 13:
		return fmt.Sprintf("%s sync/%s gen=%s assign=#A:a%d;#B:b;#C:c;#S:s;#T:t%s%s", label, pick("3", "4"), generation, rnd.IntN(10), instance, member)
	case n < 15:
		return fmt.Sprintf("%s heartbeat/%s gen=%s%s%s", label, pick("3", "4"), generation, instance, member)
	case n < 16:
		if instance != "" {
			return fmt.Sprintf("- leave/5 members=%s@%s", pick("", "", "#"+label), label)
		}
		return fmt.Sprintf("%s leave/%s members=#%s%s", label, pick("3", "4", "5"), label, member)
	case n < 18:
		return fmt.Sprintf("%s commit/%s gen=%s offsets=t1:%d:%d%s%s", label, pick("7", "8", "9", "10"), generation, rnd.IntN(4), rnd.IntN(100), instance, member)
	case n < 19:
		return "- " + pick("delete/2", "commit/9 offsets=t1:0:3", "commit/8 gen=1 offsets=t1:0:3")
	}
	return "- " + pick("describe/6", "list/5", "fetch/9 topics=null")
}
