package sqlstore

import (
	"context"
	"encoding/json"
	"slices"
	"time"
	"unicode/utf8"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
)

const (
	// workerAge is how long an owner counts as one that works after it was last heard of, by the store's clock.
	workerAge = 30 * time.Second
	// parkRows is how many streams one statement parks, or makes ready.
	parkRows = 1000
)

// worker is an owner that claims here.
type worker struct {
	owner  svc.Owner
	looked time.Time // when what waits for an owner like this was last made ready; under the store's lock
}

// register makes an owner known, once: what its node held before is void.
func (s *Store) register(ctx context.Context, o svc.Owner) (*worker, error) {
	name := ownerName(o)
	s.mu.Lock()
	w := s.workers[name]
	s.mu.Unlock()
	if w != nil {
		return w, nil
	}
	if s.db.Dialect() == sqldb.Postgres {
		if err := s.enrol(ctx, o); err != nil {
			return nil, err
		}
	}
	if err := s.hasten(ctx, o); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w = &worker{owner: o}
	s.workers[name] = w
	return w, nil
}

// once runs one statement that is a transaction by itself and answers with a row: one way there and back, so that a node far
// from its database comes to claim at all.
func (s *Store) once(ctx context.Context, doing, query string, args, dest []any) error {
	ctx, cancel := context.WithTimeout(ctx, s.db.Timeout())
	defer cancel()
	return wrap(doing, s.db.Pool().QueryRow(ctx, query, args...).Scan(dest...))
}

const enrolOwner = `
WITH t AS (SELECT COALESCE($1::bigint, ` + postgresNow + `) AS now),
d AS (DELETE FROM workers WHERE substr(owner, 1, $2::integer) = $3 AND owner <> $4),
i AS (
  INSERT INTO workers (owner, workflows, agents, seen_at) SELECT $4, $5, $6, now FROM t
  ON CONFLICT (owner) DO UPDATE SET workflows = EXCLUDED.workflows, agents = EXCLUDED.agents, seen_at = EXCLUDED.seen_at
), u AS (
  UPDATE streams SET epoch = epoch + 1, ready_at = t.now FROM t WHERE id IN (SELECT id FROM streams
  WHERE next_seq > done_seq AND owner IS NOT NULL AND substr(owner, 1, $2::integer) = $3 AND owner <> $4 ORDER BY id FOR UPDATE)
)
SELECT now FROM t`

// enrol writes down what an owner can work, in place of the earlier boots of its node, whose leases are void. On SQLite the
// process knows its owners, and opening the store has voided every lease.
func (s *Store) enrol(ctx context.Context, o svc.Owner) error {
	names, err := json.Marshal(o.Workflows)
	if err != nil {
		return err
	}
	prefix := o.Node + "/"
	var now int64
	return s.once(ctx, "register owner", enrolOwner,
		[]any{s.clock(), utf8.RuneCountInString(prefix), prefix, ownerName(o), string(names), o.Agents}, []any{&now})
}

// parking is how work that no node can do waits, and is woken by one that can.
type parking struct{ *Store }

// unpark makes some of the work ready that waits for an owner like this, and reports whether there may be more. Not only
// when it registers: others take an owner for gone that could not be heard of for a while.
func (s parking) unpark(ctx context.Context, w *worker) (bool, error) {
	if !s.due(&w.looked) {
		return false, nil
	}
	unpark := either(s.Store, s.unparkSQLite, s.unparkPostgres)
	n, err := unpark(ctx, w.owner)
	more := err == nil && n >= parkRows
	if err != nil || more {
		s.again(&w.looked)
	}
	return more, err
}

// unparkSQLite says how many streams of a sort it made ready, at most.
func (s parking) unparkSQLite(ctx context.Context, o svc.Owner) (most int64, err error) {
	names, err := s.names(o.Workflows)
	if err != nil {
		return 0, err
	}
	err = s.write(ctx, "unpark work", func(tx *sqldb.Tx) error {
		most = 0
		for known, arg := range map[string]any{s.sql.named: names, s.sql.agents: o.Agents} {
			n, err := tx.Exec(`UPDATE streams SET ready_at = $1, reason = '' WHERE id IN (
SELECT id FROM streams WHERE reason = '`+svc.ReasonNotRegistered+`' AND `+known+` LIMIT $3)`, s.config.Now().UnixMilli(), arg, parkRows)
			if err != nil {
				return err
			}
			most = max(most, n)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return most, nil
}

// unparkStreams looks for one name after the other: for a list of names the database would go through all that is parked, where its
// statistics are older than that.
const unparkStreams = `
WITH t AS (SELECT COALESCE($1::bigint, ` + postgresNow + `) AS now),
r AS (
  UPDATE streams SET ready_at = t.now, reason = '' FROM t WHERE id IN (SELECT known.id FROM unnest($2::text[]) AS ours(name), LATERAL (
    SELECT id FROM streams WHERE reason = '` + svc.ReasonNotRegistered + `' AND kind = 'run' AND streams.name = ours.name
    LIMIT $4 FOR UPDATE SKIP LOCKED) AS known LIMIT $4) RETURNING 1
), a AS (
  UPDATE streams SET ready_at = t.now, reason = '' FROM t WHERE id IN (SELECT id FROM streams
  WHERE reason = '` + svc.ReasonNotRegistered + `' AND kind = 'agent' AND $3 LIMIT $4 FOR UPDATE SKIP LOCKED) RETURNING 1
)
SELECT GREATEST((SELECT count(*) FROM r), (SELECT count(*) FROM a))`

func (s parking) unparkPostgres(ctx context.Context, o svc.Owner) (most int64, err error) {
	err = s.once(ctx, "unpark work", unparkStreams, []any{s.clock(), o.Workflows, o.Agents, parkRows}, []any{&most})
	return most, err
}

// due reports whether it is time to look, which is twice in the time of a poll, and takes it for looked.
func (s parking) due(looked *time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.longAgo(*looked) {
		return false
	}
	*looked = time.Now()
	return true
}

func (s parking) longAgo(looked time.Time) bool { return time.Since(looked) >= s.config.Poll/2 }

// again makes it time to look.
func (s parking) again(looked *time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*looked = time.Time{}
}

// parkUnknown parks some of what is ready and no owner that works can do, so that no claim looks at it again: the next owner
// that registers for it makes it ready. It reports whether there may be more.
func (s parking) parkUnknown(ctx context.Context) (more bool) {
	if !s.due(&s.looked) {
		return false
	}
	park := either(s.Store, s.parkSQLite, s.parkPostgres)
	parked, err := park(ctx)
	if err != nil {
		if ctx.Err() == nil {
			s.config.Log.Warn("claim", "error", err)
		}
		return false
	}
	if more = parked >= parkRows; more {
		s.again(&s.looked)
	}
	return more
}

// mayPark reports whether it is time to park what nobody can do.
func (s parking) mayPark() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.longAgo(s.looked)
}

func (s parking) parkSQLite(ctx context.Context) (parked int64, err error) {
	can := s.known()
	names, err := s.names(can.Workflows)
	if err != nil {
		return 0, err
	}
	err = s.write(ctx, "park unregistered work", func(tx *sqldb.Tx) error {
		parked = 0
		for _, owner := range []string{"owner IS NULL", "owner IS NOT NULL"} {
			n, err := tx.Exec(`UPDATE streams SET ready_at = $4, reason = '`+svc.ReasonNotRegistered+`' WHERE id IN (
SELECT id FROM streams WHERE next_seq > done_seq AND `+owner+` AND ready_at <= $1 AND NOT `+s.sql.ours+`
ORDER BY ready_at LIMIT $5)`, s.config.Now().UnixMilli(), names, can.Agents, unknown, parkRows)
			if err != nil {
				return err
			}
			parked += n
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return parked, nil
}

// known is what the owners of this process can do between them, as one owner.
func (s parking) known() svc.Owner {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := svc.Owner{}
	for _, w := range s.workers {
		all.Agents = all.Agents || w.owner.Agents
		all.Workflows = append(all.Workflows, w.owner.Workflows...)
	}
	slices.Sort(all.Workflows)
	all.Workflows = slices.Compact(all.Workflows)
	return all
}

// parkStreams knows the owners that were heard of lately.
var parkStreams = `
WITH t AS MATERIALIZED (SELECT COALESCE($1::bigint, ` + postgresNow + `) AS now),
w AS MATERIALIZED (SELECT workflows::jsonb AS names, agents FROM workers WHERE seen_at > (SELECT now FROM t) - $2::bigint),
k AS MATERIALIZED (
  SELECT ARRAY(SELECT jsonb_array_elements_text(names) FROM w WHERE jsonb_typeof(names) = 'array') AS names,
    COALESCE((SELECT bool_or(agents) FROM w), FALSE) AS agents
), waiting AS (` + parkable("owner IS NULL") + `), lapsed AS (` + parkable("owner IS NOT NULL") + `)
SELECT (SELECT count(*) FROM waiting) + (SELECT count(*) FROM lapsed)`

func parkable(owner string) string {
	return `UPDATE streams SET ready_at = $3, reason = '` + svc.ReasonNotRegistered + `' WHERE id IN (SELECT id FROM streams
WHERE next_seq > done_seq AND ` + owner + ` AND ready_at <= (SELECT now FROM t) AND NOT (
  kind = 'run' AND name = ANY((SELECT names FROM k)::text[]) OR kind = 'agent' AND (SELECT agents FROM k) OR ` + anyones + `)
ORDER BY ready_at LIMIT $4 FOR UPDATE SKIP LOCKED) RETURNING 1`
}

func (s parking) parkPostgres(ctx context.Context) (parked int64, err error) {
	err = s.once(ctx, "park unregistered work", parkStreams, []any{s.clock(), workerAge.Milliseconds(), unknown, parkRows}, []any{&parked})
	return parked, err
}
