package sqlstore

import "svc.dev/svc/internal/sqldb"

// postgresNow is the database's clock as a statement finds it. It stands still within the statement, so it can be a bound of
// an index scan.
const postgresNow = "(extract(epoch FROM statement_timestamp()) * 1000)::bigint"

const (
	// forever is when a lease on SQLite ends by itself: never. A restart voids it.
	forever = int64(1) << 62
	// unknown is until when work is parked that no owner can do.
	unknown = forever - 1
)

// statements are the texts in which the dialects differ.
type statements struct {
	now  string // the database's clock, where no other is given
	skip string // after a SELECT whose rows must not change before the transaction ends, where those that others hold are passed over
	// Whether an owner can work a stream: its workflows are $2, whether it knows agents $3.
	ours string
	// The two parts of it that need a definition, each with its own $2.
	named, agents string
}

// anyones is work that needs no definition: the end of a run that was cancelled.
const anyones = "kind = 'run' AND abort_seq = done_seq"

func statementsFor(d sqldb.Dialect) statements {
	q := statements{now: "0", named: "kind = 'run' AND name IN (SELECT value FROM json_each($2))", agents: "kind = 'agent' AND $2"}
	if d == sqldb.Postgres {
		q.now, q.skip, q.named = postgresNow, " FOR UPDATE SKIP LOCKED", "kind = 'run' AND name = ANY($2)"
	}
	q.ours = "(" + q.named + " OR kind = 'agent' AND $3 OR " + anyones + ")"
	return q
}

// either is one of two ways to do something, by the database that does it.
func either[F any](s *Store, sqlite, postgres F) F {
	if s.db.Dialect() == sqldb.Postgres {
		return postgres
	}
	return sqlite
}

// at is the time in a statement: parameter n, or the database's clock when that is null.
func (q statements) at(n int) string { return "COALESCE(" + dollar(n) + ", " + q.now + ")" }

// marked is whether the submission at the head of a stream's queue is marked for abort.
const marked = `EXISTS (SELECT 1 FROM submissions b WHERE b.stream = streams.id AND b.seq = streams.done_seq
  AND streams.next_seq > streams.done_seq AND b.abort_at IS NOT NULL)`
