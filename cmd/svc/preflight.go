package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"svc.dev/svc/internal/amount"
	"svc.dev/svc/internal/command"
	"svc.dev/svc/service"
	"svc.dev/svc/service/config"
)

func newPreflight() *cobra.Command {
	cmd := command.New("preflight", "See what an upgrade would break",
		`Rehearse all unfinished runs and conversations in memory, with the definitions of this binary and of --project, and list
what would not go on: a workflow that is gone or asks for other steps than are recorded, an input that it no longer
takes, an agent whose version is not found. Run the new binary's before the upgrade. The database is read and nothing in
it is changed; no step begins, no model and no tool is called. What a workflow does outside of steps it does here too, as
whenever a run is resumed. It exits with 1 if something would not go on.

PostgreSQL may be in use. SQLite belongs to one process: stop it first.`,
		`  svc preflight
  svc preflight --project shop.bundle --json
  svc preflight --database postgres://svc@db.internal/svc`)
	addSettings(cmd, "data", "database", "agents", "project", "log-level", "log-format")
	answer := command.AddJSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := configOf(cmd)
		if err != nil {
			return err
		}
		found, err := service.Preflight(cmd.Context(), c, config.NewLog(cmd.ErrOrStderr(), c))
		if err != nil {
			return err
		}
		if err := answer(found, func(w io.Writer) { printRehearsal(w, found) }); err != nil {
			return err
		}
		if n := len(found.Obstacles); n > 0 {
			return fmt.Errorf("%d of what is unfinished would not go on", n)
		}
		return nil
	}
	return cmd
}

func printRehearsal(w io.Writer, found service.Rehearsal) {
	for _, o := range found.Obstacles {
		at := o.Scope
		if at == "" {
			at = "-"
		}
		fmt.Fprintf(w, "%s %s %s/%s: %s\n", o.Kind, at, o.Name, o.ID, o.Reason)
	}
	fmt.Fprintf(w, "%s and %s are unfinished\n", amount.Of(found.Runs, "run"), amount.Of(found.Conversations, "conversation"))
}
