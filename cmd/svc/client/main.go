// Command client is svc where no service runs: for those who use one. Windows gets it, because files there keep none of the promises
// that a service makes with them.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"svc.dev/svc/internal/build"
	"svc.dev/svc/internal/cli"
	"svc.dev/svc/internal/command"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	ctx, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer release()
	return command.Run(ctx, newRoot(), args, stdout, stderr, cli.Said)
}

func newRoot() *cobra.Command {
	root := command.Root(&cobra.Command{
		Use:     "svc",
		Short:   "Use a service of agents and workflows; run one on Linux or macOS",
		Example: "  svc login\n  svc chat",
		Version: build.This().String(),
		Args:    command.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	})
	root.SetVersionTemplate("{{.Version}}\n")
	root.CompletionOptions.DisableDefaultCmd = true // cli has one that says how it is used
	root.AddCommand(cli.Commands(build.This().Version)...)
	return root
}
