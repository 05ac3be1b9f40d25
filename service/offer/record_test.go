package offer

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/scope"
)

var ada = scope.Claims{Scope: "users/ada/personal", Key: "key_1", ActorID: "acc_1"}

// books are the calls on each database, at a time that stands still.
func books(t *testing.T, fn func(t *testing.T, o *Offer, now *time.Time)) {
	t.Helper()
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		db, err := sqldb.Open(t.Context(), address, sqldb.Options{Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		if err := db.Migrate(t.Context(), Migrations); err != nil {
			t.Fatal(err)
		}
		now := time.UnixMilli(1_700_000_000_000)
		fn(t, &Offer{Config: Config{DB: db, Now: func() time.Time { return now }}}, &now)
	})
}

// begin writes a call down as one that was admitted.
func begin(t *testing.T, o *Offer, c scope.Claims, session, request, id string) {
	t.Helper()
	r, err := o.announce(t.Context(), c, &received{session: session, id: request}, task{kind: svc.KindAgent, name: "central", instance: "x"})
	if err != nil {
		t.Fatal(err)
	}
	r.id, r.start = id, 7
	if cancelled, err := o.admitted(t.Context(), c, r); cancelled || err != nil {
		t.Fatalf("admitted: %t, %v", cancelled, err)
	}
}

func TestACancellationMeansOneRequest(t *testing.T) {
	books(t, func(t *testing.T, o *Offer, now *time.Time) {
		other, stranger := ada, ada
		other.Key, stranger.Scope = "key_2", "users/eve/personal"
		begin(t, o, ada, "", "1", "lone")
		begin(t, o, ada, "", "2", "twice")
		begin(t, o, other, "", "1", "another key's")
		begin(t, o, stranger, "", "1", "another workspace's")
		begin(t, o, ada, "s", "1", "in a session")
		*now = now.Add(time.Millisecond)
		begin(t, o, ada, "", "2", "twice again")
		begin(t, o, ada, "s", "2", "replayed")
		*now = now.Add(time.Millisecond)
		begin(t, o, ada, "s", "2", "replayed later")
		for _, one := range []struct {
			claims           scope.Claims
			session, request string
			want             string // empty: none
		}{
			{ada, "", "1", "lone"}, {ada, "", "1", "lone"}, {ada, "", "2", ""}, {ada, "", `"1"`, ""}, {ada, "", "3", ""},
			{ada, "s", "1", "in a session"}, {ada, "s", "2", "replayed later"}, {ada, "t", "1", ""}, {other, "s", "1", ""}, {other, "", "1", "another key's"},
		} {
			got, known, err := o.mark(t.Context(), one.claims, &received{session: one.session}, one.request)
			if err != nil || got.id != one.want || known != (one.want != "") {
				t.Errorf("%s %q %s: %+v, %t, %v", one.claims.Key, one.session, one.request, got, known, err)
			}
		}
		*now = now.Add(2 * time.Hour)
		if got, known, err := o.mark(t.Context(), ada, &received{session: "s"}, "1"); known || err != nil {
			t.Errorf("after hours: %+v, %v", got, err)
		}
	})
}

// TestACancellationThatOvertakesTheAdmissionIsHeard cancels between the announcement of a call and the id of its work.
func TestACancellationThatOvertakesTheAdmissionIsHeard(t *testing.T) {
	books(t, func(t *testing.T, o *Offer, _ *time.Time) {
		m := &received{session: "s", id: "1"}
		r, err := o.announce(t.Context(), ada, m, task{kind: svc.KindRun, name: "quick"})
		if err != nil {
			t.Fatal(err)
		}
		if _, known, err := o.mark(t.Context(), ada, m, "1"); known || err != nil {
			t.Errorf("before there is work: %t, %v", known, err)
		}
		r.id = "run_1"
		if cancelled, err := o.admitted(t.Context(), ada, r); !cancelled || err != nil {
			t.Errorf("admitted: %t, %v", cancelled, err)
		}
	})
}

func TestCallsAreFoundInTheirWorkspaceUntilTheyAreForgotten(t *testing.T) {
	books(t, func(t *testing.T, o *Offer, now *time.Time) {
		begin(t, o, ada, "", "1", "old")
		*now = now.Add(time.Hour)
		begin(t, o, ada, "", "2", "new")
		eve := ada
		eve.Scope = "users/eve/personal"
		begin(t, o, eve, "", "1", "eve's")
		look := func() (found string) {
			for _, id := range []string{"old", "new", "eve's"} {
				if got, known, err := o.found(t.Context(), ada.Scope, id); err != nil {
					t.Fatal(err)
				} else if known && got.id == id && got.start == 7 && got.instance == "x" && got.kind == svc.KindAgent {
					found += id + " "
				}
			}
			return strings.TrimSpace(found)
		}
		if got := look(); got != "old new" {
			t.Errorf("found %q", got)
		}
		if n, err := Sweep(t.Context(), o.DB, now.Add(Life-time.Minute)); n != 1 || err != nil {
			t.Errorf("swept %d, %v", n, err)
		}
		if got := look(); got != "new" {
			t.Errorf("after a sweep: %q", got)
		}
		if err := Erase(t.Context(), o.DB, ada.Scope); err != nil {
			t.Error(err)
		}
		if _, known, _ := o.found(t.Context(), eve.Scope, "eve's"); look() != "" || !known {
			t.Error("one workspace is not erased, or another is")
		}
	})
}

func TestEveryToolHasANameThatModelsTake(t *testing.T) {
	seen := map[string]string{}
	for _, name := range []string{"central", strings.Repeat("a", 60), strings.Repeat("a", 61), strings.Repeat("a", 61) + "b", strings.Repeat("a", 64), "a.b", "a/b", "ä", ""} {
		for _, prefix := range []string{askPrefix, runPrefix} {
			tool := toolName(prefix, name)
			if !isTool(tool) || !strings.HasPrefix(tool, prefix) {
				t.Errorf("%q is called %q", name, tool)
			}
			if other, taken := seen[tool]; taken {
				t.Errorf("%q and %q are called %s", name, other, tool)
			}
			seen[tool] = fmt.Sprint(prefix, name)
		}
	}
}
