package account

import (
	"context"
	"fmt"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
)

// ended is an impersonation that has just ended, by the ids of its people.
type ended struct{ id, staff, subject string }

func scanEnded(row sqldb.Row) (e ended, err error) {
	err = row.Scan(&e.id, &e.staff, &e.subject)
	return e, err
}

// endViews ends the impersonations that a condition names, whose first argument is $2, and is what the log must be told of
// them: each is ended once, so it is told once.
func (a *Accounts) endViews(tx *sqldb.Tx, where string, args ...any) (events []audit.Event, err error) {
	all, err := sqldb.Collect(tx, scanEnded, "UPDATE impersonations SET ended_at = $1 WHERE ended_at IS NULL AND "+where+" RETURNING id, staff, subject",
		append([]any{a.Now().UnixMilli()}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("end impersonations: %w", err)
	}
	for _, e := range all {
		told, err := e.event(tx)
		if err != nil {
			return nil, err
		}
		events = append(events, told...)
	}
	return events, nil
}

// event is what a customer reads of it; one whose account is erased reads nothing any more.
func (e ended) event(tx *sqldb.Tx) ([]audit.Event, error) {
	staff, _, err := oneAccount(tx, "a.id = $1", e.staff)
	if err != nil {
		return nil, err
	}
	subject, found, err := oneAccount(tx, "a.id = $1", e.subject)
	if err != nil || !found {
		return nil, err
	}
	return []audit.Event{viewEvent("impersonation.ended", staff, subject, e.id)}, nil
}

// endedAtOnce is how many impersonations one transaction of EndExpiredViews ends.
const endedAtOnce = 100

// EndExpiredViews tells of the impersonations whose time is over, and says of how many. Nobody ended them.
func (a *Accounts) EndExpiredViews(ctx context.Context) (n int64, err error) {
	err = a.db.Write(ctx, func(tx *sqldb.Tx) error {
		events, err := a.endViews(tx, "id IN (SELECT id FROM impersonations WHERE ended_at IS NULL AND expires_at <= $2 ORDER BY expires_at LIMIT $3)",
			a.Now().UnixMilli(), endedAtOnce)
		if n = int64(len(events)); err != nil || n == 0 {
			return err
		}
		for i := range events {
			events[i].Actor = audit.Actor{Kind: audit.System}
		}
		return a.Audit.Append(ctx, tx, events...)
	})
	return n, err
}
