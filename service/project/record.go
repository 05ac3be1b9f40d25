package project

import (
	"fmt"
	"strings"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/scope"
)

// Bounds of a record, in code points, and of how many there can be.
const (
	maxName        = 80
	maxDescription = 2000
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
	Pulling     *Pulling    `json:"pulling,omitempty"`    // nil: no pull runs
	Bytes       int64       `json:"bytes"`
	FileCount   int64       `json:"fileCount"`
	CreatedAt   iso.Moment  `json:"createdAt"`
	UpdatedAt   iso.Moment  `json:"updatedAt"`
	Version     int64       `json:"version"`
}

// Repository is what a project follows.
type Repository struct {
	Provider       string `json:"provider"`
	Owner          string `json:"owner"`
	Name           string `json:"name"`
	Branch         string `json:"branch,omitzero"` // empty: the one that the repository itself names
	InstallationID int64  `json:"installationId"`
}

// Checkout is how far a project has followed its repository.
type Checkout struct {
	Commit    string     `json:"commit"`
	Conflicts int        `json:"conflicts"` // files that differ from the commit, for they were changed here
	At        iso.Moment `json:"at"`
}

// Pulling is a pull that runs.
type Pulling struct {
	Done  int64      `json:"done"`  // files that are as in the repository by now
	Total int64      `json:"total"` // of so many that were not; 0: that is not known yet
	Until iso.Moment `json:"until"` // it is taken for dead then, unless it is heard of again
}

// CheckVersion refuses another version than the present one; 0 is any.
func (r Project) CheckVersion(given int64) error {
	if given == 0 || given == r.Version {
		return nil
	}
	return fault.New(fault.VersionConflict, "Somebody changed this in the meantime.", "Read it again.").With("version", r.Version)
}

// selectProjects begins a statement that scanProject reads. There is no row of r where a project follows no repository.
const selectProjects = `SELECT p.id, p.workspace, p.scope, p.slug, p.name, p.description, p.bytes, p.files, p.version, p.created_at, p.updated_at,
	COALESCE(r.provider, ''), COALESCE(r.owner, ''), COALESCE(r.name, ''), COALESCE(r.branch, ''), COALESCE(r.installation, 0),
	COALESCE(r.commit_id, ''), COALESCE(r.conflicts, 0), r.pulled_at,
	COALESCE(r.pull, ''), COALESCE(r.pull_done, 0), COALESCE(r.pull_total, 0), r.pull_until
	FROM projects p LEFT JOIN project_repositories r ON r.project = p.id`

func scanProject(row sqldb.Row) (r Project, err error) {
	var at Repository
	var last Checkout
	var lease string
	var runs Pulling
	err = row.Scan(&r.ID, &r.Workspace, &r.Scope, &r.Slug, &r.Name, &r.Description, &r.Bytes, &r.FileCount, &r.Version, sqldb.Time(&r.CreatedAt.Time), sqldb.Time(&r.UpdatedAt.Time),
		&at.Provider, &at.Owner, &at.Name, &at.Branch, &at.InstallationID, &last.Commit, &last.Conflicts, sqldb.Time(&last.At.Time),
		&lease, &runs.Done, &runs.Total, sqldb.Time(&runs.Until.Time))
	if at.Provider != "" {
		r.Repository = &at
	}
	if last.Commit != "" {
		r.Pulled = &last
	}
	if lease != "" {
		r.Pulling = &runs
	}
	return r, err
}

// Find is the project of a slug; one of another workspace, and one that is being deleted, is not there.
func Find(tx *sqldb.Tx, o Owner, slug string) (Project, error) {
	if scope.CheckProject(slug) != nil {
		return Project{}, NotFound() // no project has such a name
	}
	r, found, err := sqldb.First(tx, "find project", scanProject, selectProjects+" WHERE p.workspace = $1 AND p.scope = $2 AND p.slug = $3 AND p.deleted_at IS NULL", o.Workspace, o.Scope, slug)
	if err == nil && !found {
		err = NotFound()
	}
	return r, err
}

// Claim is Find before a change of a project whose version is the one given, 0 is any: nobody else changes it until the
// transaction ends.
func Claim(tx *sqldb.Tx, o Owner, slug string, version int64) (Project, error) {
	if err := tx.Lock("SELECT id FROM projects WHERE workspace = $1 AND slug = $2", o.Workspace, slug); err != nil {
		return Project{}, fmt.Errorf("lock project: %w", err)
	}
	r, err := Find(tx, o, slug)
	if err == nil {
		err = r.CheckVersion(version)
	}
	return r, err
}

// Touch raises the version of a project that another room has changed something of.
func Touch(tx *sqldb.Tx, id string, now time.Time) error {
	return tx.Do("touch project", "UPDATE projects SET version = version + 1, updated_at = $2 WHERE id = $1", id, now.UnixMilli())
}

// Has reports whether a workspace has a project of that slug, in the caller's transaction.
func Has(tx *sqldb.Tx, workspace, slug string) (bool, error) {
	if scope.CheckProject(slug) != nil {
		return false, nil
	}
	_, found, err := sqldb.First(tx, "find project", sqldb.Column[string], "SELECT id FROM projects WHERE workspace = $1 AND slug = $2 AND deleted_at IS NULL", workspace, slug)
	return found, err
}

// HasAny reports whether a workspace has a project, in the caller's transaction.
func HasAny(tx *sqldb.Tx, workspace string) (bool, error) {
	_, found, err := sqldb.First(tx, "find project", sqldb.Column[string], "SELECT id FROM projects WHERE workspace = $1 AND deleted_at IS NULL LIMIT 1", workspace)
	return found, err
}

// fold is the text that a search looks through.
func fold(slug, name string) string { return strings.ToLower(slug + "\n" + name) }
