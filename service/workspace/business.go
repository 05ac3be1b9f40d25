package workspace

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/strictjson"
)

// Create makes a business of the caller's own. Without a name it is called as its slug. A slug that the caller has used
// before is taken for ever: what was done under a scope is never mixed with what another workspace does.
func (w *Workspaces) Create(ctx context.Context, by Caller, business, name string) (m Membership, err error) {
	name = cmp.Or(strings.TrimSpace(name), business)
	if err := checkNew(business, name); err != nil {
		return m, err
	}
	if by.Kind != audit.Account {
		return m, noPerson()
	}
	return sqldb.Write(ctx, w.DB, func(tx *sqldb.Tx) (Membership, error) { return w.create(ctx, tx, by, business, name) })
}

func checkNew(business, name string) error {
	var refused strictjson.Fields
	refused.Add("business", businessProblem(business))
	if name != business {
		refused.Add("name", checkText(name, maxName))
	}
	return refused.Refusal()
}

func businessProblem(business string) string {
	switch err := scope.CheckBusiness(business); {
	case err == nil:
		return ""
	case errors.Is(err, scope.ErrTooLong):
		return strictjson.TooLong
	case business == "":
		return strictjson.TooShort
	}
	return strictjson.Invalid
}

func (w *Workspaces) create(ctx context.Context, tx *sqldb.Tx, by Caller, business, name string) (m Membership, err error) {
	if err := w.refuseTooMany(tx, by); err != nil {
		return m, err
	}
	address := scope.Of(by.Username, business).String()
	made, err := insert(tx, w.Now(), by.ID, address, business, name)
	if err != nil {
		return m, err
	}
	if !made {
		return m, nameTaken("You have, or had, a workspace of this name. Choose another one.")
	}
	if m.Workspace, _, err = oneWorkspace(tx, "w.scope = $1", address); err != nil {
		return m, err
	}
	if err := join(tx, w.Now(), m.ID, by.ID, Owner); err != nil {
		return m, err
	}
	m.Role = Owner
	return m, w.tell(ctx, tx, seat{Membership: m, by: Caller{Actor: by.Actor}}, audit.Event{Action: "workspace.created", Target: m.target()})
}

// refuseTooMany counts the businesses of an account, one new one after the other.
func (w *Workspaces) refuseTooMany(tx *sqldb.Tx, by Caller) error {
	// The personal workspace also proves whose the username is.
	personal, err := MakePersonal(tx, w.Now(), by.ID, by.Username)
	if err != nil {
		return err
	}
	if err := lock(tx, "id", personal.ID); err != nil {
		return err
	}
	if !personal.EraseAt.IsZero() {
		return notFound() // the account is being erased
	}
	return refuseFull(tx, "workspaces WHERE owner = $1 AND erased_at IS NULL", by.ID, "workspaces of one account", maxBusinesses)
}

// Get is a workspace as the caller sees it, also when it is suspended. Staff see it without a role.
func (w *Workspaces) Get(ctx context.Context, by Caller, address string) (Membership, error) {
	return sqldb.Read(ctx, w.DB, func(tx *sqldb.Tx) (Membership, error) {
		s, err := look(tx, by, address, Enter)
		return s.Membership, err
	})
}

// Rename changes what a workspace is called. Its slug stays: its scope holds it.
func (w *Workspaces) Rename(ctx context.Context, by Caller, address, name string, version int64) (Membership, error) {
	name = strings.TrimSpace(name)
	if err := strictjson.Wrong("name", checkText(name, maxName)); err != nil {
		return Membership{}, err
	}
	return w.change(ctx, by, address, Manage, func(tx *sqldb.Tx, s seat) (string, error) {
		if s.Business == scope.Personal {
			return "", inUse(s.Workspace)
		}
		if err := refuseStale(version, s.Version); err != nil {
			return "", err
		}
		return "workspace.renamed", w.touch(tx, s.ID, "name = $3", name)
	})
}

// Archive puts a workspace away; who has it open may go on. Archiving it twice changes nothing.
func (w *Workspaces) Archive(ctx context.Context, by Caller, address string) (Membership, error) {
	return w.change(ctx, by, address, Own, func(tx *sqldb.Tx, s seat) (string, error) {
		if s.Archived {
			return "", nil
		}
		return "workspace.archived", w.touch(tx, s.ID, "archived_at = $3", w.Now().UnixMilli())
	})
}

// Unarchive takes a workspace out again.
func (w *Workspaces) Unarchive(ctx context.Context, by Caller, address string) (Membership, error) {
	return w.change(ctx, by, address, Own, func(tx *sqldb.Tx, s seat) (string, error) {
		if !s.Archived {
			return "", nil
		}
		return "workspace.unarchived", w.touch(tx, s.ID, "archived_at = NULL")
	})
}

// change does one thing to a workspace and gives it as it is then. Without an action there was nothing to do.
func (w *Workspaces) change(ctx context.Context, by Caller, address string, need Right, fn func(*sqldb.Tx, seat) (action string, err error)) (Membership, error) {
	return act(ctx, w, by, address, need, func(tx *sqldb.Tx, s seat) (m Membership, err error) {
		if err := refuseStale(by.Seen, s.Version); err != nil {
			return m, err
		}
		action, err := fn(tx, s)
		if err != nil {
			return m, err
		}
		if m, err = seen(tx, by.ID, address, "true"); err != nil || action == "" {
			return m, err
		}
		return m, w.tell(ctx, tx, s, audit.Event{Action: action, Target: s.target()})
	})
}
