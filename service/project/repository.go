package project

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/strictjson"
)

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

var (
	ownerName      = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9_-]{0,38})$`)
	repositoryName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)
)

func (p *Projects) check(r Repository) error {
	switch {
	case p.Hosts[r.Provider] == "":
		return fault.New(UnknownProvider, "There is no such provider.", "")
	case !ownerName.MatchString(r.Owner):
		return wrong("owner", strictjson.Invalid)
	case !repositoryName.MatchString(r.Name) || strings.Trim(r.Name, ".") == "" || strings.HasSuffix(strings.ToLower(r.Name), ".git"):
		return wrong("name", strictjson.Invalid)
	case r.Branch != "" && !isBranch(r.Branch):
		return wrong("branch", strictjson.Invalid)
	case r.InstallationID <= 0:
		return wrong("installationId", strictjson.Invalid)
	}
	return nil
}

// isBranch is git's own rule for the name of a branch, and no name that looks like an option.
func isBranch(name string) bool {
	if len(name) > maxSegment || name == "@" || name[0] == '-' || strings.HasSuffix(name, ".") ||
		strings.Contains(name, "..") || strings.Contains(name, "@{") || problemOfPath(name) != "" {
		return false
	}
	for segment := range strings.SplitSeq(name, "/") {
		if segment[0] == '.' || strings.HasSuffix(segment, ".lock") {
			return false
		}
	}
	return !strings.ContainsAny(name, " ~^:?*[")
}

// Connect makes a project follow a repository, which is asked whether it is there and has the branch. The files that are
// there stay; the first Pull brings those of the repository.
func (p *Projects) Connect(ctx context.Context, by audit.Actor, o Owner, slug string, version int64, r Repository) (Project, error) {
	if err := p.check(r); err != nil {
		return Project{}, err
	}
	is, err := p.find(ctx, o, slug)
	if err != nil {
		return Project{}, err
	}
	if err := refuseStale(version, is.Version); err != nil {
		return Project{}, err
	}
	asking, end := context.WithTimeout(ctx, askTimeout)
	defer end()
	far, err := p.reach(asking, o.Scope, r)
	if err != nil {
		return Project{}, err
	}
	defer far.close()
	if _, err := far.head(asking); err != nil {
		return Project{}, err
	}
	return p.follow(ctx, by, o, slug, version, &r)
}

// Disconnect makes a project follow no repository any more. Its files stay.
func (p *Projects) Disconnect(ctx context.Context, by audit.Actor, o Owner, slug string, version int64) (Project, error) {
	return p.follow(ctx, by, o, slug, version, nil)
}

// follow puts on record what a project follows; nil is nothing.
func (p *Projects) follow(ctx context.Context, by audit.Actor, o Owner, slug string, version int64, r *Repository) (Project, error) {
	var is record
	err := p.DB.Write(ctx, func(tx *sqldb.Tx) (err error) {
		if is, err = claim(tx, o, slug); err != nil {
			return err
		}
		if err := refuseStale(version, is.Version); err != nil {
			return err
		}
		action := "repository.connected"
		if r == nil {
			if action = "repository.disconnected"; is.Repository == nil {
				return notFound()
			}
		}
		if err := p.refusePulling(tx, is.ID); err != nil {
			return err
		}
		if err := p.storeRepository(tx, is, r); err != nil {
			return fmt.Errorf("follow repository: %w", err)
		}
		if is, err = find(tx, o, slug); err != nil {
			return err
		}
		return p.Audit.Append(ctx, tx, event(ctx, by, o.Scope, action, "project", is.ID))
	})
	return is.Project, err
}

// refusePulling keeps what a project follows as it is while a pull runs.
func (p *Projects) refusePulling(tx *sqldb.Tx, project string) error {
	var n int
	err := tx.QueryRow("SELECT count(*) FROM project_repositories WHERE project = $1 AND pull_until > $2", project, p.Now().UnixMilli()).Scan(&n)
	if err != nil {
		return fmt.Errorf("find pull: %w", err)
	}
	if n > 0 {
		return pullRuns()
	}
	return nil
}

func (p *Projects) storeRepository(tx *sqldb.Tx, is record, r *Repository) error {
	// What was pulled stays known where only the way there is new.
	if is.Repository == nil || r == nil || *is.Repository != (Repository{r.Provider, r.Owner, r.Name, r.Branch, is.Repository.InstallationID}) {
		for _, table := range []string{"project_repositories", "project_bases"} {
			if _, err := tx.Exec("DELETE FROM "+table+" WHERE project = $1", is.ID); err != nil {
				return err
			}
		}
	}
	if r != nil {
		_, err := tx.Exec(`INSERT INTO project_repositories (project, provider, owner, name, branch, installation) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (project) DO UPDATE SET installation = excluded.installation`,
			is.ID, r.Provider, r.Owner, r.Name, r.Branch, r.InstallationID)
		if err != nil {
			return err
		}
	}
	_, err := tx.Exec("UPDATE projects SET version = version + 1, updated_at = $2 WHERE id = $1", is.ID, p.Now().UnixMilli())
	return err
}
