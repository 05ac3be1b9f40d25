package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"svc.dev/svc/internal/sqldb"
)

const (
	// maxRefusals is how many kinds of refusals one node tells apart in a minute. What goes beyond is counted as folded.
	maxRefusals = 1000
	// folded is the action of refusals that were counted without being told apart.
	folded = "audit.folded"
	// grace is how long after its end a minute stays open for the counts of other nodes.
	grace = 5 * time.Second
)

// refusal is what is counted together.
type refusal struct {
	minute  int64 // its beginning, Unix milliseconds
	action  string
	scope   string
	outcome string
}

func (a refusal) compare(b refusal) int {
	return cmp.Or(cmp.Compare(a.minute, b.minute), cmp.Compare(a.action, b.action),
		cmp.Compare(a.scope, b.scope), cmp.Compare(a.outcome, b.outcome))
}

// tally is a count that is not yet in the database. It may be 0: then the kind is known in its minute.
type tally struct {
	refusal
	count int64
	first Event
}

// refusals gather counts between two flushes.
type refusals struct {
	mu    sync.Mutex
	kinds map[refusal]*tally
}

// Refused counts what was denied or has failed, such as a sign-in. It never waits and writes nothing by itself: when the
// minute is over there is one event for each action, scope and outcome, with the count, and with the details of the first.
//
// The scope must be one that exists: a chain begins with its first event.
func (l *Log) Refused(ctx context.Context, e Event) {
	if e.Outcome = cmp.Or(e.Outcome, Deny); e.check() != nil {
		e = Event{Action: folded, Outcome: Deny}
	}
	minute := l.config.Now().Truncate(time.Minute).UnixMilli()
	l.refusals.add(refusal{minute: minute, action: e.Action, scope: e.Scope, outcome: e.Outcome}, func() Event {
		first, _ := l.resolve(ctx, e) // it was checked
		return first
	})
}

// add counts one. Only the first of its kind costs more than that.
func (r *refusals) add(kind refusal, first func() Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.kinds[kind]
	if t == nil && len(r.kinds) >= maxRefusals {
		kind = refusal{minute: kind.minute, action: folded, outcome: Deny}
		t = r.kinds[kind]
	}
	if t == nil {
		t = &tally{refusal: kind, first: first()}
		r.kinds[kind] = t
	}
	t.count++
}

// take hands out the counts in order, and forgets the kinds of minutes that are over.
func (r *refusals) take(minute int64) []tally {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []tally
	for kind, t := range r.kinds {
		if t.count > 0 {
			list = append(list, *t)
			t.count = 0
		}
		if kind.minute < minute {
			delete(r.kinds, kind)
		}
	}
	slices.SortFunc(list, func(a, b tally) int { return a.compare(b.refusal) })
	return list
}

// giveBack adds counts that could not be written.
func (r *refusals) giveBack(list []tally) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range list {
		if known := r.kinds[t.refusal]; known != nil {
			known.count += t.count
			continue
		}
		r.kinds[t.refusal] = &t
	}
}

// writeRefusals adds what was gathered to the counts of all nodes, in one transaction. When that fails the counts are
// kept; where the database cannot say whether it failed they may be counted twice, and never not at all.
func (l *Log) writeRefusals(ctx context.Context) error {
	list := l.refusals.take(l.config.Now().Truncate(time.Minute).UnixMilli())
	if len(list) == 0 {
		return nil
	}
	// Nodes write in the same order and so do not wait for each other in turn.
	err := l.db.Write(ctx, func(tx *sqldb.Tx) error {
		for _, t := range list {
			if err := t.write(tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		l.refusals.giveBack(list)
		return fmt.Errorf("write refusals: %w", err)
	}
	return nil
}

// fields is an Event with the JSON of its fields.
type fields Event

func (t tally) write(tx *sqldb.Tx) error {
	first, err := json.Marshal(fields(t.first))
	if err != nil {
		return err
	}
	return tx.Do("count refusals", `INSERT INTO audit_refusals (minute, action, scope, outcome, count, first) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (minute, action, scope, outcome) DO UPDATE SET count = audit_refusals.count + excluded.count`,
		t.minute, t.action, t.scope, t.outcome, t.count, string(first))
}
