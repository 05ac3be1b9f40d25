package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/mail"
	"svc.dev/svc/service/throttle"
)

const day = 24 * time.Hour

// How many there can be.
const (
	maxBusinesses   = 100  // that one account owns
	maxPeople       = 1000 // of one workspace, with those who are invited
	maxTeams        = 100  // of one workspace
	maxTeamMembers  = 500
	maxTeamProjects = 500
)

// Config is what workspaces need. DB, Audit, Mail and Platform are required.
type Config struct {
	DB    *sqldb.DB
	Audit *audit.Log
	Mail  *mail.Outbox

	// Platform is the address of the account surface, without a slash at its end; a link to accept begins with it.
	Platform string
	// HasProject reports whether a workspace has a project of that slug. Defaults to: none has.
	HasProject func(tx *sqldb.Tx, workspace, slug string) (bool, error)
	// Destroy destroys what other rooms keep of a workspace whose hold is over. It may be called again for what is
	// destroyed already, and by two nodes at once; while it fails the workspace waits. Defaults to nothing.
	Destroy func(ctx context.Context, w Workspace) error
	// CanMail reports whether mails reach people: then invitations are mailed, and only a verified address accepts one.
	// Defaults to whether the outbox sends.
	CanMail func() bool
	// Hold is how long a deleted workspace can come back. Defaults to 14 days.
	Hold time.Duration
	// Life is how long an invitation is valid. Defaults to 7 days.
	Life time.Duration
	// Keep is how long an invitation that has expired stays in its list. Defaults to 30 days.
	Keep time.Duration
	// Invites is how often one person may invite somebody, or invite them again. Defaults to 100 a day.
	Invites throttle.Rate
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
}

func (c *Config) setDefaults() {
	if c.HasProject == nil {
		c.HasProject = func(*sqldb.Tx, string, string) (bool, error) { return false, nil }
	}
	if c.Destroy == nil {
		c.Destroy = func(context.Context, Workspace) error { return nil }
	}
	if c.CanMail == nil {
		c.CanMail = c.Mail.Enabled
	}
	c.Hold = cmp.Or(c.Hold, 14*day)
	c.Life = cmp.Or(c.Life, 7*day)
	c.Keep = cmp.Or(c.Keep, 30*day)
	c.Invites = cmp.Or(c.Invites, throttle.Rate{Limit: 100, Per: day})
	if c.Now == nil {
		c.Now = time.Now
	}
}

// Workspaces is the businesses of a service, on a database that all its nodes share.
type Workspaces struct {
	Config
	Teams   *Teams
	imports sync.Map // scopes of the workspaces that this process imports
}

// Teams is the teams of all workspaces.
type Teams struct{ *Workspaces }

// New makes the workspaces of a database whose tables stand.
func New(c Config) (*Workspaces, error) {
	if c.DB == nil || c.Audit == nil || c.Mail == nil || c.Platform == "" {
		return nil, errors.New("workspaces need a database, an audit log, an outbox and the platform's address")
	}
	c.setDefaults()
	w := &Workspaces{Config: c}
	w.Teams = &Teams{w}
	return w, nil
}

// sweepRows are deleted at once.
const sweepRows = 500

// Sweep forgets invitations that expired longer ago than Keep, and says how many.
func (w *Workspaces) Sweep(ctx context.Context, now time.Time) (int64, error) {
	total, err := sqldb.Drain(ctx, w.DB, sweepRows, func(tx *sqldb.Tx) (int64, error) {
		return tx.Exec(`DELETE FROM invitations WHERE id IN (SELECT id FROM invitations WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)`,
			now.Add(-w.Keep).UnixMilli(), sweepRows)
	})
	if err != nil {
		return total, fmt.Errorf("sweep invitations: %w", err)
	}
	return total, nil
}
