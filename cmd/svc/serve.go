package main

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"svc.dev/svc/service"
)

func newServe() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the service",
		Long: `Run the service: the public address, the operations address and the workers, in one process.

Without any configuration it makes a data folder with a SQLite database and listens on loopback. The first SIGINT or
SIGTERM stops it gracefully, a second one at once.

A flag goes before the environment, that before the file, and that before the default. The file is TOML, and a key that
is not known is an error. Durations are written 30s, 15m or 14d.

` + settingsTable(),
		Example: `  svc serve
  svc serve --listen 0.0.0.0:8080 --database postgres://svc@db.internal/svc`,
		Args: noArgs,
		RunE: serve,
	}
	addSettings(cmd)
	return cmd
}

func serve(cmd *cobra.Command, _ []string) error {
	c, err := configOf(cmd)
	if err != nil {
		return err
	}
	log := service.NewLog(cmd.ErrOrStderr(), c)
	err = service.Serve(cmd.Context(), c, log, func(s service.Serving) { announce(cmd.OutOrStdout(), log, s) })
	if err != nil && !service.IsTerminal(cmd.ErrOrStderr()) {
		log.Error("serve", "error", err)
		return errLogged
	}
	return err
}

// announce tells a person on a terminal, or else the log, where the service is found.
func announce(w io.Writer, log *slog.Logger, s service.Serving) {
	build := service.ThisBuild()
	if !service.IsTerminal(w) {
		log.Info("serving", "address", s.Address, "operations", s.Operations, "mode", s.Mode,
			"data", s.Data, "database", s.Database, "version", build.Version)
		return
	}
	fmt.Fprintf(w, `svc %s serves in %s mode. Stop it with Ctrl-C.

  address     %s
  operations  %s
  data        %s
  database    %s

`, build.Version, s.Mode, s.Address, s.Operations, s.Data, s.Database)
}
