package gateway

import (
	"cmp"
	"net/http"

	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/workspace"
)

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
	x.out.Header().Set("ETag", etag(m.Version))
	return x.json(http.StatusOK, m)
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
