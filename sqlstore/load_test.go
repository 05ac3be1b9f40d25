package sqlstore_test

import (
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/sqlstore"
)

// TestWhatWaitsAndWhatIsHeldIsTold admits work that nobody has, and then lets a node take half of it.
func TestWhatWaitsAndWhatIsHeldIsTold(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		ctx := t.Context()
		db, s := opened(t, address)
		for _, id := range []string{"one", "two"} {
			in := svc.Stream{Scope: "users/ada/shop", Kind: svc.KindAgent, Name: "central", ID: id}
			if _, err := s.Admit(ctx, svc.Admission{Stream: in, Submission: "sub_" + id, Kind: svc.Direct, Input: []byte("{}")}); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, "the oldest has waited", func() bool {
			l, err := sqlstore.Look(ctx, db)
			if err != nil || l.Waiting != 2 || l.Oldest > time.Minute || len(l.Held) != 0 {
				t.Fatalf("%+v, %v", l, err)
			}
			return l.Oldest >= 5*time.Millisecond
		})
		if _, err := s.Claim(ctx, svc.Owner{Node: "node-a", Boot: "1", Agents: true}, 1); err != nil {
			t.Fatal(err)
		}
		if l, err := sqlstore.Look(ctx, db); err != nil || l.Waiting != 1 || l.Held["node-a"] != 1 {
			t.Errorf("%+v, %v", l, err)
		}
	})
}
