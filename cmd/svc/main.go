// Command svc runs the service and what belongs to its operation.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"svc.dev/svc/internal/build"
	"svc.dev/svc/internal/cli"
	"svc.dev/svc/internal/command"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// errLogged stands for an error that the log has told.
var errLogged = errors.New("told by the log")

func run(args []string, stdout, stderr io.Writer) int {
	ctx, release := untilSignal()
	defer release()
	return command.Run(ctx, newRoot(), args, stdout, stderr, func(err error) string {
		if errors.Is(err, errLogged) {
			return ""
		}
		return cli.Said(err)
	})
}

// groups are the two kinds of commands, as help shows them.
const (
	people    = "people"
	operators = "operators"
)

func newRoot() *cobra.Command {
	root := command.Root(&cobra.Command{
		Use:     "svc",
		Short:   "Agents and workflows that survive anything",
		Example: "  svc serve\n  svc login\n  svc chat",
		Version: build.This().String(),
		Args:    command.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	})
	root.SetVersionTemplate("{{.Version}}\n")
	root.AddGroup(&cobra.Group{ID: people, Title: "For those who use a service:"}, &cobra.Group{ID: operators, Title: "For those who run one:"})
	root.CompletionOptions.DisableDefaultCmd = true // cli has one that says how it is used
	root.SetHelpCommandGroupID(people)
	add(root, people, cli.Commands(build.This().Version)...)
	add(root, operators,
		newServe(), newGateway(), newRuntime(), newMigrate(), newPreflight(), newDoctor(), newReady(), newBackup(), newRestore(), newExport(), newImport(), newInit(), newDev(), newCheck(), newBundle(), newOpenAPI(), newVersion(),
		command.Group("keys", "Make keys", newKeysAssertion()),
		command.Group("admin", "Say who administers the service", newAdminCreate(), newAdminGrant()),
		command.Group("audit", "Look at the audit log", newAuditVerify()),
		command.Group("secrets", "Keep the keys of secrets", newSecretsRotate()),
	)
	return root
}

func add(root *cobra.Command, group string, all ...*cobra.Command) {
	for _, cmd := range all {
		cmd.GroupID = group
		root.AddCommand(cmd)
	}
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
				os.Exit(command.Failed)
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		cancel()
	}
}
