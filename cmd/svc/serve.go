package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"svc.dev/svc/service"
	"svc.dev/svc/service/config"
)

func newServe() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the service",
		Long: `Run the service: the public address, the operations address and the workers, in one process.

Without any configuration it makes a data folder with a SQLite database and a key ring, listens on loopback, and prints a
link by which the first administrator comes in. The first SIGINT or SIGTERM stops it gracefully, a second one at once;
SIGHUP makes it read its key ring again.

It runs in development while its three addresses are http on loopback or *.localhost. Anything else is production, which
needs https and a cookie_domain that all three lie below.

A flag goes before the environment, that before the file, and that before the default. The file is TOML, and a key that
is not known is an error; a variable SVC_… that is not known is told in the log. Durations are written 30s, 15m or 14d, sizes
64KiB, 64MiB or 1GiB, lists with commas. A secret may also be given as a file, whose name stands in its variable with _FILE
appended:

` + secretFiles() + "\n" + settingsTable(),
		Example: `  svc serve
  svc serve --listen 0.0.0.0:8080 --database postgres://svc@db.internal/svc`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd, config.Whole) },
	}
	addSettings(cmd)
	return cmd
}

// serve runs the service, or a part of it.
func serve(cmd *cobra.Command, p config.Part) error {
	c, err := configOf(cmd)
	if err != nil {
		return err
	}
	if err := p.Check(c); err != nil {
		return usageError{err}
	}
	ctx, reload, release := untilHangup(cmd.Context(), cmd.OutOrStdout())
	defer release()
	log := config.NewLog(cmd.ErrOrStderr(), c)
	for _, text := range unknownVariables(os.Environ()) {
		log.Warn("environment: " + text)
	}
	err = service.Serve(ctx, p, c, log, service.Caller{
		Announce: func(s service.Serving) { announce(cmd.OutOrStdout(), log, s) }, Reload: reload,
		Configure: func() (config.Config, error) { return configOf(cmd) },
	})
	if err != nil && !config.IsTerminal(cmd.ErrOrStderr()) {
		log.Error(cmd.Name(), "error", err)
		return errLogged
	}
	return err
}

// untilHangup passes SIGHUP on, but for that of a terminal which was closed: that one ends the context.
func untilHangup(ctx context.Context, w io.Writer) (context.Context, <-chan os.Signal, func()) {
	ctx, cancel := context.WithCancel(ctx)
	watched := config.IsTerminal(w)
	signals, reload := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	go func() {
		for s := range signals {
			if watched && !config.IsTerminal(w) {
				cancel()
				continue
			}
			select {
			case reload <- s:
			default: // one is waiting already
			}
		}
	}()
	return ctx, reload, func() {
		signal.Stop(signals)
		close(signals)
		cancel()
	}
}

// announce tells a person on a terminal, or else the log, where the service is found. The link of the first administrator
// is the one token that a log may hold.
func announce(w io.Writer, log *slog.Logger, s service.Serving) {
	build := service.ThisBuild()
	if !config.IsTerminal(w) {
		said := []any{"address", s.Address, "operations", s.Operations, "mode", s.Mode, "platform", s.Platform, "agents", s.Agents,
			"admin", s.Admin, "data", s.Data, "database", s.Database, "version", build.Version, "part", s.Part}
		if s.SetupLink != "" {
			said = append(said, "setup_link", s.SetupLink)
		}
		log.Info("serving", said...)
		return
	}
	fmt.Fprintf(w, `svc %s %s serves in %s mode. Stop it with Ctrl-C.

  platform    %s
  agents      %s
  admin       %s
  listens on  %s
  operations  %s
  data        %s
  database    %s

`, s.Part, build.Version, s.Mode, s.Platform, s.Agents, s.Admin, s.Address, s.Operations, s.Data, s.Database)
	switch {
	case strings.Contains(s.SetupLink, "#"):
		fmt.Fprintf(w, "There is no administrator yet. Whoever opens this link within 24 hours becomes one:\n\n  %s\n\n", s.SetupLink)
	case s.SetupLink != "":
		fmt.Fprintf(w, "There is no administrator yet. Whoever has the set-up token becomes one within 24 hours:\n\n  %s\n\n", s.SetupLink)
	}
}
