// Package cli is Klamm's command line: one file per command, and the only place that wires the
// packages together.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// Version is the version of the program.
const Version = "0.1.0"

// Exit codes of every command.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// Streams is what a command reads, writes and knows of its surroundings.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// LookupEnv finds environment variables; every flag has one, KLAMM_ and its name.
	LookupEnv func(string) (string, bool)
}

// Main runs the command line on the process's own streams and returns the exit code. The first
// interrupt asks the command to stop, the second one ends the process.
func Main(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return Run(ctx, args, Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, LookupEnv: os.LookupEnv})
}

// Run runs one command and returns its exit code. The end of ctx is an interrupt.
func Run(ctx context.Context, args []string, s Streams) int {
	root := newRoot(s)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	code := exitCode(ctx, err)
	var told *reported
	if err != nil && code != exitInterrupted && !errors.As(err, &told) {
		fmt.Fprintf(s.Err, "klamm: %s\n", strings.TrimRight(err.Error(), "\n"))
	}
	return code
}

func exitCode(ctx context.Context, err error) int {
	var usage *usageError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &usage):
		return exitUsage
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return exitFailed
}

// usageError is a command line that cannot be understood.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

// reported is an error that the person has read already.
type reported struct{ cause error }

func (e *reported) Error() string { return e.cause.Error() }
func (e *reported) Unwrap() error { return e.cause }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

func newRoot(s Streams) *cobra.Command {
	root := newServe(s)
	root.Use = "klamm"
	root.Short = "Kafka-compatible broker, explorer and command line in one program"
	root.Long = "klamm is a Kafka-compatible log server with an explorer for any Kafka cluster.\n" +
		"Without a command it serves: broker on localhost:9092, explorer on http://localhost:8080."
	root.Version = Version
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.AddCommand(newServe(s), newExplore(s), newTopic(s), newProduce(s), newConsume(s), newGroup(s), newCluster(s), newLog(s))
	root.SetHelpCommand(newHelp(root))
	finish(root, s)
	return root
}

// newHelp answers "klamm help topic list" as "klamm topic list --help" does.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Print the help of a command", Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return usagef("there is no command %q; see klamm --help", strings.Join(args, " "))
			}
			c.InitDefaultHelpFlag()
			c.InitDefaultVersionFlag()
			return c.Help()
		},
	}
}

// parser is what the standard library says of itself in front of what is wrong with a number.
var parser = regexp.MustCompile(`strconv\.\w+: parsing "[^"]*": `)

// finish gives every command environment variables for its flags and usage errors of one kind.
func finish(c *cobra.Command, s Streams) {
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usagef("%s; see %s --help", parser.ReplaceAllString(err.Error(), ""), c.CommandPath())
	})
	args := c.Args
	c.Args = func(c *cobra.Command, given []string) error {
		if args == nil {
			args = cobra.NoArgs
		}
		if err := args(c, given); err != nil {
			return usagef("%s; see %s --help", argsMessage(c, given, err), c.CommandPath())
		}
		return nil
	}
	if !c.Runnable() {
		c.RunE = func(c *cobra.Command, _ []string) error {
			return usagef("%s needs a command; see %s --help", c.CommandPath(), c.CommandPath())
		}
	}
	bindEnvironment(c, s.LookupEnv)
	for _, sub := range c.Commands() {
		finish(sub, s)
	}
}

// argsMessage says what is wrong with the arguments, in particular a mistyped command.
func argsMessage(c *cobra.Command, given []string, err error) string {
	if !c.HasSubCommands() || len(given) == 0 {
		return err.Error()
	}
	c.SuggestionsMinimumDistance = 2
	message := fmt.Sprintf("unknown command %q for %s", given[0], c.CommandPath())
	if near := c.SuggestionsFor(given[0]); len(near) > 0 {
		message += "; did you mean " + near[0] + "?"
	}
	return message
}

// exactly is the rule of commands with a fixed number of named arguments.
func exactly(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		return fmt.Errorf("it takes %s, got %d arguments", strings.Join(names, " and "), len(args))
	}
}

// atLeastOne is the rule of commands that take a list.
func atLeastOne(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return nil
		}
		return fmt.Errorf("it takes at least one %s", name)
	}
}
