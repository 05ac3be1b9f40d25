package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
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
		err := s.write(ctx, "register owner", func(tx *sqldb.Tx) error { return s.enrol(tx, o) })
		if err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w = &worker{owner: o}
	s.workers[name] = w
	return w, nil
}

// enrol writes down what an owner can work, in place of the earlier boots of its node, whose leases are void. On SQLite the
// process knows its owners, and opening the store has voided every lease.
func (s *Store) enrol(tx *sqldb.Tx, o svc.Owner) error {
	now, err := s.now(tx)
	if err != nil {
		return err
	}
	names, err := json.Marshal(o.Workflows)
	if err != nil {
		return err
	}
	prefix := o.Node + "/"
	earlier := []any{utf8.RuneCountInString(prefix), prefix, ownerName(o)}
	if _, err := tx.Exec(`DELETE FROM workers WHERE substr(owner, 1, $1) = $2 AND owner <> $3`, earlier...); err != nil {
		return err
	}
	if _, err := tx.Exec(`INSERT INTO workers (owner, workflows, agents, seen_at) VALUES ($1, $2, $3, $4)
ON CONFLICT (owner) DO UPDATE SET workflows = EXCLUDED.workflows, agents = EXCLUDED.agents, seen_at = EXCLUDED.seen_at`,
		ownerName(o), string(names), o.Agents, now); err != nil {
		return err
	}
	_, err = tx.Exec(`UPDATE streams SET epoch = epoch + 1, ready_at = $4 WHERE id IN (SELECT id FROM streams
WHERE next_seq > done_seq AND owner IS NOT NULL AND substr(owner, 1, $1) = $2 AND owner <> $3 ORDER BY id FOR UPDATE)`, append(earlier, now)...)
	return err
}

// unpark makes some of the work ready that waits for an owner like this, and reports whether there may be more. Not only
// when it registers: others take an owner for gone that could not be heard of for a while.
func (s *Store) unpark(ctx context.Context, w *worker) (bool, error) {
	if !s.due(&w.looked) {
		return false, nil
	}
	names, err := s.names(w.owner.Workflows)
	if err != nil {
		return false, err
	}
	more := false
	err = s.write(ctx, "unpark work", func(tx *sqldb.Tx) error {
		more = false
		now, err := s.now(tx)
		if err != nil {
			return err
		}
		for known, arg := range map[string]any{s.sql.named: names, s.sql.agents: w.owner.Agents} {
			n, err := tx.Exec(`UPDATE streams SET ready_at = $1, reason = '' WHERE id IN (
SELECT id FROM streams WHERE reason = '`+svc.ReasonNotRegistered+`' AND `+known+` LIMIT $3`+s.sql.skip+`)`, now, arg, parkRows)
			if err != nil {
				return err
			}
			more = more || n >= parkRows
		}
		return nil
	})
	if err != nil || more {
		s.again(&w.looked)
	}
	return err == nil && more, err
}

// due reports whether it is time to look, which is twice in the time of a poll, and takes it for looked.
func (s *Store) due(looked *time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(*looked) < s.config.Poll/2 {
		return false
	}
	*looked = time.Now()
	return true
}

// again makes it time to look.
func (s *Store) again(looked *time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*looked = time.Time{}
}

// parkUnknown parks some of what is ready and no owner that works can do, so that no claim looks at it again: the next owner
// that registers for it makes it ready. It reports whether there may be more.
func (s *Store) parkUnknown(ctx context.Context) (more bool) {
	if !s.due(&s.looked) {
		return false
	}
	var parked int64
	err := s.write(ctx, "park unregistered work", func(tx *sqldb.Tx) (err error) {
		parked, err = s.parkSome(tx)
		return err
	})
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

func (s *Store) parkSome(tx *sqldb.Tx) (parked int64, err error) {
	now, err := s.now(tx)
	if err != nil {
		return 0, err
	}
	can, err := s.known(tx, now)
	if err != nil {
		return 0, err
	}
	names, err := s.names(can.Workflows)
	if err != nil {
		return 0, err
	}
	for _, owner := range []string{"owner IS NULL", "owner IS NOT NULL"} {
		n, err := tx.Exec(`UPDATE streams SET ready_at = $4, reason = '`+svc.ReasonNotRegistered+`' WHERE id IN (
SELECT id FROM streams WHERE next_seq > done_seq AND `+owner+` AND ready_at <= $1 AND NOT `+s.sql.ours+`
ORDER BY ready_at LIMIT $5`+s.sql.skip+`)`, now, names, can.Agents, unknown, parkRows)
		if err != nil {
			return 0, err
		}
		parked += n
	}
	return parked, nil
}

// known is what the owners that work now can do between them, as one owner.
func (s *Store) known(tx *sqldb.Tx, now int64) (svc.Owner, error) {
	owners, err := s.listWorkers(tx, now)
	if err != nil {
		return svc.Owner{}, err
	}
	all := svc.Owner{}
	names := map[string]bool{}
	for _, o := range owners {
		all.Agents = all.Agents || o.Agents
		for _, name := range o.Workflows {
			names[name] = true
		}
	}
	all.Workflows = slices.Sorted(maps.Keys(names))
	return all, nil
}

func (s *Store) listWorkers(tx *sqldb.Tx, now int64) (owners []svc.Owner, err error) {
	if s.db.Dialect() == sqldb.SQLite {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, w := range s.workers {
			owners = append(owners, w.owner)
		}
		return owners, nil
	}
	rows, err := tx.Query(`SELECT workflows, agents FROM workers WHERE seen_at > $1`, now-workerAge.Milliseconds())
	if err != nil {
		return nil, err
	}
	type listed struct {
		names  string
		agents bool
	}
	list, err := collect(rows, func(l *listed) []any { return []any{&l.names, &l.agents} })
	if err != nil {
		return nil, err
	}
	for _, l := range list {
		o := svc.Owner{Agents: l.agents}
		if err := json.Unmarshal([]byte(l.names), &o.Workflows); err != nil {
			return nil, fmt.Errorf("read workers: %w", err)
		}
		owners = append(owners, o)
	}
	return owners, nil
}
