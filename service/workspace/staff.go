package workspace

import (
	"context"
	"strings"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/strictjson"
)

// Suspend keeps everybody but staff from using a workspace until it is reinstated. The reason is for staff.
func (w *Workspaces) Suspend(ctx context.Context, by Caller, id, reason string) (Case, error) {
	reason = strings.TrimSpace(reason)
	if err := strictjson.Wrong("reason", checkText(reason, maxReason)); err != nil {
		return Case{}, err
	}
	return w.handle(ctx, by, id, func(tx *sqldb.Tx, _ Workspace) (string, error) {
		return "workspace.suspended", w.touch(tx, id, "suspended_at = COALESCE(suspended_at, $3), suspend_reason = $4", w.Now().UnixMilli(), reason)
	})
}

// Reinstate ends a suspension, and undoes a deletion within its hold.
func (w *Workspaces) Reinstate(ctx context.Context, by Caller, id string) (Case, error) {
	return w.handle(ctx, by, id, func(tx *sqldb.Tx, one Workspace) (string, error) {
		deleted := !one.EraseAt.IsZero()
		if deleted && !one.restorable(w.Now()) {
			return "", notFound()
		}
		if !deleted && !one.Suspended {
			return "", nil
		}
		return "workspace.restored", w.touch(tx, id, "suspended_at = NULL, suspend_reason = '', deleted_at = NULL, erase_at = NULL")
	})
}

// handle does what staff do to any workspace, and tells it in its chain and in the service's.
func (w *Workspaces) handle(ctx context.Context, by Caller, id string, fn func(*sqldb.Tx, Workspace) (action string, err error)) (one Case, err error) {
	if by.Kind != audit.Account || by.Staff != StaffAdmin {
		return one, adminRequired()
	}
	if !isID("wsp_", id) {
		return one, notFound()
	}
	return sqldb.Write(ctx, w.DB, func(tx *sqldb.Tx) (one Case, err error) {
		if err := lock(tx, "id", id); err != nil {
			return one, err
		}
		before, found, err := oneWorkspace(tx, "w.id = $1 AND w.erased_at IS NULL AND NOT "+isComing+"", id)
		if err != nil {
			return one, err
		}
		if !found {
			return one, notFound()
		}
		action, err := fn(tx, before)
		if err != nil {
			return one, err
		}
		one, _, err = sqldb.First(tx, "find workspace", scanCase, "SELECT "+columns+", w.suspend_reason FROM workspaces w WHERE w.id = $1", id)
		if err != nil || action == "" {
			return one, err
		}
		return one, w.tell(ctx, tx, seat{Membership: Membership{Workspace: one.Workspace}, by: by}, audit.Event{Action: action, Target: one.target()})
	})
}
