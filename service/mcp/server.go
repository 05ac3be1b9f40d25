package mcp

import (
	"context"
	"encoding/json"
	"fmt"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/secret"
)

// How a server is reached, and by which credential.
const (
	StreamableHTTP = "streamable-http"
	Stdio          = "stdio" // a program

	AuthNone   = "none"
	AuthBearer = "bearer"
	AuthOAuth  = "oauth"
)

// How a server does, as far as is known.
const (
	Connecting  = "connecting" // nobody has connected it as it is set up now
	OK          = "ok"
	NeedsSignIn = "needs_sign_in"
	Down        = "down"
)

// Server is an MCP server of a workspace.
type Server struct {
	ID           string     `json:"id" id:"mcp"`
	Scope        string     `json:"-"`
	Name         string     `json:"name"`
	Transport    string     `json:"transport" enum:"streamable-http stdio"`
	URL          string     `json:"url"`               // empty for a program
	Command      string     `json:"command,omitzero"`  // of a program
	Args         []string   `json:"args,omitzero"`     // of a program
	Env          []string   `json:"envNames,omitzero"` // of a program: which variables it is given
	Auth         string     `json:"auth" enum:"none bearer oauth"`
	TokenPresent bool       `json:"tokenPresent"`
	Status       string     `json:"status" enum:"connecting ok needs_sign_in down"`
	StatusAt     iso.Moment `json:"statusAt"`
	Reason       string     `json:"statusReason"`
	ToolCount    int64      `json:"toolCount"`
	EnabledCount int64      `json:"enabledCount"` // of the tools
	ChangedCount int64      `json:"changedCount"` // of the tools: switched off because they became others
	UsedBy       []string   `json:"usedBy"`       // names of agents
	CreatedAt    iso.Moment `json:"createdAt"`
	UpdatedAt    iso.Moment `json:"updatedAt"`
	Version      int64      `json:"version"`

	setting int64
	omitted string // in JSON
}

// Detail is a server with what it has to offer.
type Detail struct {
	Server
	Tools   []Tool    `json:"tools"`
	Omitted []Omitted `json:"omitted"` // what the server lists and cannot be used
	// SignInURL is where a browser goes to sign in; empty: it need not, or nobody asked for it.
	SignInURL string `json:"signInUrl,omitzero"`
}

func (s Server) checkVersion(given int64) error {
	if given == 0 || given == s.Version {
		return nil
	}
	return conflict(s)
}

// secret is the name under which the credential is kept. No person can choose it.
func (s Server) secret() string { return "mcp/" + s.ID }

func (s Server) owner() secret.Owner { return secret.Owner{Kind: secret.Business, Scope: s.Scope} }

// key is what a connection to the server is known by.
func (s Server) key() linkKey { return linkKey{s.Scope, fmt.Sprintf("%s/%d", s.ID, s.setting)} }

// selectServers begins a statement that scanServer reads.
const selectServers = `SELECT s.id, s.scope, s.name, s.transport, s.url, s.program, s.auth, s.token, s.setting, s.status, s.status_at, s.reason, s.omitted, s.version, s.created_at, s.updated_at,
	(SELECT count(*) FROM mcp_tools t WHERE t.server = s.id),
	(SELECT count(*) FROM mcp_tools t WHERE t.server = s.id AND t.enabled = 1),
	(SELECT count(*) FROM mcp_tools t WHERE t.server = s.id AND t.changed = 1) FROM mcp_servers s`

func scanServer(row sqldb.Row) (s Server, err error) {
	var started string
	err = row.Scan(&s.ID, &s.Scope, &s.Name, &s.Transport, &s.URL, &started, &s.Auth, &s.TokenPresent, &s.setting, &s.Status, sqldb.Time(&s.StatusAt.Time), &s.Reason, &s.omitted,
		&s.Version, sqldb.Time(&s.CreatedAt.Time), sqldb.Time(&s.UpdatedAt.Time), &s.ToolCount, &s.EnabledCount, &s.ChangedCount)
	s.UsedBy = []string{}
	if err == nil && started != "" {
		var p program
		err = json.Unmarshal([]byte(started), &p)
		s.setProgram(p)
	}
	return s, err
}

// find is a server of a scope; one of another is not there.
func find(tx *sqldb.Tx, scope, id string) (Server, error) {
	if !sqldb.Storable(id) {
		return Server{}, NotFound()
	}
	s, found, err := sqldb.First(tx, "find MCP server", scanServer, selectServers+" WHERE s.scope = $1 AND s.id = $2", scope, id)
	if err == nil && !found {
		err = NotFound()
	}
	return s, err
}

// claim is find before a change of a server whose version is the one given, 0 is any: nobody else changes it until the transaction
// ends.
func claim(tx *sqldb.Tx, scope, id string, version int64) (Server, error) {
	if !sqldb.Storable(id) {
		return Server{}, NotFound()
	}
	if err := tx.Lock("SELECT id FROM mcp_servers WHERE id = $1", id); err != nil {
		return Server{}, fmt.Errorf("lock MCP server: %w", err)
	}
	s, err := find(tx, scope, id)
	if err == nil {
		err = s.checkVersion(version)
	}
	return s, err
}

// detail is a server with its tools, as the transaction sees them.
func (s *Servers) detail(tx *sqldb.Tx, scope, id string) (d Detail, err error) {
	if d.Server, err = find(tx, scope, id); err != nil {
		return d, err
	}
	d.Omitted = []Omitted{}
	if err := json.Unmarshal([]byte(d.omitted), &d.Omitted); err != nil {
		return d, fmt.Errorf("read what is left out: %w", err)
	}
	d.Tools, err = toolsOf(tx, id)
	return d, err
}

// told is a detail with who uses it, or the error that came instead.
func (s *Servers) told(ctx context.Context, d Detail, err error) (Detail, error) {
	if err != nil {
		return Detail{}, err
	}
	used, err := s.UsedBy(ctx, d.Scope)
	if err != nil {
		return Detail{}, err
	}
	if names := used[d.Name]; names != nil {
		d.UsedBy = names
	}
	return d, nil
}
