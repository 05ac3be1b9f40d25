package account

import (
	"context"
	"strings"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/throttle"
	"svc.dev/svc/service/workspace"
)

// WorkspaceAt is the workspace of a scope as staff find it, suspended or not; found is false for one that is deleted or not
// there.
func (a *Accounts) WorkspaceAt(ctx context.Context, address string) (w workspace.Workspace, found bool, err error) {
	err = a.db.Read(ctx, func(tx *sqldb.Tx) (err error) {
		w, found, err = workspace.At(tx, address)
		return err
	})
	return w, found, err
}

// NoteStaff tells a workspace's people, and the service, that staff did something there by the authority of the service.
// Nothing is to be done when it fails.
func (a *Accounts) NoteStaff(ctx context.Context, e audit.Event) error {
	e.Service = true
	return a.Note(ctx, e)
}

// Note tells of something that another half of the service is about to do. Nothing is to be done when it fails.
func (a *Accounts) Note(ctx context.Context, e audit.Event) error {
	return a.db.Write(ctx, func(tx *sqldb.Tx) error { return a.Audit.Append(ctx, tx, e) })
}

// onceAMinute is how often the same reading of staff is told.
var onceAMinute = throttle.Rate{Limit: 1, Per: time.Minute}

// NoteReading is NoteStaff of something that was looked at: the same by the same person is told once a minute, by all nodes
// together.
func (a *Accounts) NoteReading(ctx context.Context, e audit.Event) error {
	e.Service = true
	key := strings.Join([]string{"staff-read", e.Actor.ID, e.Action, e.Scope, e.Target.Kind, e.Target.ID}, "\x00")
	return a.db.Write(ctx, func(tx *sqldb.Tx) error {
		wait, err := throttle.Take(tx, a.Now(), key, onceAMinute)
		if err != nil || wait > 0 {
			return err
		}
		return a.Audit.Append(ctx, tx, e)
	})
}
