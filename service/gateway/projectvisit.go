package gateway

import (
	"svc.dev/svc/fault"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/project"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/workspace"
)

// The key scopes of projects.
const (
	projectsRead  = "projects:read"
	projectsWrite = "projects:write"
)

// visitor is who was let into the projects of a workspace.
type visitor struct {
	audit.Actor
	project.Owner
	account string       // of the person, also where a key acts
	still   func() error // why they would not be let in any more; nil: they would
}

// visit finds who asks and whether they have the right in the workspace of the path, and in its project if the path names
// one, from the database, now. On Admin it is the staff; elsewhere a key goes before a cookie.
func (x *exchange) visit(right workspace.Right, keyScope string) (visitor, error) {
	if x.g.Projects == nil {
		return visitor{}, noRoute(x.r)
	}
	address := x.address()
	switch {
	case x.surface == Admin:
		return x.visitAsStaff(address, right)
	case len(x.r.Header.Values("Authorization")) > 0 && x.view == nil:
		return x.visitByKey(address, right, keyScope)
	}
	if err := x.checkFrom(); err != nil {
		return visitor{}, err
	}
	who, err := x.session()
	if err != nil {
		return visitor{}, err
	}
	if who == nil {
		return visitor{}, unauthenticated()
	}
	if err := x.g.rates.take("account:" + x.self().Account.ID); err != nil {
		return visitor{}, err
	}
	place := x.member(who.Account.ID, address)
	m, err := x.projectSeat(place, who.Account.ID, right)
	return visitor{
		Actor: who.Account.Actor(), Owner: project.Owner{Workspace: m.ID, Scope: address}, account: x.self().Account.ID,
		still: x.still(x.sameSession, place, who.Account.ID, right),
	}, err
}

// visitByKey lets a key in that was made for this workspace and this, within the present role of its maker.
func (x *exchange) visitByKey(address string, right workspace.Right, need string) (visitor, error) {
	b, err := x.keyFor(address, need)
	if err != nil {
		return visitor{}, err
	}
	place := x.holder(b, address)
	m, err := x.projectSeat(place, b.Account.ID, right)
	if err != nil {
		return visitor{}, err
	}
	if !workspace.RoleAllowsKeyScope(m.Role, need) {
		return visitor{}, fault.New(forbidden, "The role of the key's maker does not allow this.", "").With("role", workspace.Least(right))
	}
	return visitor{
		Actor: audit.Actor{Kind: audit.Key, ID: b.Key.ID, Username: b.Account.Username}, Owner: project.Owner{Workspace: m.ID, Scope: address},
		account: b.Account.ID, still: x.still(x.sameKey, place, b.Account.ID, right),
	}, nil
}

// visitAsStaff lets staff in by the authority of the service, which the workspace's people are told.
func (x *exchange) visitAsStaff(address string, right workspace.Right) (visitor, error) {
	if _, err := x.authorizeStaff(address, right); err != nil {
		return visitor{}, err
	}
	v := visitor{
		Actor: x.who.Account.Actor(), Owner: project.Owner{Workspace: scope.Admin, Scope: scope.Admin}, account: x.who.Account.ID,
		still: x.stillStaff(address, right),
	}
	if address != scope.Admin {
		w, found, err := x.g.Accounts.WorkspaceAt(x.ctx(), address)
		if err != nil {
			return visitor{}, err
		}
		if !found {
			return visitor{}, noWorkspace()
		}
		v.Owner = project.Owner{Workspace: w.ID, Scope: address}
	}
	return v, x.note(address, x.below())
}

// projectSeat is a person's place in a workspace, with the role they have in the project of the path. A stranger and a
// workspace that is not there get one answer.
func (x *exchange) projectSeat(place standing, account string, right workspace.Right) (workspace.Membership, error) {
	m, err := x.seat(place, workspace.Enter)
	if err != nil {
		return m, err
	}
	if slug := x.params["slug"]; slug != "" && !workspace.Allows(m.Role, right) {
		if m.Role, err = x.g.Workspaces.ProjectRole(x.ctx(), account, m.ID, slug); err != nil {
			return m, err
		}
	}
	if !workspace.Allows(m.Role, right) {
		return m, fault.New(forbidden, "Your role does not allow this.", "").With("role", workspace.Least(right))
	}
	return m, nil
}
