// Package repository is the repositories that projects follow: which one it is, and the pulls that bring its files.
//
// Git is a program that fetches a pack into a folder of its own. It never sees a project's files and never writes any: a pull
// reads the pack through it, and changes files as everybody else does.
package repository

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/memory"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/project"
	"svc.dev/svc/service/storage"
	"svc.dev/svc/service/strictjson"
)

// Config is what repositories need. DB, Audit, Quotas and Projects are required.
type Config struct {
	DB       *sqldb.DB
	Audit    *audit.Log
	Quotas   *storage.Quotas
	Projects *project.Projects
	// Memory is what the lists of files take from that a pull holds, and Holder on whose share of it a scope draws. Default to
	// a budget of their own, and to the scope.
	Memory *memory.Budget
	Holder func(scope string) string
	// Token is a token that reads the repository through an installation, which must be one of the scope's. Defaults to
	// none: no project can follow a repository.
	Token func(ctx context.Context, provider, scope string, installation int64, owner, name string) (string, error)
	// Connected refuses a scope that has no connection to a provider. Defaults to none: nobody is asked.
	Connected func(ctx context.Context, provider, scope string) error
	// Hosts is where the repositories of a provider lie. Defaults to github at https://github.com.
	Hosts map[string]string
	// Git is the program that fetches, a path or a name on the PATH; without it no project can follow a repository.
	// Defaults to git.
	Git string
	// Slack is how many bytes git may take besides the content itself. Defaults to 32 MiB.
	Slack int64
	// PullTimeout is how long one pull may take, at most half of project.ScratchLife. Defaults to 10 minutes.
	PullTimeout time.Duration
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
	// Step is told where a pull stands, for tests that stop it there. Defaults to nobody.
	Step func(stage string)
}

func (c *Config) setDefaults() {
	c.Memory = cmp.Or(c.Memory, memory.New(0))
	if c.Holder == nil {
		c.Holder = func(scope string) string { return scope }
	}
	if c.Connected == nil {
		c.Connected = func(context.Context, string, string) error { return nil }
	}
	if c.Hosts == nil {
		c.Hosts = map[string]string{"github": "https://github.com"}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Step == nil {
		c.Step = func(string) {}
	}
	c.Git, c.Slack, c.PullTimeout = cmp.Or(c.Git, "git"), cmp.Or(c.Slack, 32<<20), cmp.Or(c.PullTimeout, 10*time.Minute)
}

// Repositories is what the projects of a service follow, safe for concurrent use. Several nodes have one each.
type Repositories struct{ Config }

// New makes the repositories of projects.
func New(c Config) (*Repositories, error) {
	if c.DB == nil || c.Audit == nil || c.Quotas == nil || c.Projects == nil {
		return nil, errors.New("repositories need a database, an audit log, quotas and projects")
	}
	if c.setDefaults(); c.PullTimeout > project.ScratchLife/2 {
		return nil, fmt.Errorf("a pull may take %s at most", project.ScratchLife/2)
	}
	return &Repositories{c}, nil
}

var (
	ownerName      = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9_-]{0,38})$`)
	repositoryName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)
)

func (s *Repositories) check(r project.Repository) error {
	switch {
	case s.Hosts[r.Provider] == "":
		return fault.New(fault.UnknownProvider, "There is no such provider.", "")
	case !ownerName.MatchString(r.Owner):
		return strictjson.Wrong("owner", strictjson.Invalid)
	case !repositoryName.MatchString(r.Name) || strings.Trim(r.Name, ".") == "" || strings.HasSuffix(strings.ToLower(r.Name), ".git"):
		return strictjson.Wrong("name", strictjson.Invalid)
	case r.Branch != "" && !isBranch(r.Branch):
		return strictjson.Wrong("branch", strictjson.Invalid)
	case r.InstallationID <= 0:
		return strictjson.Wrong("installationId", strictjson.Invalid)
	}
	return nil
}

// maxBranch bounds the name of a branch, in bytes.
const maxBranch = 255

// isBranch is git's own rule for the name of a branch, and no name that looks like an option.
func isBranch(name string) bool {
	if len(name) > maxBranch || name == "@" || name[0] == '-' || strings.HasSuffix(name, ".") ||
		strings.Contains(name, "..") || strings.Contains(name, "@{") || project.CheckPath(name) != nil {
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
func (s *Repositories) Connect(ctx context.Context, by audit.Actor, o project.Owner, slug string, version int64, r project.Repository) (is project.Project, err error) {
	if err := s.check(r); err != nil {
		return is, err
	}
	if is, err = s.Projects.Get(ctx, o, slug); err == nil {
		err = is.CheckVersion(version)
	}
	if err != nil {
		return project.Project{}, err
	}
	asking, end := context.WithTimeout(ctx, askTimeout)
	defer end()
	far, err := s.reach(asking, o.Scope, r)
	if err != nil {
		return project.Project{}, err
	}
	defer far.close()
	if _, err := far.head(asking); err != nil {
		return project.Project{}, err
	}
	return s.follow(ctx, by, o, slug, version, &r)
}

// Disconnect makes a project follow no repository any more. Its files stay.
func (s *Repositories) Disconnect(ctx context.Context, by audit.Actor, o project.Owner, slug string, version int64) (project.Project, error) {
	return s.follow(ctx, by, o, slug, version, nil)
}

// follow puts on record what a project follows; nil is nothing.
func (s *Repositories) follow(ctx context.Context, by audit.Actor, o project.Owner, slug string, version int64, r *project.Repository) (project.Project, error) {
	return sqldb.Write(ctx, s.DB, func(tx *sqldb.Tx) (project.Project, error) {
		is, err := project.Claim(tx, o, slug, version)
		if err != nil {
			return is, err
		}
		action := "repository.connected"
		if r == nil {
			if action = "repository.disconnected"; is.Repository == nil {
				return is, project.NotFound()
			}
		}
		if err := cmp.Or(s.refusePulling(tx, is.ID), s.store(tx, is, r)); err != nil {
			return is, err
		}
		is, err = project.Find(tx, o, slug)
		return is, cmp.Or(err, s.Audit.Append(ctx, tx, audit.Event{Actor: by, Action: action, Target: audit.Target{Kind: "project", ID: is.ID}, Scope: o.Scope}))
	})
}

// refusePulling keeps what a project follows as it is while a pull runs.
func (s *Repositories) refusePulling(tx *sqldb.Tx, project string) error {
	_, found, err := sqldb.First(tx, "find pull", sqldb.Column[string], "SELECT pull FROM project_repositories WHERE project = $1 AND pull_until > $2", project, s.Now().UnixMilli())
	if found {
		return pullRuns()
	}
	return err
}

// isSame says whether what was pulled stays known: only the way there may be new.
func isSame(was, is *project.Repository) bool {
	if was == nil || is == nil {
		return false
	}
	there := *is
	there.InstallationID = was.InstallationID
	return *was == there
}

func (s *Repositories) store(tx *sqldb.Tx, is project.Project, r *project.Repository) (err error) {
	if !isSame(is.Repository, r) {
		err = cmp.Or(
			tx.Do("unfollow", "DELETE FROM project_repositories WHERE project = $1", is.ID),
			tx.Do("unfollow", "DELETE FROM project_bases WHERE project = $1", is.ID),
		)
	}
	if r != nil {
		err = cmp.Or(err, tx.Do("follow", `INSERT INTO project_repositories (project, provider, owner, name, branch, installation) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (project) DO UPDATE SET installation = excluded.installation`,
			is.ID, r.Provider, r.Owner, r.Name, r.Branch, r.InstallationID))
	}
	return cmp.Or(err, project.Touch(tx, is.ID, s.Now()))
}
