package cli

import "github.com/spf13/cobra"

func newTopic(s Streams) *cobra.Command   { return &cobra.Command{Use: "topic"} }
func newProduce(s Streams) *cobra.Command { return &cobra.Command{Use: "produce"} }
func newConsume(s Streams) *cobra.Command { return &cobra.Command{Use: "consume"} }
func newGroup(s Streams) *cobra.Command   { return &cobra.Command{Use: "group"} }
func newCluster(s Streams) *cobra.Command { return &cobra.Command{Use: "cluster"} }
func newLog(s Streams) *cobra.Command     { return &cobra.Command{Use: "log"} }
