package cli

import "github.com/spf13/cobra"

func newLog(s Streams) *cobra.Command { return &cobra.Command{Use: "log"} }
