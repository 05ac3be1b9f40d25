package sqlstore

import (
	"context"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
)

// runs erases the runs of all scopes that ended longer ago than RunAge.
func (s sweep) runs(ctx context.Context) (int64, error) {
	if s.config.RunAge <= 0 {
		return 0, nil
	}
	total, err := sqldb.Drain(sqldb.Patient(ctx, eraseTime), s.db, eraseBatch, func(tx *sqldb.Tx) (int64, error) {
		now, err := s.now(tx)
		if err != nil {
			return 0, err
		}
		before := now - s.config.RunAge.Milliseconds()
		// A run ends after it began, so its id bounds the walk.
		return eraseRuns(tx, `r.id < $2 AND r.ended_at < $3`, firstRun(unixMilli(before)), before)
	})
	return total, wrap("sweep runs", err)
}

// conversations drops those that nobody has used for ConversationAge, scope after scope: no index has the times of all.
func (s sweep) conversations(ctx context.Context) (total int64, err error) {
	if s.config.ConversationAge <= 0 {
		return 0, nil
	}
	scope, found, err := s.nextScope(ctx, firstScope)
	for ; found && err == nil; scope, found, err = s.nextScope(ctx, laterScope, scope) {
		n, err := s.conversationsOf(ctx, scope)
		if total += n; err != nil {
			return total, wrap("sweep conversations", err)
		}
	}
	return total, wrap("sweep conversations", err)
}

const (
	firstScope = `SELECT scope FROM streams WHERE kind <> 'run' ORDER BY scope LIMIT 1`
	laterScope = `SELECT scope FROM streams WHERE kind <> 'run' AND scope > $1 ORDER BY scope LIMIT 1`
)

func (s sweep) nextScope(ctx context.Context, query string, args ...any) (scope string, found bool, err error) {
	all, err := sqldb.ReadAll(ctx, s.db, sqldb.Column[string], query, args...)
	if err != nil || len(all) == 0 {
		return "", false, err
	}
	return all[0], true, nil
}

// oldConversations are some that have nothing left to do, and whose last message came and was settled before a time.
const oldConversations = `SELECT kind, name, instance FROM streams WHERE scope = $1 AND kind <> 'run' AND kind <> '' AND used_at < $2
AND next_seq <= done_seq AND NOT dropped AND NOT EXISTS (SELECT 1 FROM submissions b WHERE b.stream = streams.id AND b.settled_at >= $2)
ORDER BY used_at LIMIT $3`

func (s sweep) conversationsOf(ctx context.Context, scope string) (int64, error) {
	var dropped []svc.Stream
	total, err := sqldb.Drain(sqldb.Patient(ctx, eraseTime), s.db, eraseBatch, func(tx *sqldb.Tx) (int64, error) {
		now, err := s.now(tx)
		if err != nil {
			return 0, err
		}
		old, err := collect(tx, func(a *svc.Stream) []any { return []any{&a.Kind, &a.Name, &a.ID} },
			oldConversations+tx.SkipLocked(), scope, now-s.config.ConversationAge.Milliseconds(), eraseBatch)
		if err != nil {
			return 0, err
		}
		for i := range old {
			old[i].Scope = scope
			if err := dropStream(tx, old[i]); err != nil {
				return 0, err
			}
		}
		dropped = append(dropped, old...)
		return int64(len(old)), nil
	})
	for _, a := range dropped {
		s.hub.dropped(a)
	}
	return total, err
}
