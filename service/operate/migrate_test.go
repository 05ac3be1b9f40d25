package operate_test

import (
	"log/slog"
	"testing"

	"svc.dev/svc/internal/sqldb/sqldbtest"
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
			if len(done) == 0 || done[0].Room != "runtime" || done[0].To == 0 || (done[0].From == 0) != wantFrom {
				t.Errorf("time %d: %+v", i+1, done)
			}
		}
	})
}
