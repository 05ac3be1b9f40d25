package sqlstore_test

import (
	"strings"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/sqlstore"
)

// TestConversationsAreListedByIndexes asks the databases how they would list a page: what was said is not read for it.
func TestConversationsAreListedByIndexes(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		db, err := sqldb.Open(t.Context(), address, sqldb.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		if err := db.Migrate(t.Context(), sqlstore.Migrations); err != nil {
			t.Fatal(err)
		}
		for _, q := range []svc.ConversationQuery{
			{Scope: "users/ada/shop", Limit: 10}, {Scope: "users/ada/shop", Agent: "central", Limit: 10},
			{Scope: "users/ada/shop", Agent: "central", Limit: 10, Before: &svc.Conversation{Agent: "central", ID: "a", UsedAt: time.UnixMilli(7)}},
		} {
			query, args := sqlstore.ListConversations(q)
			got := plan(t, db, query, args...)
			for _, scan := range []string{"Seq Scan", "SCAN streams", "SCAN b"} {
				if strings.Contains(got, scan) {
					t.Errorf("%+v is listed by %s", q, got)
				}
			}
			if strings.Count(got, "submissions_stream_seq_key") != 3 && strings.Count(got, "SEARCH b USING INDEX sqlite_autoindex_submissions_1") != 3 || !strings.Contains(got, "streams_used") {
				t.Errorf("%+v is listed by %s; want indexes", q, got)
			}
		}
		// The proof can fail: submissions of a time are found by looking at all.
		if got := plan(t, db, "SELECT id FROM submissions WHERE settled_at = $1", 1); !strings.Contains(got, "Seq Scan") && !strings.Contains(got, "SCAN submissions") {
			t.Errorf("submissions of a time are found by %s; want a scan", got)
		}
	})
}
