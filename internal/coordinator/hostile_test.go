package coordinator

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/protocol"
)

// faulty is a machine that panics when it is told to.
type faulty struct {
	machine
	now *bool
}

func (f faulty) handle(now time.Time, req request) result {
	if *f.now {
		panic("a mistake")
	}
	return f.machine.handle(now, req)
}

// A panic ends neither the process nor the shard: whoever waits is told to come back, and the groups
// are loaded from the log.
func TestPanicReloads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTestRuntime(t, newMemLog(), testConfig(t, nil))
		defer r.Close()
		panics := false
		whole := r.runners[0].shared.newMachine // shared by all runners
		r.runners[0].shared.newMachine = func() machine { return faulty{whole(), &panics} }
		leadAll(r, 0)
		synctest.Wait()
		a := newAnswers(t, r)
		a.ask("before", commitRequest("g", 5), 8)
		time.Sleep(2 * reloadPause)
		panics = true
		if code := commitCode(t, a.ask("poison", commitRequest("g", 6), 8)); code != protocol.CodeCoordinatorNotAvailable {
			t.Errorf("the request that made it panic: %s", protocol.CodeName(code))
		}
		panics = false
		if got := fetchedOffsetOf(t, a.ask("after", fetchRequest("g"), 8)); got != 5 {
			t.Errorf("offset %d after the reload, want 5", got)
		}
	})
}

// Of many groups, what is asked for in full is answered once, however often it is repeated.
func TestRepeatedGroupsAreAnsweredOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *memLog, a *answers) {
		a.ask("commit", commitRequest("g", 5), 8)
		describe := kmsg.NewPtrDescribeGroupsRequest()
		describe.Groups = []string{"g", "h", "g"}
		if got := a.ask("few", describe, 5).(*kmsg.DescribeGroupsResponse).Groups; len(got) != 3 {
			t.Errorf("few groups are answered as asked, got %v", got)
		}
		for range repeatable {
			describe.Groups = append(describe.Groups, "g")
		}
		if got := a.ask("many", describe, 5).(*kmsg.DescribeGroupsResponse).Groups; len(got) != 2 || got[0].Group != "g" || got[1].Group != "h" {
			t.Errorf("described: %v", got)
		}
		fetch := fetchRequest("g")
		part := kmsg.NewOffsetFetchRequestGroup()
		part.Group, part.Topics = "g", []kmsg.OffsetFetchRequestGroupTopic{}
		fetch.Groups = append(fetch.Groups, part)
		for range repeatable {
			fetch.Groups = append(fetch.Groups, fetch.Groups[0])
		}
		got := a.ask("fetch", fetch, 8).(*kmsg.OffsetFetchResponse).Groups
		if len(got) != 2 || len(got[0].Topics) != 1 || len(got[1].Topics) != 0 {
			t.Errorf("fetched: %v", got)
		}
	})
}

// However long a filter is, a shard gets a short one that lets the same groups through.
func TestFiltersAreCutToWhatThereIs(t *testing.T) {
	var long []string
	for range 1000 {
		long = append(long, "stable", "Nonsense", "")
	}
	for _, c := range []struct {
		name         string
		filter, want []string
	}{
		{"none", nil, nil},
		{"empty", []string{}, nil},
		{"long", long, []string{"", "Stable"}},
		{"nothing that is there", []string{"Dead"}, []string{""}},
		{"in other case", []string{"EMPTY", "preparingrebalance"}, []string{"", "Empty", "PreparingRebalance"}},
	} {
		if diff := cmp.Diff(c.want, relevant(c.filter, groupStates())); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}
