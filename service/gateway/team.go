package gateway

import (
	"net/http"

	"svc.dev/svc/iso"
	"svc.dev/svc/service/workspace"
)

// teamView is some people, and what they may do in projects.
type teamView struct {
	ID        string            `json:"id"`
	Name      string            `json:"name"`
	Members   []colleagueView   `json:"members"`
	Projects  []teamProjectView `json:"projects"`
	CreatedAt iso.Time          `json:"createdAt"`
	UpdatedAt iso.Time          `json:"updatedAt"`
	Version   int64             `json:"version"`
}

type teamProjectView struct {
	Slug string `json:"slug"`
	Role string `json:"role"`
}

func viewTeam(t workspace.Team) teamView {
	v := teamView{ID: t.ID, Name: t.Name, Members: []colleagueView{}, Projects: []teamProjectView{}, CreatedAt: iso.Time(t.CreatedAt), UpdatedAt: iso.Time(t.UpdatedAt), Version: t.Version}
	for _, m := range t.Members {
		v.Members = append(v.Members, viewColleague(m))
	}
	for _, p := range t.Projects {
		v.Projects = append(v.Projects, teamProjectView{p.Slug, p.Role})
	}
	return v
}

func (x *exchange) listTeams() error {
	by, err := x.caller()
	if err != nil {
		return err
	}
	q, err := x.query()
	if err != nil {
		return err
	}
	found, err := x.g.Workspaces.Teams(x.ctx(), by, x.address(), q)
	if err != nil {
		return err
	}
	return listPage(x, found, viewTeam)
}

func (x *exchange) writeTeam(t workspace.Team, err error) error {
	if err != nil {
		return err
	}
	x.out.Header().Set("ETag", etag(t.Version))
	return x.json(http.StatusOK, viewTeam(t))
}

// nameBody is the body of what has a name.
type nameBody struct {
	Name string `json:"name"`
}

func (x *exchange) createTeam() error {
	by, err := x.caller()
	if err != nil {
		return err
	}
	var body nameBody
	if err := x.decode(&body); err != nil {
		return err
	}
	t, err := x.g.Workspaces.CreateTeam(x.ctx(), by, x.address(), body.Name)
	if err != nil {
		return err
	}
	x.out.Header().Set("Location", x.r.URL.Path+"/"+t.ID)
	return x.json(http.StatusCreated, viewTeam(t))
}

func (x *exchange) getTeam() error {
	by, err := x.caller()
	if err != nil {
		return err
	}
	return x.writeTeam(x.g.Workspaces.GetTeam(x.ctx(), by, x.address(), x.params["team"]))
}

func (x *exchange) patchTeam() error {
	by, err := x.caller()
	if err != nil {
		return err
	}
	version, err := x.ifMatch()
	if err != nil {
		return err
	}
	var body nameBody
	if err := x.decode(&body); err != nil {
		return err
	}
	return x.writeTeam(x.g.Workspaces.RenameTeam(x.ctx(), by, x.address(), x.params["team"], body.Name, version))
}

func (x *exchange) deleteTeam() error {
	by, err := x.caller()
	if err != nil {
		return err
	}
	version, err := x.ifMatch()
	if err != nil {
		return err
	}
	if err := x.g.Workspaces.DeleteTeam(x.ctx(), by, x.address(), x.params["team"], version); err != nil {
		return err
	}
	return x.none()
}

func (x *exchange) putTeamMember() error {
	by, err := x.caller()
	if err != nil {
		return err
	}
	return x.writeTeam(x.g.Workspaces.PutTeamMember(x.ctx(), by, x.address(), x.params["team"], x.params["account"]))
}

func (x *exchange) dropTeamMember() error {
	by, err := x.caller()
	if err != nil {
		return err
	}
	return x.writeTeam(x.g.Workspaces.DropTeamMember(x.ctx(), by, x.address(), x.params["team"], x.params["account"]))
}
