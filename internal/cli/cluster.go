package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

// clusterDescription is what cluster describe shows.
type clusterDescription struct {
	ClusterID  string       `json:"clusterId"`
	Controller int32        `json:"controller"`
	Brokers    []brokerLine `json:"brokers"`
	Topics     int          `json:"topics"` // internal ones included
	Partitions int          `json:"partitions"`
	Leaderless int          `json:"partitionsWithoutLeader"`
}

type brokerLine struct {
	ID         int32   `json:"id"`
	Host       string  `json:"host"`
	Port       int32   `json:"port"`
	Rack       *string `json:"rack"`
	Controller bool    `json:"controller"`
	Leads      int     `json:"leads"` // partitions it leads
}

func newCluster(s Streams) *cobra.Command {
	c := &cobra.Command{Use: "cluster", Short: "Describe a cluster"}
	c.AddCommand(newClusterDescribe(s))
	return c
}

func newClusterDescribe(s Streams) *cobra.Command {
	var f clientFlags
	var out outputFlag
	c := &cobra.Command{
		Use: "describe", Short: "Show the cluster's id, brokers and controller", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := out.check(); err != nil {
				return err
			}
			cl, err := f.connect(c, s)
			if err != nil {
				return err
			}
			defer cl.Close()
			d, err := cl.describeCluster(c)
			if err != nil {
				return err
			}
			if out.format != "table" {
				return printJSON(s.Out, d, out.format == "json")
			}
			fmt.Fprintf(s.Out, "cluster %s  controller %d  topics %d  partitions %d", d.ClusterID, d.Controller, d.Topics, d.Partitions)
			if d.Leaderless > 0 {
				fmt.Fprintf(s.Out, "  without leader %d", d.Leaderless)
			}
			fmt.Fprintln(s.Out)
			return printTable(s.Out, d.Brokers, []string{"BROKER", "ADDRESS", "RACK", "LEADS", "CONTROLLER"}, func(b brokerLine) []string {
				rack, controller := "-", ""
				if b.Rack != nil {
					rack = *b.Rack
				}
				if b.Controller {
					controller = "yes"
				}
				return []string{itoa(b.ID), b.Host + ":" + itoa(b.Port), rack, itoa(b.Leads), controller}
			})
		},
	}
	f.add(c)
	out.add(c, "table", "json", "jsonl")
	return c
}

func (cl *client) describeCluster(c *cobra.Command) (clusterDescription, error) {
	ctx, cancel := cl.within(c.Context())
	defer cancel()
	m, err := cl.admin.Metadata(ctx)
	if err != nil {
		return clusterDescription{}, cl.explain(c.Context(), err)
	}
	d := clusterDescription{ClusterID: m.Cluster, Controller: m.Controller, Topics: len(m.Topics), Brokers: []brokerLine{}}
	leads := map[int32]int{}
	for _, t := range m.Topics {
		for _, p := range t.Partitions {
			d.Partitions++
			if p.Leader < 0 {
				d.Leaderless++
			}
			leads[p.Leader]++
		}
	}
	for _, b := range m.Brokers {
		d.Brokers = append(d.Brokers, brokerLine{
			ID: b.NodeID, Host: b.Host, Port: b.Port, Rack: b.Rack, Controller: b.NodeID == m.Controller, Leads: leads[b.NodeID],
		})
	}
	return d, nil
}
