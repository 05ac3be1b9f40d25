package project

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"unicode"

	"github.com/oklog/ulid/v2"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/strictjson"
)

// Draft is what a project is made of.
type Draft struct {
	Slug        string `json:"slug,omitzero"` // empty: made of the name
	Name        string `json:"name,omitzero"` // empty: the slug
	Description string `json:"description,omitzero"`
}

func (d *Draft) check() error {
	d.Name = strings.TrimSpace(d.Name)
	d.Slug = cmp.Or(d.Slug, scope.Slug(d.Name, 64))
	if err := scope.CheckProject(d.Slug); err != nil {
		return strictjson.Wrong("slug", problemOf(err))
	}
	d.Name = cmp.Or(d.Name, d.Slug)
	return checkTexts(&d.Name, &d.Description)
}

// checkTexts looks at those that are given.
func checkTexts(name, description *string) error {
	if name != nil {
		if err := strictjson.CheckRunes("name", *name, 1, maxName, unicode.IsPrint); err != nil {
			return err
		}
	}
	if description == nil {
		return nil
	}
	return strictjson.CheckRunes("description", *description, 0, maxDescription, func(c rune) bool {
		return unicode.IsPrint(c) || c == '\n' || c == '\t'
	})
}

// Create makes a project. Its folder is made with its first file.
func (p *Projects) Create(ctx context.Context, by audit.Actor, o Owner, d Draft) (Project, error) {
	if _, err := placeOf(o.Scope); err != nil {
		return Project{}, err
	}
	if err := d.check(); err != nil {
		return Project{}, err
	}
	id := "prj_" + ulid.Make().String()
	return sqldb.Write(ctx, p.DB, func(tx *sqldb.Tx) (made Project, err error) {
		if err := refuseTooMany(tx, o.Workspace); err != nil {
			return made, err
		}
		n, err := tx.Exec(`INSERT INTO projects (id, workspace, scope, slug, name, folded, description, created_at, updated_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8) ON CONFLICT (workspace, slug) DO NOTHING`,
			id, o.Workspace, o.Scope, d.Slug, d.Name, fold(d.Slug, d.Name), d.Description, p.Now().UnixMilli())
		if err != nil {
			return made, fmt.Errorf("create project: %w", err)
		}
		if n == 0 {
			return made, nameTaken("Choose another slug.")
		}
		made, err = Find(tx, o, d.Slug)
		return made, cmp.Or(err, p.Audit.Append(ctx, tx, event(by, o.Scope, "project.created", "project", id)))
	})
}

func refuseTooMany(tx *sqldb.Tx, workspace string) error {
	n, err := sqldb.Value[int64](tx, "count projects", "SELECT count(*) FROM projects WHERE workspace = $1", workspace)
	if err == nil && n >= maxProjects {
		err = tooMany("projects in a workspace", maxProjects)
	}
	return err
}

// Get is one project.
func (p *Projects) Get(ctx context.Context, o Owner, slug string) (Project, error) {
	return sqldb.Read(ctx, p.DB, func(tx *sqldb.Tx) (Project, error) { return Find(tx, o, slug) })
}

// Edit is what changes of a project; nil stays.
type Edit struct {
	Name        *string `json:"name,omitzero"`
	Description *string `json:"description,omitzero" null:"none"`
}

// Patch changes a project whose version is the one given; 0 is any.
func (p *Projects) Patch(ctx context.Context, by audit.Actor, o Owner, slug string, version int64, e Edit) (Project, error) {
	if e.Name != nil {
		name := strings.TrimSpace(*e.Name)
		e.Name = &name
	}
	if err := checkTexts(e.Name, e.Description); err != nil {
		return Project{}, err
	}
	return sqldb.Write(ctx, p.DB, func(tx *sqldb.Tx) (Project, error) {
		changed, err := Claim(tx, o, slug, version)
		if err != nil {
			return changed, err
		}
		names := changed.apply(e)
		if len(names) == 0 {
			return changed, nil
		}
		changed.Version++
		changed.UpdatedAt = iso.Millis(p.Now().UnixMilli())
		err = tx.Do("change project", "UPDATE projects SET name = $2, folded = $3, description = $4, version = $5, updated_at = $6 WHERE id = $1",
			changed.ID, changed.Name, fold(slug, changed.Name), changed.Description, changed.Version, changed.UpdatedAt.UnixMilli())
		act := event(by, o.Scope, "project.changed", "project", changed.ID)
		act.Changes = names
		return changed, cmp.Or(err, p.Audit.Append(ctx, tx, act))
	})
}

// apply takes over what is given and differs, and says which.
func (r *Project) apply(e Edit) (names []string) {
	if e.Name != nil && *e.Name != r.Name {
		r.Name, names = *e.Name, append(names, "name")
	}
	if e.Description != nil && *e.Description != r.Description {
		r.Description, names = *e.Description, append(names, "description")
	}
	return names
}
