package gateway

import (
	"cmp"
	"net/http"

	"svc.dev/svc/internal/listing"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/workspace"
)

// fresh refuses unless whoever is signed in proved who they are a short while ago.
func (x *exchange) fresh() error { return x.g.Accounts.NeedFresh(*x.who) }

// query is which part of a list of workspaces' things is wanted.
func (x *exchange) query() (listing.Query, error) {
	a, err := x.asks()
	return a.query(), err
}

func (x *exchange) listWorkspaces() error {
	q, err := x.query()
	if err != nil {
		return err
	}
	found, err := x.g.Workspaces.List(x.ctx(), x.v.Caller(), q)
	if err != nil {
		return err
	}
	return listPage(x, found, same)
}

func same[T any](v T) T { return v }

// listPage answers with a page of a list.
func listPage[T, V any](x *exchange, found listing.Page[T], view func(T) V) error {
	answer := list[V]{Items: make([]V, 0, len(found.Items)), Next: found.Next}
	for _, item := range found.Items {
		answer.Items = append(answer.Items, view(item))
	}
	return x.list(answer)
}

func (x *exchange) createWorkspace() error {
	var body struct {
		Business string `json:"business"`
		Name     string `json:"name"`
	}
	if err := x.decode(&body); err != nil {
		return err
	}
	m, err := x.g.Workspaces.Create(x.ctx(), x.v.Caller(), body.Business, body.Name)
	if err != nil {
		return err
	}
	x.out.Header().Set("Location", x.g.Surfaces.origin(Agents)+"/api/workspaces/"+m.Scope[len("users/"):])
	return x.json(http.StatusCreated, m)
}

// writeWorkspace answers with a workspace and its version.
func (x *exchange) writeWorkspace(m workspace.Membership, err error) error {
	if err != nil {
		return err
	}
	if x.surface == Admin {
		m.Role = x.who.Account.Role // by which they are here
	}
	x.out.Header().Set("ETag", etag(m.Version))
	return x.json(http.StatusOK, m)
}

func (x *exchange) getWorkspace() error {
	return x.writeWorkspace(x.g.Workspaces.Get(x.ctx(), x.v.Caller(), x.address()))
}

func (x *exchange) patchWorkspace() error {
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
	return x.writeWorkspace(x.g.Workspaces.Rename(x.ctx(), x.v.Caller(), x.address(), body.Name, version))
}

func (x *exchange) archiveWorkspace() error {
	return x.writeWorkspace(x.g.Workspaces.Archive(x.ctx(), x.v.Caller(), x.address()))
}

func (x *exchange) unarchiveWorkspace() error {
	return x.writeWorkspace(x.g.Workspaces.Unarchive(x.ctx(), x.v.Caller(), x.address()))
}

func (x *exchange) deleteWorkspace() error {
	at, err := x.g.Workspaces.Delete(x.ctx(), x.v.Caller(), x.address(), x.r.URL.Query().Get("confirm"))
	if err != nil {
		return err
	}
	return x.json(http.StatusAccepted, map[string]any{"status": "deleting", "eraseAt": iso.Time(at)})
}

func (x *exchange) restoreWorkspace() error {
	return x.writeWorkspace(x.g.Workspaces.Restore(x.ctx(), x.v.Caller(), x.address()))
}

// workspaceAudit shows what was done in a workspace, also by staff.
func (x *exchange) workspaceAudit() error {
	asked, err := x.asks()
	if err != nil {
		return err
	}
	v := x.r.URL.Query()
	page, err := x.g.Audit.Page(x.ctx(), audit.Query{Scope: x.address(), Action: v.Get("action"), Actor: v.Get("actor"), Query: asked.query()})
	if err != nil {
		return err
	}
	events := page.Items
	if events == nil {
		events = []audit.Event{}
	}
	return x.list(list[audit.Event]{Items: events, Next: page.Next})
}

// exportWorkspaceAudit is all of it, a line each, oldest first.
func (x *exchange) exportWorkspaceAudit() error {
	h := x.out.Header()
	h.Set("Content-Type", "application/x-ndjson")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Disposition", `attachment; filename="audit.ndjson"`)
	return x.g.Audit.Export(x.ctx(), x.address(), func(e audit.Event) error {
		line, err := e.MarshalJSON()
		if err = cmp.Or(err, x.still()); err != nil {
			return err
		}
		_, err = x.out.Write(append(line, '\n'))
		return err
	})
}
