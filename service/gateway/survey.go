package gateway

import (
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/account"
)

// surveyed answers a list over all workspaces from the runtime.
func surveyed(path string) func(*exchange) error {
	return func(x *exchange) error {
		return x.forward(errand{claims: x.v.Claims(x.id), path: path, header: allowed(x.r.Header)})
	}
}

// projectOfAll is a project among those of all workspaces.
type projectOfAll struct {
	ID        string     `json:"id"`
	Scope     string     `json:"scope"`
	Slug      string     `json:"slug"`
	Name      string     `json:"name"`
	Connected bool       `json:"connected"` // it follows a repository
	Bytes     int64      `json:"bytes"`
	FileCount int64      `json:"fileCount"`
	Version   int64      `json:"version"`
	CreatedAt iso.Moment `json:"createdAt"`
	UpdatedAt iso.Moment `json:"updatedAt"`
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
			p.ID, p.Scope, p.Slug, p.Name, p.Repository != nil, p.Bytes, p.FileCount, p.Version, p.CreatedAt, p.UpdatedAt,
		})
	}
	return x.list(answer)
}

// projectsOfAll is which part of a list of the projects' room is wanted, where there is one.
func (x *exchange) projectsOfAll() (listing.Query, error) {
	asked, err := x.asks()
	if err == nil && x.g.Projects == nil {
		err = noRoute(x.r)
	}
	return asked.query(), err
}

// storageOfAll is what one of all workspaces stores.
type storageOfAll struct {
	Scope         string     `json:"scope"`
	LimitBytes    int64      `json:"limitBytes"`
	UsedBytes     int64      `json:"usedBytes"`
	ReservedBytes int64      `json:"reservedBytes"`
	State         string     `json:"state"`
	MeasuredAt    iso.Moment `json:"measuredAt"`
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
		answer.Items = append(answer.Items, storageOfAll{s.Scope, s.LimitBytes, s.UsedBytes, s.ReservedBytes, s.State, s.MeasuredAt})
	}
	return x.list(answer)
}

// listAllKeys is the API keys of all workspaces, without their values.
func (x *exchange) listAllKeys() error {
	asked, err := x.asks()
	if err != nil {
		return err
	}
	all, err := x.g.Accounts.Keys(x.ctx(), account.KeyQuery{All: true, Query: asked.query()})
	if err != nil {
		return err
	}
	type keyOfAll struct {
		account.Key
		Scope string `json:"scope"`
	}
	answer := list[keyOfAll]{Items: make([]keyOfAll, 0, len(all.Items)), Next: all.Next}
	for _, k := range all.Items {
		answer.Items = append(answer.Items, keyOfAll{k, k.Scope})
	}
	return x.list(answer)
}
