package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
)

func newGroup(s Streams) *cobra.Command {
	c := &cobra.Command{Use: "group", Short: "List and describe consumer groups"}
	c.AddCommand(newGroupList(s), newGroupDescribe(s))
	return c
}

// groupLine is a group in a list.
type groupLine struct {
	Group        string `json:"group"`
	State        string `json:"state"`
	Type         string `json:"type"`
	ProtocolType string `json:"protocolType"`
	Coordinator  int32  `json:"coordinator"`
}

func newGroupList(s Streams) *cobra.Command {
	var f clientFlags
	var out outputFlag
	c := &cobra.Command{
		Use: "list", Short: "List groups", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := out.check(); err != nil {
				return err
			}
			cl, err := f.connect(c, s)
			if err != nil {
				return err
			}
			defer cl.Close()
			ctx, cancel := cl.within(c.Context())
			defer cancel()
			groups, err := cl.admin.ListGroups(ctx)
			if err != nil {
				return cl.explain(c.Context(), err)
			}
			var lines []groupLine
			for _, g := range groups.Sorted() {
				lines = append(lines, groupLine{g.Group, g.State, g.GroupType, g.ProtocolType, g.Coordinator})
			}
			if out.format == "plain" {
				return list(s.Out, out.format, lines, nil, func(g groupLine) []string { return []string{g.Group} })
			}
			return list(s.Out, out.format, lines, []string{"GROUP", "STATE", "TYPE", "PROTOCOL", "COORDINATOR"}, func(g groupLine) []string {
				return []string{g.Group, g.State, g.Type, g.ProtocolType, itoa(g.Coordinator)}
			})
		},
	}
	f.add(c)
	out.add(c, "table", "json", "jsonl", "plain")
	return c
}

// groupDescription is everything about one group.
type groupDescription struct {
	Group       string          `json:"group"`
	State       string          `json:"state"`
	Type        string          `json:"type"`
	Protocol    string          `json:"protocol"`
	Coordinator int32           `json:"coordinator"`
	Members     []groupMember   `json:"members"`
	Offsets     []groupPosition `json:"offsets"`
	TotalLag    int64           `json:"totalLag"` // of partitions that have an offset
}

type groupMember struct {
	ID       string             `json:"id"`
	Instance *string            `json:"instanceId"`
	Client   string             `json:"clientId"`
	Host     string             `json:"host"`
	Assigned map[string][]int32 `json:"assigned"`
}

// groupPosition is where a group is in a partition.
type groupPosition struct {
	Topic     string  `json:"topic"`
	Partition int32   `json:"partition"`
	Committed *int64  `json:"committed"` // null: no offset yet
	Start     *int64  `json:"startOffset"`
	End       *int64  `json:"endOffset"`
	Lag       *int64  `json:"lag"`
	AheadBy   *int64  `json:"aheadOfEnd,omitempty"` // the committed offset is beyond the log's end
	Metadata  string  `json:"metadata,omitempty"`
	Member    *string `json:"member"`
	Error     string  `json:"error,omitempty"`
}

func newGroupDescribe(s Streams) *cobra.Command {
	var f clientFlags
	var out outputFlag
	c := &cobra.Command{
		Use: "describe GROUP...", Short: "Show members, offsets and lag of groups", Args: atLeastOne("group"),
		RunE: func(c *cobra.Command, groups []string) error {
			if err := out.check(); err != nil {
				return err
			}
			cl, err := f.connect(c, s)
			if err != nil {
				return err
			}
			defer cl.Close()
			var found []groupDescription
			var failed []error
			for _, name := range groups {
				g, err := cl.describeGroup(c.Context(), name)
				if err != nil {
					failed = append(failed, err)
					continue
				}
				found = append(found, g)
			}
			if out.format != "table" {
				return errors.Join(append([]error{list(s.Out, out.format, found, nil, nil)}, failed...)...)
			}
			for i, g := range found {
				if i > 0 {
					fmt.Fprintln(s.Out)
				}
				if err := printGroup(s.Out, g); err != nil {
					return err
				}
			}
			return errors.Join(failed...)
		},
	}
	f.add(c)
	out.add(c, "table", "json", "jsonl")
	return c
}

// describeGroup asks for the group by the new protocol's call first, as Kafka's own tools do.
func (cl *client) describeGroup(ctx context.Context, name string) (groupDescription, error) {
	bounded, cancel := cl.within(ctx)
	defer cancel()
	g, found := cl.describeConsumerGroup(bounded, name)
	if !found {
		var err error
		if g, err = cl.describeClassicGroup(bounded, name); err != nil {
			return g, cl.explainGroup(ctx, name, err)
		}
	}
	committed, err := cl.admin.FetchOffsets(bounded, name)
	if err != nil {
		return g, cl.explainGroup(ctx, name, err)
	}
	topics := map[string]bool{}
	committed.Each(func(o kadm.OffsetResponse) { topics[o.Topic] = true })
	for _, m := range g.Members {
		for topic := range m.Assigned {
			topics[topic] = true
		}
	}
	names := slices.Sorted(maps.Keys(topics))
	var starts, ends kadm.ListedOffsets
	if len(names) > 0 {
		if starts, err = cl.admin.ListStartOffsets(bounded, names...); err == nil {
			ends, err = cl.admin.ListEndOffsets(bounded, names...)
		}
		if err != nil {
			return g, cl.explain(ctx, err)
		}
	}
	g.place(committed, starts, ends)
	return g, nil
}

func (cl *client) explainGroup(ctx context.Context, name string, err error) error {
	explained := cl.explain(ctx, err)
	if errors.Is(explained, context.Canceled) {
		return explained
	}
	return fmt.Errorf("group %s: %w", printable(name), explained)
}

func (cl *client) describeConsumerGroup(ctx context.Context, name string) (groupDescription, bool) {
	described, err := cl.admin.DescribeConsumerGroups(ctx, name)
	d, ok := described[name]
	if err != nil || !ok || d.Err != nil {
		return groupDescription{}, false // older clusters, and classic groups
	}
	g := groupDescription{Group: name, State: d.State, Type: "consumer", Protocol: d.AssignorName, Coordinator: d.Coordinator.NodeID, Members: []groupMember{}}
	for _, m := range d.Members {
		assigned := map[string][]int32{}
		for topic, partitions := range m.Assignment {
			assigned[topic] = slices.Sorted(maps.Keys(partitions))
		}
		g.Members = append(g.Members, groupMember{ID: m.MemberID, Instance: m.InstanceID, Client: m.ClientID, Host: m.ClientHost, Assigned: assigned})
	}
	return g, true
}

func (cl *client) describeClassicGroup(ctx context.Context, name string) (groupDescription, error) {
	described, err := cl.admin.DescribeGroups(ctx, name)
	if err != nil {
		return groupDescription{}, err
	}
	d, ok := described[name]
	switch {
	case !ok:
		return groupDescription{}, fmt.Errorf("the cluster did not answer about it")
	case d.Err != nil:
		return groupDescription{}, d.Err
	case d.State == "Dead":
		return groupDescription{}, fmt.Errorf("there is no such group")
	}
	g := groupDescription{Group: name, State: d.State, Type: "classic", Protocol: d.Protocol, Coordinator: d.Coordinator.NodeID, Members: []groupMember{}}
	for _, m := range d.Members {
		assigned := map[string][]int32{}
		if a, ok := m.Assigned.AsConsumer(); ok {
			for _, t := range a.Topics {
				assigned[t.Topic] = slices.Sorted(slices.Values(t.Partitions))
			}
		}
		g.Members = append(g.Members, groupMember{ID: m.MemberID, Instance: m.InstanceID, Client: m.ClientID, Host: m.ClientHost, Assigned: assigned})
	}
	return g, nil
}

// place fills in the positions: every partition that has an offset or a member.
func (g *groupDescription) place(committed kadm.OffsetResponses, starts, ends kadm.ListedOffsets) {
	type key struct {
		topic     string
		partition int32
	}
	positions := map[key]*groupPosition{}
	at := func(topic string, partition int32) *groupPosition {
		k := key{topic, partition}
		if positions[k] == nil {
			positions[k] = &groupPosition{Topic: topic, Partition: partition}
		}
		return positions[k]
	}
	committed.Each(func(o kadm.OffsetResponse) {
		p := at(o.Topic, o.Partition)
		if o.Err != nil {
			p.Error = about("offset", o.Err, "").Error()
		} else if o.At >= 0 {
			p.Committed, p.Metadata = &o.At, o.Metadata
		}
	})
	for _, m := range g.Members {
		for topic, partitions := range m.Assigned {
			for _, id := range partitions {
				at(topic, id).Member = &m.ID
			}
		}
	}
	g.Offsets = []groupPosition{}
	for _, p := range positions {
		p.measure(starts, ends)
		if p.Lag != nil {
			g.TotalLag += *p.Lag
		}
		g.Offsets = append(g.Offsets, *p)
	}
	slices.SortFunc(g.Offsets, func(a, b groupPosition) int {
		if c := strings.Compare(a.Topic, b.Topic); c != 0 {
			return c
		}
		return int(a.Partition) - int(b.Partition)
	})
}

// measure computes the lag. A committed offset beyond the end (the topic was made anew) is not a
// negative lag.
func (p *groupPosition) measure(starts, ends kadm.ListedOffsets) {
	if o, ok := starts.Lookup(p.Topic, p.Partition); ok && o.Err == nil {
		p.Start = &o.Offset
	}
	o, ok := ends.Lookup(p.Topic, p.Partition)
	switch {
	case ok && o.Err == nil:
		p.End = &o.Offset
	case p.Error == "":
		p.Error = "the partition's end is not known; does the topic still exist?"
	}
	if p.Committed == nil || p.End == nil {
		return
	}
	lag := *p.End - *p.Committed
	if lag >= 0 {
		p.Lag = &lag
		return
	}
	ahead := -lag
	p.AheadBy = &ahead
}

func printGroup(w io.Writer, g groupDescription) error {
	fmt.Fprintf(w, "group %s  state %s  type %s  protocol %s  coordinator %d  members %d  lag %d\n",
		printable(g.Group), g.State, g.Type, orDash(g.Protocol), g.Coordinator, len(g.Members), g.TotalLag)
	err := printTable(w, g.Offsets, []string{"TOPIC", "PARTITION", "COMMITTED", "END", "LAG", "MEMBER"}, func(p groupPosition) []string {
		lag, member := offsetText(p.Lag), "-"
		if p.AheadBy != nil {
			lag = fmt.Sprintf("ahead of the log by %d", *p.AheadBy)
		}
		if p.Member != nil {
			member = *p.Member
		}
		row := []string{p.Topic, itoa(p.Partition), offsetText(p.Committed), offsetText(p.End), lag, member}
		if p.Error != "" {
			row = append(row, p.Error)
		}
		return row
	})
	if err != nil || len(g.Members) == 0 {
		return err
	}
	return printTable(w, g.Members, []string{"MEMBER", "INSTANCE", "CLIENT", "HOST", "ASSIGNED"}, func(m groupMember) []string {
		instance := "-"
		if m.Instance != nil {
			instance = *m.Instance
		}
		var assigned []string
		for _, topic := range slices.Sorted(maps.Keys(m.Assigned)) {
			assigned = append(assigned, topic+"["+numbers(m.Assigned[topic])+"]")
		}
		return []string{m.ID, instance, m.Client, m.Host, strings.Join(assigned, " ")}
	})
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
