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

	"svc.dev/svc/internal/build"
	"svc.dev/svc/internal/command"
	"svc.dev/svc/service"
	"svc.dev/svc/service/config"
)

func newServe() *cobra.Command {
	return newPart(config.Whole, "Run the service",
		`Run the service: the public address, the operations address and the workers, in one process.

Without any configuration it makes a data folder with a SQLite database and a key ring, listens on loopback, and prints a
link by which the first administrator comes in. The first SIGINT or SIGTERM stops it gracefully, a second one at once;
SIGHUP makes it read its key ring again.

It runs in development while its three addresses are http on loopback or *.localhost. Anything else is production, which
needs https and a cookie_domain that all three lie below.

A flag goes before the environment, that before the file, and that before the default. The file is TOML, and a key that
is not known is an error; a variable SVC_… that is not known is told in the log. Durations are written 30s, 15m or 14d, sizes
64KiB, 64MiB or 1GiB, lists with commas. A secret may also be given as a file, whose name stands in its variable with _FILE
appended:

`+secretFiles()+"\n"+settingsTable(),
		`  svc serve
  svc serve --listen 0.0.0.0:8080 --database postgres://svc@db.internal/svc`)
}

func newGateway() *cobra.Command {
	return newPart(config.GatewayAlone, "Run the public half of the service",
		`Run the public half of the service: accounts, pages and the API, and the way to a runtime in another process. It works on
nothing itself. Gateway and runtime share a PostgreSQL database and a configuration, which svc serve --help prints; each
has a data folder and an operations address of its own. Both need runtime.token and runtime.admin_token, and the gateway
also runtime.url and runtime.assertion_key.

While it stops, what is new is refused with 503, and open streams end spread over ten seconds: a client resumes where it
was, at this gateway or another.`,
		`  svc gateway --database postgres://svc@db.internal/svc \
    --runtime-url http://10.0.0.2:8081
  svc gateway --config /etc/svc/svc.toml --data /var/lib/svc/gateway`,
		"data", "database", "listen", "ops-listen", "admin-socket", "runtime-url", "log-level", "log-format")
}

func newRuntime() *cobra.Command {
	return newPart(config.RuntimeAlone, "Run the private half of the service",
		`Run the private half of the service: the workers, and the API that a gateway in another process asks. It believes its
gateway alone, and does not start without runtime.token, runtime.admin_token and runtime.assertion_public. Let only the
gateway reach its address: loopback, a socket (unix:PATH) or a private network.

To change a token without a refused request: give the runtime the new one as runtime.token_previous and send it SIGHUP, give
the gateway the new one as runtime.token and send it SIGHUP, and then let the runtime have the new one alone. The pair of
svc keys assertion changes the same way: the runtime knows two public keys for a while. Both read svc.toml and the files of
*_FILE variables again; what is wrong in them is logged, and the old tokens stay in use.`,
		`  svc runtime --database postgres://svc@db.internal/svc \
    --runtime-listen 10.0.0.2:8081
  svc runtime --config /etc/svc/svc.toml --data /var/lib/svc/runtime \
    --runtime-listen unix:/run/svc/runtime.sock`,
		"data", "database", "ops-listen", "runtime-listen", "workers", "project", "log-level", "log-format")
}

// newPart is the command that runs the service, or a part of it. It has the flags of the settings named, or of all.
func newPart(p config.Part, short, long, example string, settings ...string) *cobra.Command {
	cmd := command.New(p.Name, short, long, example)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return serve(cmd, p) }
	addSettings(cmd, settings...)
	return cmd
}

// serve runs the service, or a part of it.
func serve(cmd *cobra.Command, p config.Part) error {
	c, err := configOf(cmd)
	if err != nil {
		return err
	}
	if err := p.Check(c); err != nil {
		return command.Usage(err)
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
	version := build.This().Version
	if !config.IsTerminal(w) {
		said := []any{"address", s.Address, "operations", s.Operations, "mode", s.Mode, "platform", s.Platform, "agents", s.Agents,
			"admin", s.Admin, "data", s.Data, "database", s.Database, "version", version, "part", s.Part}
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

`, s.Part, version, s.Mode, s.Platform, s.Agents, s.Admin, s.Address, s.Operations, s.Data, s.Database)
	switch {
	case strings.Contains(s.SetupLink, "#"):
		fmt.Fprintf(w, "There is no administrator yet. Whoever opens this link within 24 hours becomes one:\n\n  %s\n\n", s.SetupLink)
	case s.SetupLink != "":
		fmt.Fprintf(w, "There is no administrator yet. Whoever has the set-up token becomes one within 24 hours:\n\n  %s\n\n", s.SetupLink)
	}
}
