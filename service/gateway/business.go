package gateway

import (
	"net/http"

	"svc.dev/svc/iso"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/workspace"
)

// workspaceView is a workspace as one of its people sees it.
type workspaceView struct {
	ID        string   `json:"id"`
	Business  string   `json:"business"`
	Name      string   `json:"name"`
	Scope     string   `json:"scope"`
	Archived  bool     `json:"archived"`
	Suspended bool     `json:"suspended"`
	Role      string   `json:"role"`
	CreatedAt iso.Time `json:"createdAt"`
	UpdatedAt iso.Time `json:"updatedAt"`
	Version   int64    `json:"version"`
}

func viewMembership(m workspace.Membership) workspaceView {
	return workspaceView{
		m.ID, m.Business, m.Name, m.Scope, m.Archived, m.Suspended, m.Role, iso.Time(m.CreatedAt), iso.Time(m.UpdatedAt), m.Version,
	}
}

// caller is who asks about a workspace, by a session: no key may. On Admin it is the staff.
func (x *exchange) caller() (workspace.Caller, error) {
	if x.surface == Admin {
		return x.asStaff()
	}
	if err := x.refuseKey(); err != nil {
		return workspace.Caller{}, err
	}
	if !safe(x.r.Method) {
		if err := x.checkOrigin(); err != nil {
			return workspace.Caller{}, err
		}
	}
	who, err := x.session()
	if err != nil {
		return workspace.Caller{}, err
	}
	if who == nil {
		return workspace.Caller{}, unauthenticated()
	}
	return workspace.Caller{Actor: who.Account.Actor()}, nil
}

// fresh refuses unless whoever is signed in proved who they are a short while ago.
func (x *exchange) fresh() error { return x.g.Accounts.NeedFresh(*x.who) }

// query is which part of a list of workspaces' things is wanted.
func (x *exchange) query() (workspace.Query, error) {
	a, err := x.asks()
	return workspace.Query{Cursor: a.cursor, Limit: a.limit, Q: a.q}, err
}

func (x *exchange) listWorkspaces() error {
	by, err := x.caller()
	if err != nil {
		return err
	}
	q, err := x.query()
	if err != nil {
		return err
	}
	found, err := x.g.Workspaces.List(x.ctx(), by, q)
	if err != nil {
		return err
	}
	return listPage(x, found, viewMembership)
}

// listPage answers with a page of a list.
func listPage[T, V any](x *exchange, found workspace.Page[T], view func(T) V) error {
	answer := list[V]{Items: make([]V, 0, len(found.Items)), Next: found.Next}
	for _, item := range found.Items {
		answer.Items = append(answer.Items, view(item))
	}
	return x.list(answer)
}

func (x *exchange) createWorkspace() error {
	by, err := x.caller()
	if err != nil {
		return err
	}
	var body struct {
		Business string `json:"business"`
		Name     string `json:"name"`
	}
	if err := x.decode(&body); err != nil {
		return err
	}
	m, err := x.g.Workspaces.Create(x.ctx(), by, body.Business, body.Name)
	if err != nil {
		return err
	}
	x.out.Header().Set("Location", x.g.Surfaces.origin(Agents)+"/api/workspaces/"+m.Scope[len("users/"):])
	return x.json(http.StatusCreated, viewMembership(m))
}

// writeWorkspace answers with a workspace and its version.
func (x *exchange) writeWorkspace(m workspace.Membership, err error) error {
	if err != nil {
		return err
	}
	v := viewMembership(m)
	if x.surface == Admin {
		v.Role = x.who.Account.Role // by which they are here
	}
	x.out.Header().Set("ETag", etag(m.Version))
	return x.json(http.StatusOK, v)
}

func (x *exchange) getWorkspace() error {
	by, err := x.caller()
	if err != nil {
		return err
	}
	return x.writeWorkspace(x.g.Workspaces.Get(x.ctx(), by, x.address()))
}

func (x *exchange) patchWorkspace() error {
	by, err := x.caller()
	if err != nil {
		return err
	}
	version, err := x.ifMatch()
	if err != nil {
		return err
	}
	var body struct {
		Name string `json:"name"`
	}
	if err := x.decode(&body); err != nil {
		return err
	}
	return x.writeWorkspace(x.g.Workspaces.Rename(x.ctx(), by, x.address(), body.Name, version))
}

func (x *exchange) archiveWorkspace() error {
	by, err := x.caller()
	if err != nil {
		return err
	}
	return x.writeWorkspace(x.g.Workspaces.Archive(x.ctx(), by, x.address()))
}

func (x *exchange) unarchiveWorkspace() error {
	by, err := x.caller()
	if err != nil {
		return err
	}
	return x.writeWorkspace(x.g.Workspaces.Unarchive(x.ctx(), by, x.address()))
}

func (x *exchange) deleteWorkspace() error {
	by, err := x.caller()
	if err != nil {
		return err
	}
	if err := x.fresh(); err != nil {
		return err
	}
	at, err := x.g.Workspaces.Delete(x.ctx(), by, x.address(), x.r.URL.Query().Get("confirm"))
	if err != nil {
		return err
	}
	return x.json(http.StatusAccepted, map[string]any{"status": "deleting", "eraseAt": iso.Time(at)})
}

func (x *exchange) restoreWorkspace() error {
	by, err := x.caller()
	if err != nil {
		return err
	}
	return x.writeWorkspace(x.g.Workspaces.Restore(x.ctx(), by, x.address()))
}

// workspaceAudit shows what was done in a workspace, also by staff.
func (x *exchange) workspaceAudit() error {
	by, err := x.caller()
	if err != nil {
		return err
	}
	asked, err := x.asks()
	if err != nil {
		return err
	}
	if err := x.permit(by, workspace.Review); err != nil {
		return err
	}
	v := x.r.URL.Query()
	page, err := x.g.Audit.Page(x.ctx(), audit.Query{Scope: x.address(), Action: v.Get("action"), Actor: v.Get("actor"), Cursor: asked.cursor, Limit: asked.limit})
	if err != nil {
		return err
	}
	events := page.Events
	if events == nil {
		events = []audit.Event{}
	}
	return x.list(list[audit.Event]{Items: events, Next: page.Next})
}

// exportWorkspaceAudit is all of it, a line each, oldest first.
func (x *exchange) exportWorkspaceAudit() error {
	by, err := x.caller()
	if err != nil {
		return err
	}
	if err := x.permit(by, workspace.Review); err != nil {
		return err
	}
	h := x.out.Header()
	h.Set("Content-Type", "application/x-ndjson")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Disposition", `attachment; filename="audit.ndjson"`)
	return x.g.Audit.Export(x.ctx(), x.address(), func(e audit.Event) error {
		line, err := e.MarshalJSON()
		if err != nil {
			return err
		}
		_, err = x.out.Write(append(line, '\n'))
		return err
	})
}
