package storage

import (
	"context"
	"errors"
	"fmt"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
)

// thresholds are the parts of its limit at which a workspace is warned, in percent, the highest first.
var thresholds = [...]int64{100, 90, softLimitPercent}

// rearmPoints is how far below a threshold a workspace falls before it is warned of it again.
const rearmPoints = 5

// Warning is a workspace that has passed a threshold.
type Warning struct {
	Scope   string
	Percent int // the highest that it has passed: 80, 90 or 100
}

// level is the threshold that a workspace's owners should know of: the highest that is passed, or was, until it has fallen far
// enough below. A limit of zero has no parts, and changes nothing.
func (q Quota) level() int64 {
	if q.limit == 0 {
		return q.warned
	}
	for _, t := range thresholds {
		if q.against(t) >= 0 || t <= q.warned && q.against(t-rearmPoints) > 0 {
			return t
		}
	}
	return 0
}

// heed warns the owners of a scope whose quota was just changed to be this one, if that is news. What fails here, or is lost
// with the process, Watch finds.
func (s *Quotas) heed(ctx context.Context, q Quota) {
	if q.level() == q.warned {
		return
	}
	if _, err := s.warn(ctx, q.scope); err != nil && ctx.Err() == nil {
		s.Log.Warn("warn of storage", "scope", q.scope, "error", err)
	}
}

// errNoWorkspace leaves a warning to a time when there is somebody to be warned.
var errNoWorkspace = errors.New("there is no such workspace")

// warn remembers how far a workspace has come and tells its owners, in one transaction: of all who notice it one does so. A
// workspace that has fallen back is told nothing. It reports whether there was anything new.
func (s *Quotas) warn(ctx context.Context, scope string) (news bool, err error) {
	// It is no act of whoever happened to come by.
	ctx = audit.With(ctx, audit.Source{})
	news, err = sqldb.Write(ctx, s.DB, func(tx *sqldb.Tx) (bool, error) {
		q, found, err := s.row(tx, scope, tx.ForUpdate())
		level := q.level()
		if err != nil || !found || level == q.warned {
			return false, err
		}
		n, err := tx.Exec("UPDATE storage_quotas SET warned = $3 WHERE scope = $1 AND warned = $2", scope, q.warned, level)
		if err != nil || n == 0 || level < q.warned {
			return n == 1, err
		}
		return true, s.announce(ctx, tx, Warning{Scope: scope, Percent: int(level)})
	})
	if errors.Is(err, errNoWorkspace) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("warn of storage: %w", err)
	}
	return news, nil
}

// announce tells the owners and the audit log.
func (s *Quotas) announce(ctx context.Context, tx *sqldb.Tx, w Warning) error {
	workspace, err := s.Warn(tx, w)
	if err != nil {
		return err
	}
	if workspace == "" {
		return errNoWorkspace
	}
	return s.Audit.Append(ctx, tx, audit.Event{
		Actor: audit.Actor{Kind: audit.System}, Action: "storage.warning", Target: audit.Target{Kind: "workspace", ID: workspace}, Scope: w.Scope,
		Changes: []string{fmt.Sprintf("threshold_%d", w.Percent)},
	})
}

// nearlyFull are the scopes whose level may be another than they were told.
const nearlyFull = " AND (warned > 0 OR used + attachments + streams >= COALESCE(limit_bytes, $3) / 100 * $4)"

// Watch measures the workspaces that are nearly full, or whose owners were told so, and warns those whose owners do not know.
// It returns how many that were, with those that have fallen; one that fails does not keep it from the others.
func (s *Quotas) Watch(ctx context.Context) (total int, err error) {
	for scope, failed := range s.scopes(ctx, nearlyFull, s.limit, softLimitPercent) {
		var news bool
		if failed == nil {
			news, failed = s.watch(ctx, scope)
		}
		if news {
			total++
		}
		err = errors.Join(err, failed)
	}
	return total, err
}

func (s *Quotas) watch(ctx context.Context, scope string) (news bool, err error) {
	before, err := s.Read(ctx, scope)
	if err != nil {
		return false, err
	}
	if err := s.Refresh(ctx, scope); err != nil {
		return false, err
	}
	after, err := s.Read(ctx, scope)
	if err != nil || after.level() == after.warned {
		return after.warned != before.warned, err
	}
	return s.warn(ctx, scope)
}
