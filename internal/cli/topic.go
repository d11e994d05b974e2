package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"klamm/internal/kafkarecord"
)

func newTopic(s Streams) *cobra.Command {
	c := &cobra.Command{Use: "topic", Short: "List, describe, create, alter and delete topics"}
	c.AddCommand(newTopicList(s), newTopicDescribe(s), newTopicCreate(s), newTopicAlter(s), newTopicDelete(s))
	return c
}

// topicLine is a topic in a list.
type topicLine struct {
	Topic             string `json:"topic"`
	ID                string `json:"id"`
	Partitions        int    `json:"partitions"`
	ReplicationFactor int    `json:"replicationFactor"`
	Internal          bool   `json:"internal"`
}

func newTopicList(s Streams) *cobra.Command {
	var f clientFlags
	var out outputFlag
	var internal bool
	c := &cobra.Command{
		Use: "list", Short: "List topics", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := out.check(); err != nil {
				return err
			}
			cl, err := f.connect(c, s)
			if err != nil {
				return err
			}
			defer cl.Close()
			lines, err := cl.topicLines(c.Context(), internal)
			if err != nil {
				return err
			}
			if out.format == "plain" {
				return list(s.Out, out.format, lines, nil, func(t topicLine) []string { return []string{t.Topic} })
			}
			return list(s.Out, out.format, lines, []string{"TOPIC", "PARTITIONS", "REPLICAS"}, func(t topicLine) []string {
				return []string{t.Topic, itoa(t.Partitions), itoa(t.ReplicationFactor)}
			})
		},
	}
	f.add(c)
	out.add(c, "table", "json", "jsonl", "plain")
	c.Flags().BoolVar(&internal, "internal", false, "list internal topics too (default false)")
	return c
}

func (cl *client) topicLines(ctx context.Context, internal bool) ([]topicLine, error) {
	bounded, cancel := cl.within(ctx)
	defer cancel()
	topics, err := cl.admin.ListTopicsWithInternal(bounded)
	if err != nil {
		return nil, cl.explain(ctx, err)
	}
	var lines []topicLine
	for _, t := range topics.Sorted() {
		if t.IsInternal && !internal {
			continue
		}
		l := topicLine{Topic: t.Topic, ID: kafkarecord.FormatUUID(t.ID), Partitions: len(t.Partitions), Internal: t.IsInternal}
		for _, p := range t.Partitions {
			l.ReplicationFactor = max(l.ReplicationFactor, len(p.Replicas))
		}
		lines = append(lines, l)
	}
	return lines, nil
}

type createFlags struct {
	clientFlags
	partitions, replicas      int32
	config                    []string
	ifNotExists, validateOnly bool
}

func newTopicCreate(s Streams) *cobra.Command {
	var f createFlags
	c := &cobra.Command{
		Use: "create TOPIC...", Short: "Create topics", Args: atLeastOne("topic"),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, s, args) },
	}
	f.add(c)
	flags := c.Flags()
	flags.Int32VarP(&f.partitions, "partitions", "p", -1, "number of partitions; -1 leaves it to the broker (num.partitions)")
	flags.Int32VarP(&f.replicas, "replication-factor", "r", -1, "replicas of each partition; -1 leaves it to the broker (default.replication.factor)")
	flags.StringArrayVar(&f.config, "topic-config", nil, "`key=value`: a topic property; repeatable (default none)")
	flags.BoolVar(&f.ifNotExists, "if-not-exists", false, "succeed when a topic is there already (default false)")
	flags.BoolVar(&f.validateOnly, "validate-only", false, "only check, create nothing (default false)")
	return c
}

func (f createFlags) run(c *cobra.Command, s Streams, topics []string) error {
	configs := map[string]*string{}
	given, err := keyValues("--topic-config", f.config)
	if err != nil {
		return err
	}
	for name, value := range given {
		configs[name] = &value
	}
	cl, err := f.connect(c, s)
	if err != nil {
		return err
	}
	defer cl.Close()
	create := cl.admin.CreateTopics
	if f.validateOnly {
		create = cl.admin.ValidateCreateTopics
	}
	ctx, cancel := cl.within(c.Context())
	defer cancel()
	responses, err := create(ctx, f.partitions, int16(f.replicas), configs, topics...)
	if err != nil {
		return cl.explain(c.Context(), err)
	}
	var failed []error
	for _, topic := range topics {
		r := responses[topic]
		switch {
		case r.Err == nil && f.validateOnly:
			fmt.Fprintf(s.Out, "topic %s could be created\n", printable(topic))
		case r.Err == nil:
			fmt.Fprintf(s.Out, "created topic %s with %s\n", printable(topic), counted(r.NumPartitions, "partition"))
		case f.ifNotExists && errors.Is(r.Err, kerr.TopicAlreadyExists):
			fmt.Fprintf(s.Out, "topic %s exists already\n", printable(topic))
		default:
			failed = append(failed, about("topic "+printable(topic), r.Err, r.ErrMessage))
		}
	}
	return errors.Join(failed...)
}

type alterFlags struct {
	clientFlags
	partitions                    int
	set, remove, append_, takeOut []string
}

func newTopicAlter(s Streams) *cobra.Command {
	var f alterFlags
	c := &cobra.Command{
		Use: "alter TOPIC", Short: "Add partitions, change properties", Args: exactly("one topic"),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, s, args[0]) },
	}
	f.add(c)
	flags := c.Flags()
	flags.IntVarP(&f.partitions, "partitions", "p", 0, "new number of partitions; it can only grow (default unchanged)")
	flags.StringArrayVar(&f.set, "topic-config", nil, "`key=value`: set a topic property; repeatable (default none)")
	flags.StringArrayVar(&f.remove, "delete-config", nil, "`key`: give a topic property its default back; repeatable (default none)")
	flags.StringArrayVar(&f.append_, "append-config", nil, "`key=value`: add to a list property; repeatable (default none)")
	flags.StringArrayVar(&f.takeOut, "subtract-config", nil, "`key=value`: take out of a list property; repeatable (default none)")
	return c
}

func (f alterFlags) run(c *cobra.Command, s Streams, topic string) error {
	changes, err := f.changes()
	if err != nil {
		return err
	}
	if len(changes) == 0 && f.partitions == 0 {
		return usagef("nothing to alter: give --partitions, --topic-config, --delete-config, --append-config or --subtract-config")
	}
	cl, err := f.connect(c, s)
	if err != nil {
		return err
	}
	defer cl.Close()
	ctx, cancel := cl.within(c.Context())
	defer cancel()
	if len(changes) > 0 {
		responses, err := cl.admin.AlterTopicConfigs(ctx, changes, topic)
		if err != nil {
			return cl.explain(c.Context(), err)
		}
		for _, r := range responses {
			if r.Err != nil {
				return about("topic "+printable(topic), r.Err, r.ErrMessage)
			}
		}
		fmt.Fprintf(s.Out, "changed the properties of topic %s\n", printable(topic))
	}
	if f.partitions == 0 {
		return nil
	}
	responses, err := cl.admin.UpdatePartitions(ctx, f.partitions, topic)
	if err != nil {
		return cl.explain(c.Context(), err)
	}
	if r := responses[topic]; r.Err != nil {
		return about("topic "+printable(topic), r.Err, r.ErrMessage)
	}
	fmt.Fprintf(s.Out, "topic %s has %d partitions now\n", printable(topic), f.partitions)
	return nil
}

func (f alterFlags) changes() ([]kadm.AlterConfig, error) {
	var out []kadm.AlterConfig
	for _, group := range []struct {
		flag  string
		items []string
		op    kadm.IncrementalOp
	}{
		{"--topic-config", f.set, kadm.SetConfig},
		{"--append-config", f.append_, kadm.AppendConfig},
		{"--subtract-config", f.takeOut, kadm.SubtractConfig},
	} {
		given, err := keyValues(group.flag, group.items)
		if err != nil {
			return nil, err
		}
		for name, value := range given {
			out = append(out, kadm.AlterConfig{Op: group.op, Name: name, Value: &value})
		}
	}
	for _, name := range f.remove {
		out = append(out, kadm.AlterConfig{Op: kadm.DeleteConfig, Name: name})
	}
	slices.SortFunc(out, func(a, b kadm.AlterConfig) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

func newTopicDelete(s Streams) *cobra.Command {
	var f clientFlags
	var ifExists bool
	c := &cobra.Command{
		Use: "delete TOPIC...", Short: "Delete topics with all their records", Args: atLeastOne("topic"),
		RunE: func(c *cobra.Command, topics []string) error {
			cl, err := f.connect(c, s)
			if err != nil {
				return err
			}
			defer cl.Close()
			ctx, cancel := cl.within(c.Context())
			defer cancel()
			responses, err := cl.admin.DeleteTopics(ctx, topics...)
			if err != nil {
				return cl.explain(c.Context(), err)
			}
			var failed []error
			for _, topic := range topics {
				r := responses[topic]
				switch {
				case r.Err == nil:
					fmt.Fprintf(s.Out, "deleted topic %s\n", printable(topic))
				case ifExists && errors.Is(r.Err, kerr.UnknownTopicOrPartition):
					fmt.Fprintf(s.Out, "topic %s does not exist\n", printable(topic))
				default:
					failed = append(failed, about("topic "+printable(topic), r.Err, r.ErrMessage))
				}
			}
			return errors.Join(failed...)
		},
	}
	f.add(c)
	c.Flags().BoolVar(&ifExists, "if-exists", false, "succeed when a topic is not there (default false)")
	return c
}
