package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// variable is the environment variable of a flag.
func variable(flag string) string {
	return "KLAMM_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// bindEnvironment lets every flag of c take its value from the environment when it is not given,
// and says so in the help. Flags that may be repeated take one value per line.
func bindEnvironment(c *cobra.Command, lookup func(string) (string, bool)) {
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" || f.Name == "version" || strings.Contains(f.Usage, "[env ") {
			return
		}
		f.Usage += fmt.Sprintf(" [env %s]", variable(f.Name))
	})
	before := c.PreRunE
	c.PreRunE = func(c *cobra.Command, args []string) error {
		if err := takeEnvironment(c.Flags(), lookup); err != nil {
			return err
		}
		if before != nil {
			return before(c, args)
		}
		return nil
	}
}

func takeEnvironment(flags *pflag.FlagSet, lookup func(string) (string, bool)) error {
	var failed error
	flags.VisitAll(func(f *pflag.Flag) {
		value, ok := lookup(variable(f.Name))
		if failed != nil || f.Changed || !ok || f.Name == "help" || f.Name == "version" {
			return
		}
		values := []string{value}
		if slices.Contains([]string{"stringArray", "stringSlice", "int32Slice"}, f.Value.Type()) {
			values = slices.DeleteFunc(strings.Split(value, "\n"), func(s string) bool { return s == "" })
		}
		for _, v := range values {
			if err := flags.Set(f.Name, v); err != nil {
				failed = usagef("the environment variable %s is wrong: %s", variable(f.Name), parser.ReplaceAllString(err.Error(), ""))
				return
			}
		}
	})
	return failed
}
