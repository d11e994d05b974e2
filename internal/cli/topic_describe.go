package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"klamm/internal/kafkarecord"
)

// topicDescription is everything about one topic.
type topicDescription struct {
	Topic      string             `json:"topic"`
	ID         string             `json:"id"`
	Internal   bool               `json:"internal"`
	Partitions []partitionDetails `json:"partitions"`
	Configs    []configValue      `json:"configs"`
}

type partitionDetails struct {
	Partition   int32   `json:"partition"`
	Leader      int32   `json:"leader"`
	LeaderEpoch int32   `json:"leaderEpoch"`
	Replicas    []int32 `json:"replicas"`
	ISR         []int32 `json:"isr"`
	Offline     []int32 `json:"offlineReplicas,omitempty"`
	Start       *int64  `json:"startOffset"` // null when it cannot be told
	End         *int64  `json:"endOffset"`
	Error       string  `json:"error,omitempty"`
}

type configValue struct {
	Name   string  `json:"name"`
	Value  *string `json:"value"`
	Source string  `json:"source"`
}

func newTopicDescribe(s Streams) *cobra.Command {
	var f clientFlags
	var out outputFlag
	var all bool
	c := &cobra.Command{
		Use: "describe TOPIC...", Short: "Show partitions, offsets and properties of topics", Args: atLeastOne("topic"),
		RunE: func(c *cobra.Command, topics []string) error {
			if err := out.check(); err != nil {
				return err
			}
			cl, err := f.connect(c, s)
			if err != nil {
				return err
			}
			defer cl.Close()
			found, err := cl.describeTopics(c.Context(), topics, all)
			if out.format == "table" {
				for i, t := range found {
					if i > 0 {
						fmt.Fprintln(s.Out)
					}
					if werr := printTopic(s.Out, t); werr != nil {
						return werr
					}
				}
				return err
			}
			return errors.Join(list(s.Out, out.format, found, nil, nil), err)
		},
	}
	f.add(c)
	out.add(c, "table", "json", "jsonl")
	c.Flags().BoolVar(&all, "all-configs", false, "show properties that have their default too (default false)")
	return c
}

// describeTopics collects what is known; errors of single topics do not hide the others.
func (cl *client) describeTopics(ctx context.Context, topics []string, allConfigs bool) ([]topicDescription, error) {
	bounded, cancel := cl.within(ctx)
	defer cancel()
	details, err := cl.admin.ListTopicsWithInternal(bounded, topics...)
	if err != nil {
		return nil, cl.explain(ctx, err)
	}
	var known []string
	var failed []error
	for _, topic := range topics {
		switch d, ok := details[topic]; {
		case !ok:
			failed = append(failed, fmt.Errorf("topic %s: the cluster did not answer about it", printable(topic)))
		case d.Err != nil:
			failed = append(failed, about("topic "+printable(topic), d.Err, ""))
		default:
			known = append(known, topic)
		}
	}
	if len(known) == 0 {
		return nil, errors.Join(failed...)
	}
	starts, err1 := cl.admin.ListStartOffsets(bounded, known...)
	ends, err2 := cl.admin.ListEndOffsets(bounded, known...)
	configs, err3 := cl.admin.DescribeTopicConfigs(bounded, known...)
	if err := errors.Join(err1, err2); err != nil {
		return nil, cl.explain(ctx, err)
	}
	if err3 != nil {
		failed = append(failed, about("the properties", err3, ""))
	}
	var out []topicDescription
	for _, topic := range known {
		t := topicDescription{Topic: topic, ID: kafkarecord.FormatUUID(details[topic].ID), Internal: details[topic].IsInternal, Configs: []configValue{}}
		for _, id := range slices.Sorted(maps.Keys(details[topic].Partitions)) {
			t.Partitions = append(t.Partitions, describePartition(details[topic].Partitions[id], starts, ends))
		}
		if c, err := configs.On(topic, nil); err == nil {
			t.Configs = shownConfigs(c, allConfigs)
		}
		out = append(out, t)
	}
	return out, errors.Join(failed...)
}

func describePartition(p kadm.PartitionDetail, starts, ends kadm.ListedOffsets) partitionDetails {
	d := partitionDetails{
		Partition: p.Partition, Leader: p.Leader, LeaderEpoch: p.LeaderEpoch, Replicas: p.Replicas, ISR: p.ISR, Offline: p.OfflineReplicas,
	}
	if p.Err != nil {
		d.Error = about("partition", p.Err, "").Error()
	}
	if o, ok := starts.Lookup(p.Topic, p.Partition); ok && o.Err == nil {
		d.Start = &o.Offset
	}
	if o, ok := ends.Lookup(p.Topic, p.Partition); ok && o.Err == nil {
		d.End = &o.Offset
	}
	return d
}

func shownConfigs(c kadm.ResourceConfig, all bool) []configValue {
	out := []configValue{}
	for _, e := range c.Configs {
		if all || e.Source.String() == "DYNAMIC_TOPIC_CONFIG" {
			out = append(out, configValue{Name: e.Key, Value: e.Value, Source: e.Source.String()})
		}
	}
	slices.SortFunc(out, func(a, b configValue) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return out
}

func printTopic(w io.Writer, t topicDescription) error {
	fmt.Fprintf(w, "topic %s  id %s  partitions %d\n", printable(t.Topic), t.ID, len(t.Partitions))
	for _, c := range t.Configs {
		value := "(hidden or null)"
		if c.Value != nil {
			value = printable(*c.Value)
		}
		fmt.Fprintf(w, "  %s=%s\n", c.Name, value)
	}
	columns := []string{"PARTITION", "LEADER", "EPOCH", "REPLICAS", "ISR", "START", "END"}
	return printTable(w, t.Partitions, columns, func(p partitionDetails) []string {
		row := []string{itoa(p.Partition), itoa(p.Leader), itoa(p.LeaderEpoch), numbers(p.Replicas), numbers(p.ISR), offsetText(p.Start), offsetText(p.End)}
		if p.Error != "" {
			row = append(row, p.Error)
		}
		return row
	})
}

func offsetText(offset *int64) string {
	if offset == nil {
		return "-"
	}
	return itoa(*offset)
}
