package access

import (
	"errors"
	"slices"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/apikey"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/workspace"
)

// InsufficientScope is the type of the refusal of a key that was made for something else.
const InsufficientScope = "insufficient_scope"

// judge is the one answer to "who may?".
func (a *Access) judge(tx *sqldb.Tx, c Credential, n Need, at Place) (j judgement, err error) {
	if n.kind == inside && at.Scope == scope.Admin && c.Surface != Admin {
		return j, NoWorkspace() // the staff's own workspace is nobody else's business
	}
	if c.Keyed {
		return a.judgeKey(tx, c, n, at)
	}
	if err := a.identify(tx, c, &j); err != nil {
		return j, err
	}
	switch {
	case n.kind == staff || n.kind == inside && c.Surface == Admin:
		err = a.judgeStaff(tx, c, n, at, &j)
	case n.kind == inside && !n.deleted:
		err = seat(tx, n, at, &j)
	case n.kind == 0:
		err = errNoNeed
	}
	return j, err
}

// errNoNeed is the refusal of an operation without a need: nobody may use it.
var errNoNeed = errors.New("an operation has no need")

// identify finds who is signed in, and as whom they look at the service.
func (a *Access) identify(tx *sqldb.Tx, c Credential, j *judgement) error {
	who, found, err := a.Accounts.Sessions.Of(tx, c.Session)
	if err != nil {
		return err
	}
	if !found {
		return Unauthenticated()
	}
	j.Who = who
	if c.View == "" {
		return nil
	}
	view, found, err := a.Accounts.Views.Of(tx, who, c.View)
	if err != nil {
		return err
	}
	if !found {
		return Unauthenticated()
	}
	j.View, j.Who = &view, view.Who()
	return nil
}

// judgeStaff lets staff in by the authority of the service, which is more than a session: a role and its elevation.
func (a *Access) judgeStaff(tx *sqldb.Tx, c Credential, n Need, at Place, j *judgement) (err error) {
	if j.lastSeen, err = a.Accounts.Staff.ElevationOf(tx, j.Who, c.Elevation); err != nil {
		return err
	}
	j.Staff = j.Account.Role
	if n.kind == inside && (!c.Safe && j.Staff != account.RoleAdmin || !staffMay(j.Staff, n.right)) || n.changes && j.Staff != account.RoleAdmin {
		return readsOnly()
	}
	j.Member.Owner = j.Account.ID
	if n.kind != inside || n.deleted {
		return nil
	}
	return place(tx, at, j)
}

// place is the workspace that staff come to. The one of their own is no business.
func place(tx *sqldb.Tx, at Place, j *judgement) error {
	if at.Scope == scope.Admin {
		j.Member.Workspace = workspace.Workspace{ID: scope.Admin, Scope: scope.Admin, Owner: j.Account.ID}
		return nil
	}
	w, found, err := workspace.At(tx, at.Scope)
	if err != nil {
		return err
	}
	if !found {
		return NoWorkspace()
	}
	j.Member.Workspace = w
	return nil
}

// staffMay reports what a role over the service gives in every workspace.
func staffMay(role string, right workspace.Right) bool {
	switch role {
	case account.RoleAdmin:
		return workspace.Allows(workspace.Owner, right)
	case account.RoleSupport:
		return workspace.Allows(workspace.StaffSupport, right)
	}
	return false
}

// judgeKey lets a key in that was made for this workspace and this, within the present role of its maker.
func (a *Access) judgeKey(tx *sqldb.Tx, c Credential, n Need, at Place) (j judgement, err error) {
	b, err := a.Keys.BearerOf(tx, c.Key)
	if err != nil {
		return j, err
	}
	return judgeBearer(tx, b, c.Surface == Admin, n, at)
}

// judgeBearer lets somebody in by a key that is theirs. On Admin it opens the workspace of the staff alone.
func judgeBearer(tx *sqldb.Tx, b apikey.Bearer, onAdmin bool, n Need, at Place) (j judgement, err error) {
	j.Account, j.Key = b.Account, &b.Key
	scopes := n.among(b.Key.Scopes)
	switch {
	case n.scope == "":
		return j, fault.New(fault.Forbidden, "No API key may do this.", "Sign in instead.").With("role", workspace.Admin)
	case b.Key.Scope != at.Scope:
		return j, NoWorkspace()
	case len(scopes) == 0:
		return j, fault.New(InsufficientScope, "The API key was not made for this.", "").With("required", n.scope)
	case onAdmin:
		err = ownKey(tx, n, at, &j)
		return j, err
	case b.Key.Staff:
		if err := place(tx, at, &j); err != nil {
			return j, err
		}
		j.Member.Role = workspace.Admin
		return j, allow(n, j.Member)
	}
	if b.Member.ID == "" {
		return j, NoWorkspace()
	}
	if err := sit(tx, n, at, b.Member, &j); err != nil {
		return j, err
	}
	if !slices.ContainsFunc(scopes, func(scope string) bool { return workspace.RoleAllowsKeyScope(j.Member.Role, scope) }) {
		return j, fault.New(fault.Forbidden, "The role of the key's maker does not allow this.", "").With("role", workspace.LeastWithKey(n.right, scopes[0]))
	}
	return j, nil
}

// ownKey lets a key into the staff's own workspace that was made there, as long as its maker may.
func ownKey(tx *sqldb.Tx, n Need, at Place, j *judgement) error {
	j.Staff = j.Account.Role
	if !staffMay(j.Staff, n.right) {
		return readsOnly()
	}
	return place(tx, at, j)
}

// seat is somebody's place in the workspace. A stranger and a workspace that is not there get one answer.
func seat(tx *sqldb.Tx, n Need, at Place, j *judgement) error {
	m, found, err := workspace.Find(tx, j.Account.ID, at.Scope)
	if err != nil {
		return err
	}
	if !found {
		return NoWorkspace()
	}
	return sit(tx, n, at, m, j)
}

// sit takes a place in a workspace, or the role that they have in its project where that is more.
func sit(tx *sqldb.Tx, n Need, at Place, m workspace.Membership, j *judgement) (err error) {
	if n.project && at.Project != "" && !m.Suspended && !workspace.Allows(m.Role, n.right) {
		if m.Role, err = workspace.ProjectRole(tx, j.Account.ID, m.ID, at.Project); err != nil {
			return err
		}
	}
	j.Member = m
	return allow(n, m)
}

// allow is whether a place in a workspace gives what is needed.
func allow(n Need, m workspace.Membership) error {
	switch {
	case m.Suspended && !n.suspended:
		return fault.New(fault.WorkspaceSuspended, "This workspace is suspended.", "Ask the people who run this service.")
	case !workspace.Allows(m.Role, n.right):
		return fault.New(fault.Forbidden, "Your role does not allow this.", "").With("role", workspace.Least(n.right))
	}
	return nil
}

// Unauthenticated is the refusal of somebody whom nobody knows.
func Unauthenticated() error { return fault.New(account.Unauthenticated, "Sign in first.", "") }

// NoWorkspace is the refusal of a stranger, as of everybody where there is no workspace.
func NoWorkspace() error {
	return fault.New(fault.WorkspaceNotFound, "There is no such workspace.", "")
}

func readsOnly() error {
	return fault.New(fault.Forbidden, "Your role does not allow this.", "Support reads everything and changes nothing.").With("role", account.RoleAdmin)
}
