package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"svc.dev/svc/internal/sqldb"
)

// minuteRows is how many counts become events in one transaction.
const minuteRows = 100

// Flush writes the refusals gathered so far, and makes events of the minutes that are over. Run does it each second.
func (l *Log) Flush(ctx context.Context) error {
	if err := l.writeRefusals(ctx); err != nil {
		return err
	}
	for {
		n, err := l.closeMinutes(ctx)
		if err != nil {
			return fmt.Errorf("close minutes: %w", err)
		}
		if n < minuteRows {
			return nil
		}
	}
}

// closeMinutes turns counts into events: the one transaction that deletes a count appends its event, on whatever node.
func (l *Log) closeMinutes(ctx context.Context) (n int, err error) {
	over := l.config.Now().Add(-grace - time.Minute).UnixMilli()
	var any bool
	err = l.db.Read(ctx, func(tx *sqldb.Tx) error {
		return tx.QueryRow(`SELECT EXISTS (SELECT 1 FROM audit_refusals WHERE minute <= $1)`, over).Scan(&any)
	})
	if err != nil || !any {
		return 0, err
	}
	err = l.db.Write(ctx, func(tx *sqldb.Tx) error {
		list, err := takeMinutes(tx, over)
		if err != nil {
			return err
		}
		n = len(list)
		return l.append(tx, list)
	})
	return n, err
}

// takeMinutes deletes counts and gives them as events. Those that another node has taken are left to it.
func takeMinutes(tx *sqldb.Tx, over int64) ([]Event, error) {
	list, err := dueTallies(tx, over)
	if err != nil {
		return nil, err
	}
	events := make([]Event, len(list))
	for i, t := range list {
		_, err := tx.Exec(`DELETE FROM audit_refusals WHERE minute = $1 AND action = $2 AND scope = $3 AND outcome = $4`,
			t.minute, t.action, t.scope, t.outcome)
		if err != nil {
			return nil, err
		}
		events[i] = t.event()
	}
	return events, nil
}

func dueTallies(tx *sqldb.Tx, over int64) ([]tally, error) {
	return sqldb.Collect(tx, scanTally, `SELECT minute, action, scope, outcome, count, first FROM audit_refusals WHERE minute <= $1
ORDER BY minute, action, scope, outcome LIMIT $2`+tx.SkipLocked(), over, minuteRows)
}

func scanTally(row sqldb.Row) (t tally, err error) {
	var first []byte
	if err := row.Scan(&t.minute, &t.action, &t.scope, &t.outcome, &t.count, &first); err != nil {
		return t, err
	}
	// Details that cannot be read are left out: the count must not wait for them for ever.
	if json.Unmarshal(first, (*fields)(&t.first)) != nil {
		t.first = Event{Actor: Actor{Kind: Anonymous}, At: time.UnixMilli(t.minute).UTC()}
	}
	return t, nil
}

// event is the one that stands for all that were counted, with the details of the first.
func (t tally) event() Event {
	e := t.first.printable()
	e.Action, e.Scope, e.Outcome, e.Count = t.action, t.scope, t.outcome, t.count
	return e
}
