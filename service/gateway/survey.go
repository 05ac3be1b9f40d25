package gateway

import (
	"svc.dev/svc/iso"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/project"
	"svc.dev/svc/service/scope"
)

// surveyed answers a list over all workspaces from the runtime.
func surveyed(path string) func(*exchange) error {
	return func(x *exchange) error {
		who := guest{username: x.who.Account.Username, owner: x.who.Account.ID, authority: scope.StaffAuth}
		return x.forward(errand{claims: who.claims(x.id, scope.Admin), path: path, header: allowed(x.r.Header)})
	}
}

// projectOfAll is a project among those of all workspaces.
type projectOfAll struct {
	ID        string   `json:"id"`
	Scope     string   `json:"scope"`
	Slug      string   `json:"slug"`
	Name      string   `json:"name"`
	Connected bool     `json:"connected"` // it follows a repository
	Bytes     int64    `json:"bytes"`
	FileCount int64    `json:"fileCount"`
	Version   int64    `json:"version"`
	CreatedAt iso.Time `json:"createdAt"`
	UpdatedAt iso.Time `json:"updatedAt"`
}

func (x *exchange) listAllProjects() error {
	q, err := x.projectsOfAll()
	if err != nil {
		return err
	}
	found, err := x.g.Projects.All(x.ctx(), q)
	if err != nil {
		return err
	}
	answer := list[projectOfAll]{Items: make([]projectOfAll, 0, len(found.Items)), Next: found.Next}
	for _, p := range found.Items {
		answer.Items = append(answer.Items, projectOfAll{
			p.ID, p.Scope, p.Slug, p.Name, p.Repository != nil, p.Bytes, p.FileCount, p.Version, iso.Time(p.CreatedAt), iso.Time(p.UpdatedAt),
		})
	}
	return x.list(answer)
}

// projectsOfAll is which part of a list of the projects' room is wanted, where there is one.
func (x *exchange) projectsOfAll() (project.Query, error) {
	asked, err := x.asks()
	if err == nil && x.g.Projects == nil {
		err = noRoute(x.r)
	}
	return project.Query{Cursor: asked.cursor, Limit: asked.limit, Q: asked.q}, err
}

// storageOfAll is what one of all workspaces stores.
type storageOfAll struct {
	Scope         string   `json:"scope"`
	LimitBytes    int64    `json:"limitBytes"`
	UsedBytes     int64    `json:"usedBytes"`
	ReservedBytes int64    `json:"reservedBytes"`
	State         string   `json:"state"`
	MeasuredAt    iso.Time `json:"measuredAt"`
}

func (x *exchange) listAllStorage() error {
	q, err := x.projectsOfAll()
	if err != nil {
		return err
	}
	found, err := x.g.Projects.AllStorage(x.ctx(), q)
	if err != nil {
		return err
	}
	answer := list[storageOfAll]{Items: make([]storageOfAll, 0, len(found.Items)), Next: found.Next}
	for _, s := range found.Items {
		answer.Items = append(answer.Items, storageOfAll{s.Scope, s.LimitBytes, s.UsedBytes, s.ReservedBytes, s.State, iso.Time(s.MeasuredAt)})
	}
	return x.list(answer)
}

// listAllKeys is the API keys of all workspaces, without their values.
func (x *exchange) listAllKeys() error {
	asked, err := x.asks()
	if err != nil {
		return err
	}
	all, more, err := x.g.Accounts.Keys(x.ctx(), account.KeyQuery{All: true, Q: asked.q, Before: asked.cursor, Limit: asked.limit})
	if err != nil {
		return err
	}
	type keyOfAll struct {
		keyView
		Scope string `json:"scope"`
	}
	answer := list[keyOfAll]{Items: make([]keyOfAll, 0, len(all))}
	for _, k := range all {
		answer.Items = append(answer.Items, keyOfAll{viewKey(k), k.Scope})
	}
	if more {
		answer.Next = all[len(all)-1].ID
	}
	return x.list(answer)
}
