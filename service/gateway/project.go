package gateway

import (
	"net/http"

	"svc.dev/svc/iso"
	"svc.dev/svc/service/project"
)

// projectView is a project without its files.
type projectView struct {
	ID          string          `json:"id"`
	Slug        string          `json:"slug"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Repository  *repositoryView `json:"repository,omitempty"`
	Pulled      *checkoutView   `json:"pulled,omitempty"`
	Bytes       int64           `json:"bytes"`
	FileCount   int64           `json:"fileCount"`
	CreatedAt   iso.Time        `json:"createdAt"`
	UpdatedAt   iso.Time        `json:"updatedAt"`
	Version     int64           `json:"version"`
}

func viewProject(p project.Project) projectView {
	v := projectView{
		ID: p.ID, Slug: p.Slug, Name: p.Name, Description: p.Description, Bytes: p.Bytes, FileCount: p.FileCount,
		CreatedAt: iso.Time(p.CreatedAt), UpdatedAt: iso.Time(p.UpdatedAt), Version: p.Version,
	}
	if r := p.Repository; r != nil {
		v.Repository = &repositoryView{r.Provider, r.Owner, r.Name, r.Branch, r.InstallationID}
	}
	if c := p.Pulled; c != nil {
		v.Pulled = &checkoutView{c.Commit, c.Conflicts, iso.Time(c.At)}
	}
	return v
}

// writeProject answers with a project and its version.
func (x *exchange) writeProject(status int, p project.Project, err error) error {
	if err != nil {
		return err
	}
	x.out.Header().Set("ETag", etag(p.Version))
	return x.json(status, viewProject(p))
}

func (x *exchange) listProjects() error {
	a, err := x.asks()
	if err != nil {
		return err
	}
	found, err := x.g.Projects.List(x.ctx(), x.owner(), a.query())
	if err != nil {
		return err
	}
	return listPage(x, found, viewProject)
}

func (x *exchange) createProject() error {
	var body struct {
		Slug        string `json:"slug,omitzero"`
		Name        string `json:"name,omitzero"`
		Description string `json:"description,omitzero"`
	}
	if err := x.decode(&body); err != nil {
		return err
	}
	made, err := x.g.Projects.Create(x.ctx(), x.v.Actor(), x.owner(), project.Draft(body))
	if err == nil {
		x.out.Header().Set("Location", x.r.URL.Path+"/"+made.Slug)
	}
	return x.writeProject(http.StatusCreated, made, err)
}

func (x *exchange) getProject() error {
	p, err := x.g.Projects.Get(x.ctx(), x.owner(), x.params["slug"])
	return x.writeProject(http.StatusOK, p, err)
}

func (x *exchange) patchProject() error {
	version, err := x.ifMatch()
	if err != nil {
		return err
	}
	var body struct {
		Name        *string `json:"name,omitzero"`
		Description *string `json:"description,omitzero"`
	}
	if err := x.decode(&body); err != nil {
		return err
	}
	p, err := x.g.Projects.Patch(x.ctx(), x.v.Actor(), x.owner(), x.params["slug"], version, project.Edit(body))
	return x.writeProject(http.StatusOK, p, err)
}

func (x *exchange) deleteProject() error {
	version, err := x.ifMatch()
	if err != nil {
		return err
	}
	if err := x.g.Projects.Delete(x.ctx(), x.v.Actor(), x.owner(), x.params["slug"], version); err != nil {
		return err
	}
	return x.none()
}
