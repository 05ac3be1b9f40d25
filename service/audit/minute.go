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
	if err := l.closeMinutes(ctx); err != nil {
		return fmt.Errorf("close minutes: %w", err)
	}
	return nil
}

// closeMinutes turns counts into events: the one transaction that deletes a count appends its event, on whatever node.
func (l *Log) closeMinutes(ctx context.Context) error {
	over := l.config.Now().Add(-grace - time.Minute).UnixMilli()
	some, err := sqldb.ReadAll(ctx, l.db, sqldb.Column[int64], `SELECT minute FROM audit_refusals WHERE minute <= $1 LIMIT 1`, over)
	if err != nil || len(some) == 0 {
		return err
	}
	_, err = sqldb.Drain(ctx, l.db, minuteRows, func(tx *sqldb.Tx) (int64, error) {
		list, err := takeMinutes(tx, over)
		if err != nil {
			return 0, err
		}
		return int64(len(list)), l.append(tx, list)
	})
	return err
}

// takeMinutes deletes counts and gives them as events. Those that another node has taken are left to it.
func takeMinutes(tx *sqldb.Tx, over int64) ([]Event, error) {
	list, err := sqldb.Collect(tx, scanTally, `SELECT minute, action, scope, outcome, count, first FROM audit_refusals WHERE minute <= $1
ORDER BY minute, action, scope, outcome LIMIT $2`+tx.SkipLocked(), over, minuteRows)
	if err != nil {
		return nil, err
	}
	events := make([]Event, len(list))
	for i, t := range list {
		if err := tx.Do("take refusals", `DELETE FROM audit_refusals WHERE minute = $1 AND action = $2 AND scope = $3 AND outcome = $4`,
			t.minute, t.action, t.scope, t.outcome); err != nil {
			return nil, err
		}
		events[i] = t.event()
	}
	return events, nil
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
