package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"svc.dev/svc/internal/command"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/operate"
)

func newMigrate() *cobra.Command {
	cmd := command.New("migrate", "Bring the database to this version",
		`Bring the tables of the database to the version of this binary, and say what was done. Migrations go forward only; a
database that a newer svc has written is refused and left as it is. svc serve does the same when it starts.

With --plan nothing is changed: it shows what would be done to each room, and whether processes of the version before
may go on beside it, as in a rolling update. SQLite belongs to one process: stop it first.`,
		`  svc migrate
  svc migrate --plan
  svc migrate --database postgres://svc@db.internal/svc --json`)
	addSettings(cmd, "data", "database", "log-level", "log-format")
	plan := cmd.Flags().Bool("plan", false, "show what would be done, and change nothing")
	answer := command.AddJSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := configOf(cmd)
		if err != nil {
			return err
		}
		where, log := c.WithDefaults().DatabaseConfig(), config.NewLog(cmd.ErrOrStderr(), c)
		if *plan {
			p, err := operate.PlanMigration(cmd.Context(), where, log)
			if err != nil {
				return err
			}
			return answer(p, func(w io.Writer) { printPlan(w, p) })
		}
		done, err := operate.Migrate(cmd.Context(), where, log)
		if err != nil {
			return err
		}
		return answer(done, func(w io.Writer) { printMigrated(w, done) })
	}
	return cmd
}

func printMigrated(w io.Writer, done operate.Migration) {
	behind := false
	for _, m := range done.Rooms {
		if m.From == m.To {
			fmt.Fprintf(w, "%s: at version %d, nothing to do\n", m.Room, m.To)
			continue
		}
		behind = true
		fmt.Fprintf(w, "%s: from version %d to %d\n", m.Room, m.From, m.To)
	}
	if behind {
		fmt.Fprintf(w, "done in %d ms\n", done.DurationMs)
	}
}

func printPlan(w io.Writer, p operate.MigrationPlan) {
	behind := false
	for _, room := range p.Rooms {
		if len(room.Migrations) == 0 {
			fmt.Fprintf(w, "%s: at version %d, nothing to do\n", room.Room, room.To)
			continue
		}
		behind = true
		fmt.Fprintf(w, "%s: from version %d to %d\n", room.Room, room.From, room.To)
		for _, m := range room.Migrations {
			does := "expands"
			if m.Contracts {
				does = "contracts: the version before cannot go on beside it"
			}
			fmt.Fprintf(w, "  %d %s: %s\n", m.Version, m.Name, does)
		}
	}
	switch {
	case !behind:
	case p.Beside:
		fmt.Fprintln(w, "processes of the version before may go on beside it")
	default:
		fmt.Fprintln(w, "stop processes of the version before first")
	}
}
