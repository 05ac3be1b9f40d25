package sqldb_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
)

// TestSQLitePlansAStatementOnce binds other values again and again, where SQLite is tempted to look at them.
func TestSQLitePlansAStatementOnce(t *testing.T) {
	db := openWith(t, sqldbtest.SQLite(t), sqldb.Options{Readers: 1})
	for _, statement := range []string{
		"CREATE TABLE s (id INTEGER PRIMARY KEY, kind TEXT, name TEXT, gone INTEGER, at INTEGER)",
		"CREATE INDEX s_run ON s (at) WHERE kind = 'run'",
		"CREATE INDEX s_named ON s (name) WHERE name IS NOT NULL AND gone IS NULL",
		"CREATE INDEX s_name ON s (name)",
		"CREATE INDEX s_young ON s (at) WHERE at > 7",
	} {
		write(t, db, statement)
	}
	for _, query := range []string{
		"SELECT id FROM s WHERE kind = $1 AND at > $2",
		"SELECT id FROM s WHERE name = $1 AND gone IS NULL",
		"SELECT id FROM s WHERE name LIKE $1 || '%' AND at < $2",
		"SELECT id FROM s WHERE (at, id) < ($2, $2) AND kind = $1 ORDER BY at DESC LIMIT $2",
		"SELECT id FROM s WHERE kind IN (SELECT value FROM json_each(json_array($1))) AND at = $2 LIMIT 1 OFFSET $2",
		"SELECT id FROM s WHERE EXISTS (SELECT 1 FROM s o WHERE o.kind = $1 AND o.at = s.at + $2)",
	} {
		var planned atomic.Int32
		err := db.Read(t.Context(), func(tx *sqldb.Tx) error {
			if err := sqldb.OnPlan(tx, func() { planned.Add(1) }); err != nil {
				return err
			}
			for i := range 20 {
				rows, err := tx.Query(query, fmt.Sprint("run", i), i)
				if err != nil {
					return err
				}
				if err := rows.Close(); err != nil {
					return err
				}
				if i == 0 {
					planned.Store(0)
				}
			}
			return sqldb.OnPlan(tx, nil)
		})
		if n := planned.Load(); err != nil || n > 0 {
			t.Errorf("planned %d times more, %v: %s", n, err, query)
		}
	}
	for i := range 3 {
		write(t, db, "INSERT INTO s (kind, name, gone, at) VALUES ($1, ($2), NULL, $3) ON CONFLICT (id) DO UPDATE SET at = $3", "run", "VALUES (", i)
	}
	if n := number(t, db, "SELECT COUNT(*) FROM s WHERE kind = $1 AND name = $2", "run", "VALUES ("); n != 3 {
		t.Errorf("%d rows", n)
	}
}
