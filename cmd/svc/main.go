// Command svc runs the service and what belongs to its operation.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"svc.dev/svc/service"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// usageError is a mistake of whoever typed the command or wrote the configuration.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// errLogged stands for an error that the log has told.
var errLogged = errors.New("told by the log")

func run(args []string, stdout, stderr io.Writer) int {
	ctx, release := untilSignal()
	defer release()
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	if errors.Is(err, errLogged) {
		return exitFailed
	}
	fmt.Fprintf(stderr, "svc: %v\n", err)
	if _, ok := errors.AsType[usageError](err); ok {
		fmt.Fprintf(stderr, "Run '%s --help' for usage.\n", cmd.CommandPath())
		return exitUsage
	}
	return exitFailed
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "svc",
		Short:         "Agents and workflows that survive anything",
		Example:       "  svc serve",
		Version:       shownBuild(service.ThisBuild()),
		Args:          noArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usageError{withMeantFlag(cmd, err)} })
	root.AddCommand(
		newServe(), newGateway(), newRuntime(), newMigrate(), newDoctor(), newOpenAPI(), newVersion(),
		newGroup("keys", "Make keys", newKeysAssertion()),
		newGroup("admin", "Say who administers the service", newAdminCreate(), newAdminGrant()),
		newGroup("audit", "Look at the audit log", newAuditVerify()),
		newGroup("secrets", "Keep the keys of secrets", newSecretsRotate()),
	)
	return root
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !cmd.HasSubCommands() {
		return usageError{fmt.Errorf("%q is not expected after %q", args[0], cmd.CommandPath())}
	}
	name := strings.TrimPrefix(cmd.CommandPath()+" "+args[0], cmd.Root().Name()+" ")
	return usageError{fmt.Errorf("there is no command %q%s", name, meant(args[0], commands(cmd)))}
}

func commands(cmd *cobra.Command) (all []string) {
	for _, below := range cmd.Commands() {
		all = append(all, below.Name())
	}
	return all
}

// doubled is how soon a signal comes again that a terminal and a wrapper both passed on.
const doubled = 50 * time.Millisecond

// untilSignal gives a context that ends with the first SIGINT or SIGTERM; the second ends the process at once.
func untilSignal() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		var first time.Time
		for range signals {
			if ctx.Err() == nil {
				first = time.Now()
				cancel()
			} else if time.Since(first) > doubled {
				os.Exit(exitFailed)
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		cancel()
	}
}

// newCommand is a command that takes no arguments.
func newCommand(use, short, long, example string) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Long: long, Example: example, Args: noArgs}
}

// addJSON adds the flag that asks for an answer for machines, and returns how the command answers: with a value, or in words.
func addJSON(cmd *cobra.Command) func(v any, say func(io.Writer)) error {
	asked := cmd.Flags().Bool("json", false, "answer in JSON")
	return func(v any, say func(io.Writer)) error {
		if !*asked {
			var words bytes.Buffer
			say(&words)
			_, err := words.WriteTo(cmd.OutOrStdout())
			return err
		}
		enc := json.NewEncoder(cmd.OutOrStdout())
		enc.SetIndent("", "  ")
		return enc.Encode(v)
	}
}
