package operate_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/database"
	"svc.dev/svc/service/operate"
	"svc.dev/svc/service/servicetest"
)

func TestMigrateSaysWhatItDid(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		c := servicetest.Config(t)
		c.Database = address
		for i, wantFrom := range []bool{true, false} {
			done, err := operate.Migrate(t.Context(), c.WithDefaults().DatabaseConfig(), slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			if first := done.Rooms[0]; first.Room != "runtime" || first.To == 0 || (first.From == 0) != wantFrom {
				t.Errorf("time %d: %+v", i+1, done)
			}
		}
	})
}

// TestAPlanSaysWhatAMigrationWouldDo looks at no database, at one that is behind, at one that is not, and at one that is newer.
func TestAPlanSaysWhatAMigrationWouldDo(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		c := servicetest.Config(t)
		c.Database = address
		where, log := c.WithDefaults().DatabaseConfig(), slog.New(slog.DiscardHandler)
		left := func() (n int, p operate.MigrationPlan) {
			t.Helper()
			p, err := operate.PlanMigration(t.Context(), where, log)
			if err != nil {
				t.Fatal(err)
			}
			for _, room := range p.Rooms {
				n += len(room.Migrations)
			}
			return n, p
		}
		all, _ := left()
		if again, p := left(); all < len(database.Rooms) || again != all || p.Rooms[0].From != 0 {
			t.Fatalf("of no database %d, then %d: %+v", all, again, p)
		}
		if _, err := operate.Migrate(t.Context(), where, log); err != nil {
			t.Fatal(err)
		}
		if n, _ := left(); n != 0 {
			t.Errorf("after the migration %d are left", n)
		}
		change(t, address, "DELETE FROM offer_schema WHERE version_id > 0")
		if n, p := left(); n != 1 || p.Beside != database.IsPostgres(address) {
			t.Errorf("of one room that is new: %d left, beside %t", n, p.Beside)
		}
		change(t, address, "DELETE FROM runtime_schema WHERE version_id > 5")
		if n, p := left(); n != 2 || p.Beside || !p.Rooms[0].Contracts() || p.Rooms[0].From != 5 || p.Rooms[0].To != 6 {
			t.Errorf("with one that contracts: %d left, %+v", n, p.Rooms[0])
		}
		change(t, address, "INSERT INTO runtime_schema (version_id, is_applied) VALUES (99, TRUE)")
		_, err := operate.PlanMigration(t.Context(), where, log)
		if newer, ok := errors.AsType[*sqldb.NewerError](err); !ok || newer.Room != "runtime" || newer.Database != 99 {
			t.Errorf("of a newer one: %v", err)
		}
		if _, err := operate.Migrate(t.Context(), where, log); err == nil || !strings.Contains(err.Error(), "run the newer binary, or go back with a backup from before it") {
			t.Errorf("a newer one is migrated: %v", err)
		}
	})
}
