package project

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/strictjson"
)

// Bounds of a record, in code points, and of how many there can be.
const (
	maxName        = 80
	maxDescription = 2000
	maxQuery       = 100
	maxProjects    = 1000 // of one workspace
)

// Project is one project of a workspace.
type Project struct {
	ID          string      `json:"id" id:"prj"`
	Workspace   string      `json:"-"`
	Scope       string      `json:"-"`
	Slug        string      `json:"slug"`
	Name        string      `json:"name"`
	Description string      `json:"description"`
	Repository  *Repository `json:"repository,omitempty"` // nil: it follows none
	Pulled      *Checkout   `json:"pulled,omitempty"`     // nil: it never followed one so far as to have its files
	Bytes       int64       `json:"bytes"`
	FileCount   int64       `json:"fileCount"`
	CreatedAt   iso.Moment  `json:"createdAt"`
	UpdatedAt   iso.Moment  `json:"updatedAt"`
	Version     int64       `json:"version"`
}

// record is a project as statements need it.
type record struct {
	Project
	deleted bool
}

// The columns of r are NULL where a project follows no repository.
const (
	recordColumns = `p.id, p.workspace, p.scope, p.slug, p.name, p.description, p.bytes, p.files, p.version, p.created_at, p.updated_at,
		p.deleted_at IS NOT NULL, r.provider, r.owner, r.name, r.branch, r.installation, r.commit_id, r.conflicts, r.pulled_at`
	recordTables = `projects p LEFT JOIN project_repositories r ON r.project = p.id`
)

func scanRecord(row sqldb.Row) (r record, err error) {
	var created, updated int64
	var provider, owner, name, branch, commit sql.NullString
	var installation, conflicts, pulled sql.NullInt64
	err = row.Scan(&r.ID, &r.Workspace, &r.Scope, &r.Slug, &r.Name, &r.Description, &r.Bytes, &r.FileCount, &r.Version, &created, &updated,
		&r.deleted, &provider, &owner, &name, &branch, &installation, &commit, &conflicts, &pulled)
	if err != nil {
		return r, err
	}
	r.CreatedAt, r.UpdatedAt = iso.Millis(created), iso.Millis(updated)
	if provider.Valid {
		r.Repository = &Repository{
			Provider: provider.String, Owner: owner.String, Name: name.String, Branch: branch.String, InstallationID: installation.Int64,
		}
	}
	if commit.String != "" {
		r.Pulled = &Checkout{Commit: commit.String, Conflicts: int(conflicts.Int64), At: iso.Millis(pulled.Int64)}
	}
	return r, nil
}

// find is the project of a slug; one of another workspace, and one that is being deleted, is not there.
func find(tx *sqldb.Tx, o Owner, slug string) (record, error) {
	if scope.CheckProject(slug) != nil {
		return record{}, notFound() // no project has such a name
	}
	r, err := scanRecord(tx.QueryRow("SELECT "+recordColumns+" FROM "+recordTables+
		" WHERE p.workspace = $1 AND p.scope = $2 AND p.slug = $3 AND p.deleted_at IS NULL", o.Workspace, o.Scope, slug))
	if errors.Is(err, sql.ErrNoRows) {
		return record{}, notFound()
	}
	if err != nil {
		return record{}, fmt.Errorf("find project: %w", err)
	}
	return r, nil
}

// claim is find before a change of the record: nobody else does until the transaction ends.
func claim(tx *sqldb.Tx, o Owner, slug string) (record, error) {
	if err := tx.Lock("SELECT id FROM projects WHERE workspace = $1 AND slug = $2", o.Workspace, slug); err != nil {
		return record{}, fmt.Errorf("lock project: %w", err)
	}
	return find(tx, o, slug)
}

// Has reports whether a workspace has a project of that slug, in the caller's transaction.
func Has(tx *sqldb.Tx, workspace, slug string) (bool, error) {
	if scope.CheckProject(slug) != nil {
		return false, nil
	}
	var n int
	err := tx.QueryRow("SELECT count(*) FROM projects WHERE workspace = $1 AND slug = $2 AND deleted_at IS NULL", workspace, slug).Scan(&n)
	if err != nil {
		return false, fmt.Errorf("find project: %w", err)
	}
	return n > 0, nil
}

// fold is the text that a search looks through.
func fold(slug, name string) string { return strings.ToLower(slug + "\n" + name) }

// checkText is what is wrong with a text that people chose.
func checkText(field, text string, least, most int, visible func(rune) bool) error {
	n := 0
	for _, c := range text {
		if n++; !visible(c) || c == '\uFFFD' {
			return wrong(field, strictjson.Invalid)
		}
	}
	switch {
	case n < least:
		return wrong(field, strictjson.TooShort)
	case n > most:
		return wrong(field, strictjson.TooLong)
	}
	return nil
}
