package gateway

import (
	"net/http"

	"svc.dev/svc/iso"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/workspace"
)

// caseView is a workspace as the staff see it.
type caseView struct {
	ID            string     `json:"id"`
	Scope         string     `json:"scope"`
	Business      string     `json:"business"`
	Name          string     `json:"name"`
	Owner         ownerView  `json:"owner"`
	Suspended     bool       `json:"suspended"`
	SuspendReason string     `json:"suspendReason"`
	EraseAt       iso.Moment `json:"eraseAt"`
	CreatedAt     iso.Moment `json:"createdAt"`
}

type ownerView struct {
	ID       string `json:"id"`
	Username string `json:"username"`
}

func viewCase(c workspace.Case) caseView {
	at, _ := scope.Parse(c.Scope) // it was made from one
	return caseView{
		ID: c.ID, Scope: c.Scope, Business: c.Business, Name: c.Name, Owner: ownerView{c.Owner, at.Username}, Suspended: c.Suspended,
		SuspendReason: c.Reason, EraseAt: c.EraseAt, CreatedAt: c.CreatedAt,
	}
}

func (x *exchange) listAllWorkspaces() error {
	q, err := x.query()
	if err != nil {
		return err
	}
	found, err := x.g.Workspaces.All(x.ctx(), x.v.Caller(), q)
	if err != nil {
		return err
	}
	return listPage(x, found, viewCase)
}

// suspendWorkspace keeps the people of a workspace out of it. Their open streams end within the time of a recheck.
func (x *exchange) suspendWorkspace() error {
	var body struct {
		Reason string `json:"reason"`
	}
	if err := x.decode(&body); err != nil {
		return err
	}
	return x.writeCase(x.g.Workspaces.Suspend(x.ctx(), x.v.Caller(), x.params["id"], body.Reason))
}

// reinstateWorkspace ends a suspension, and undoes a deletion within its hold.
func (x *exchange) reinstateWorkspace() error {
	return x.writeCase(x.g.Workspaces.Reinstate(x.ctx(), x.v.Caller(), x.params["id"]))
}

// writeCase answers with a workspace as a verb left it.
func (x *exchange) writeCase(c workspace.Case, err error) error {
	if err != nil {
		return err
	}
	return x.json(http.StatusOK, viewCase(c))
}

// getOwn is the workspace of the staff themselves.
func (x *exchange) getOwn() error {
	return x.json(http.StatusOK, map[string]string{"scope": scope.Admin, "name": "Admin", "role": x.v.Caller().Staff, "root": adminRoot})
}
