// Package mcp is the MCP servers of a workspace: where they are, what they have to offer, and what of it agents may use.
//
// A server is somebody else's program. It is reached through the guard of outward alone, what it lists is bounded, and what is left
// out is said. A tool is off until somebody switches it on, and off again when it has become another than the one that was looked at.
package mcp

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"log/slog"
	"time"

	"svc.dev/svc/internal/outward"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/secret"
)

//go:embed migrations
var migrations embed.FS

// Migrations are the tables of this room.
var Migrations = sqldb.NewRoom("mcp", migrations)

// Config is what servers need. DB, Secrets, Audit and Outward are required.
type Config struct {
	DB      *sqldb.DB
	Secrets *secret.Store
	Audit   *audit.Log
	// Outward is the way to every server.
	Outward *outward.Guard
	// Callback is where authorization servers send browsers back to. Defaults to none: nobody can sign in.
	Callback string
	// Programs is the scope whose servers may be programs on this machine. Defaults to none.
	Programs string
	// UsedBy is which agents of a scope use which servers, by the names of the servers. Defaults to none.
	UsedBy func(ctx context.Context, scope string) (map[string][]string, error)

	// ConnectTimeout bounds a connection until its tools are listed. Defaults to 10 seconds.
	ConnectTimeout time.Duration
	// CallTimeout is how long a call may be silent. Defaults to a minute.
	CallTimeout time.Duration
	// Idle is how long a connection is kept that nobody uses. Defaults to 5 minutes.
	Idle time.Duration
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
	// Log hears what no caller can be told. Defaults to slog.Default().
	Log *slog.Logger
}

// Servers is the MCP servers of all workspaces. It is safe for use by many; several nodes have one each.
type Servers struct {
	Config
	links *links
}

// New makes the servers of a database whose tables stand. Close ends their connections.
func New(c Config) (*Servers, error) {
	if c.DB == nil || c.Secrets == nil || c.Audit == nil || c.Outward == nil {
		return nil, errors.New("MCP servers need a database, secrets, an audit log and a way out")
	}
	c.ConnectTimeout, c.CallTimeout = cmp.Or(c.ConnectTimeout, 10*time.Second), cmp.Or(c.CallTimeout, time.Minute)
	c.Idle, c.Now, c.Log = cmp.Or(c.Idle, 5*time.Minute), iso.Clock(c.Now), cmp.Or(c.Log, slog.Default())
	if c.UsedBy == nil {
		c.UsedBy = func(context.Context, string) (map[string][]string, error) { return nil, nil }
	}
	return &Servers{Config: c, links: newLinks()}, nil
}

// Run closes connections that nobody uses, until ctx ends.
func (s *Servers) Run(ctx context.Context) error {
	ticker := time.NewTicker(max(s.Idle/5, time.Second))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			s.links.sweep(s.Idle)
		}
	}
}

// Close ends every connection. Calls in flight fail.
func (s *Servers) Close() { s.links.close() }

// Erase forgets all servers of a scope. Their credentials are secrets of the workspace, and go with those.
func (s *Servers) Erase(ctx context.Context, scope string) error {
	return s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		for _, table := range []string{"mcp_tools", "mcp_consents"} {
			if _, err := tx.Exec("DELETE FROM "+table+" WHERE server IN (SELECT id FROM mcp_servers WHERE scope = $1)", scope); err != nil {
				return err
			}
		}
		_, err := tx.Exec("DELETE FROM mcp_servers WHERE scope = $1", scope)
		return err
	})
}

func event(by audit.Actor, scope, action, id string, changes ...string) audit.Event {
	return audit.Event{Actor: by, Action: action, Target: audit.Target{Kind: "mcp", ID: id}, Scope: scope, Changes: changes}
}
