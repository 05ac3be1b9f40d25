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
database that a newer svc has written is refused and left as it is. svc serve does the same when it starts.`,
		`  svc migrate
  svc migrate --database postgres://svc@db.internal/svc --json`)
	addSettings(cmd, "data", "database", "log-level", "log-format")
	answer := command.AddJSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := configOf(cmd)
		if err != nil {
			return err
		}
		done, err := operate.Migrate(cmd.Context(), c.WithDefaults().DatabaseConfig(), config.NewLog(cmd.ErrOrStderr(), c))
		if err != nil {
			return err
		}
		return answer(map[string]any{"rooms": done}, func(w io.Writer) { printMigrated(w, done) })
	}
	return cmd
}

func printMigrated(w io.Writer, done []operate.Migrated) {
	for _, m := range done {
		if m.From == m.To {
			fmt.Fprintf(w, "%s: at version %d, nothing to do\n", m.Room, m.To)
			continue
		}
		fmt.Fprintf(w, "%s: from version %d to %d\n", m.Room, m.From, m.To)
	}
}
