package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/audit"
	client "svc.dev/svc/tool/mcp"
)

// What a look at a server came to, beside OK and NeedsSignIn.
const (
	unreachable = "unreachable"
	forbidden   = "address_forbidden"
	timeout     = "timeout"
	refused     = "refused"
)

// Tested is what a look at a server came to.
type Tested struct {
	Result    string     `json:"result" enum:"ok needs_sign_in unreachable address_forbidden timeout refused"`
	Message   string     `json:"message"`
	LatencyMs int64      `json:"latencyMs"`
	CheckedAt iso.Moment `json:"checkedAt"`
	ToolCount int        `json:"toolCount"` // of those that can be used
}

// finding is a look with what was seen.
type finding struct {
	Tested
	tools      []Tool
	omitted    []Omitted
	challenges []string // by which the server wanted a credential
}

// status is how a server does of which a look came to that.
func (f finding) status() (status, reason string) {
	switch f.Result {
	case OK:
		return OK, ""
	case NeedsSignIn:
		return NeedsSignIn, f.Message
	}
	return Down, f.Message
}

// look connects to a server and lists what it has. That it is not reached is a finding; an error is ours.
func (s *Servers) look(ctx context.Context, at Server) (finding, error) {
	begun := time.Now()
	server, w, err := s.dial(ctx, at)
	if ctx.Err() != nil {
		err = context.Cause(ctx) // nobody waits: it says nothing of the server
	}
	if server != nil {
		defer s.links.letGo(server)
	}
	if err != nil && (w == nil || ctx.Err() != nil) {
		return finding{}, err
	}
	f := s.seen(at, server, w, err)
	f.LatencyMs = time.Since(begun).Milliseconds()
	return f, nil
}

// seen is what an attempt to connect came to.
func (s *Servers) seen(at Server, server *client.Server, w *way, err error) finding {
	f := judged(w, err)
	f.CheckedAt = iso.Millis(s.Now().UnixMilli())
	if all := w.challenges.Load(); all != nil {
		f.challenges = *all
	}
	if server != nil {
		has, left := server.Listing()
		f.tools, f.omitted = sift(at.Name, has, left)
		f.ToolCount = len(f.tools)
	}
	return f
}

// dial connects to a server. The way is there even where it led nowhere, unless its credential could not be read.
func (s *Servers) dial(ctx context.Context, at Server) (*client.Server, *way, error) {
	if at.Transport == Stdio {
		return programs{s}.start(ctx, at)
	}
	w, http, err := s.way(ctx, at)
	if err != nil {
		return nil, nil, err
	}
	c := s.client(at)
	c.URL, c.HTTP = at.URL, http
	server, err := client.Connect(ctx, c)
	return server, w, err
}

// client is what connections to a server have in common, wherever it is.
func (s *Servers) client(at Server) client.Config {
	return client.Config{ConnectTimeout: s.ConnectTimeout, CallTimeout: s.CallTimeout, Log: s.Log.With("scope", at.Scope, "server", at.ID)}
}

// judged says what an attempt came to, in words that hold nothing of what the other side said.
func judged(w *way, err error) (f finding) {
	result, message := unreachable, w.why("The server cannot be reached.")
	switch {
	case err == nil:
		result, message = OK, ""
	case w.forbidden.Load():
		result, message = forbidden, "The address leads to where this service does not go."
	case fault.Is(err, client.Unauthorized):
		result, message = NeedsSignIn, w.why("The server refuses the credential, or wants one.")
	case fault.Is(err, client.Timeout):
		result, message = timeout, "The server did not answer in time."
	case fault.Is(err, client.Refused):
		result, message = refused, "The server answered with an error."
	}
	f.Result, f.Message = result, message
	return f
}

// Connect connects a server, of which the version is the one given, 0 is any, and keeps what it has to offer. One that is not
// reached is a refusal, and known as down from then on. Where somebody has to sign in first, it says where the traveller can; nil:
// nobody travels.
func (s *Servers) Connect(ctx context.Context, by audit.Actor, scope, id string, version int64, from *Traveller) (Detail, error) {
	at, err := s.one(ctx, scope, id, version)
	if err != nil {
		return Detail{}, err
	}
	found, err := s.look(ctx, at)
	if err != nil {
		return Detail{}, err
	}
	if from == nil || at.Auth != AuthOAuth || found.Result != NeedsSignIn {
		return s.keepFound(ctx, by, at, found)
	}
	address, err := s.depart(ctx, *from, at, found)
	why, closed := errors.AsType[impossible](err)
	if err != nil && !closed {
		return Detail{}, err
	}
	if closed {
		found.Message = why.Error()
	}
	d, err := s.keepFound(ctx, by, at, found)
	if err == nil && closed {
		err = fault.New(Unreachable, "Nobody can sign in to the MCP server.", found.Message).With("result", found.Result)
	}
	d.SignInURL = address
	return d, err
}

// Refresh is Connect for a server that was connected before.
func (s *Servers) Refresh(ctx context.Context, by audit.Actor, scope, id string, version int64) (Detail, error) {
	at, err := s.one(ctx, scope, id, version)
	if err != nil {
		return Detail{}, err
	}
	if at.Status == Connecting || at.Status == NeedsSignIn {
		return Detail{}, fault.New(NotConnected, "The MCP server is not connected.", "Connect it first.")
	}
	return s.observe(ctx, by, at)
}

func (s *Servers) one(ctx context.Context, scope, id string, version int64) (Server, error) {
	return sqldb.Read(ctx, s.DB, func(tx *sqldb.Tx) (Server, error) {
		at, err := find(tx, scope, id)
		return at, cmp.Or(err, at.checkVersion(version))
	})
}

func (s *Servers) observe(ctx context.Context, by audit.Actor, at Server) (Detail, error) {
	found, err := s.look(ctx, at)
	if err != nil {
		return Detail{}, err
	}
	return s.keepFound(ctx, by, at, found)
}

// keepFound is record, and the refusal of a server that was not reached.
func (s *Servers) keepFound(ctx context.Context, by audit.Actor, at Server, found finding) (Detail, error) {
	d, err := s.record(ctx, by, at, found)
	d, err = s.told(ctx, d, err)
	if status, reason := found.status(); err == nil && status == Down {
		return d, fault.New(Unreachable, reason, "What is known of the server is kept.").With("result", found.Result)
	}
	return d, err
}

// record keeps what was found of a server, unless it was set up otherwise meanwhile.
func (s *Servers) record(ctx context.Context, by audit.Actor, at Server, found finding) (Detail, error) {
	return sqldb.Write(ctx, s.DB, func(tx *sqldb.Tx) (d Detail, err error) {
		now, err := claim(tx, at.Scope, at.ID, 0)
		if err != nil {
			return d, err
		}
		if now.setting != at.setting {
			return d, conflict(now)
		}
		status, reason := found.status()
		if err := tx.Do("keep status", "UPDATE mcp_servers SET status = $2, status_at = $3, reason = $4 WHERE id = $1", at.ID, status, found.CheckedAt.UnixMilli(), reason); err != nil {
			return d, err
		}
		if found.Result == OK {
			if err := s.keepTools(ctx, tx, by, now, found); err != nil {
				return d, err
			}
		}
		return s.detail(tx, at.Scope, at.ID)
	})
}

// keepTools keeps what a server has to offer now, and tells the workspace what became of its own.
func (s *Servers) keepTools(ctx context.Context, tx *sqldb.Tx, by audit.Actor, of Server, found finding) error {
	off, news, err := reconcile(tx, of.ID, found.tools)
	if err != nil {
		return err
	}
	omitted, err := json.Marshal(found.omitted)
	if err != nil {
		return err
	}
	if found.omitted == nil {
		omitted = []byte("[]")
	}
	if string(omitted) != of.omitted {
		news = true
		if err := tx.Do("keep what is left out", "UPDATE mcp_servers SET omitted = $2 WHERE id = $1", of.ID, string(omitted)); err != nil {
			return err
		}
	}
	if !news {
		return nil
	}
	what := event(by, of.Scope, "mcp.tools_listed", of.ID)
	if len(off) > 0 {
		what = event(by, of.Scope, "mcp.tools_switched_off", of.ID, off...)
	}
	return cmp.Or(s.touch(tx, of.ID), s.Audit.Append(ctx, tx, what))
}

// Test looks at a server and keeps how it does. Its tools stay as they are.
func (s *Servers) Test(ctx context.Context, scope, id string) (Tested, error) {
	at, err := s.one(ctx, scope, id, 0)
	if err != nil {
		return Tested{}, err
	}
	found, err := s.look(ctx, at)
	if err != nil {
		return Tested{}, err
	}
	return found.Tested, s.keepStatus(ctx, at, found)
}

// keepStatus keeps how a server does that is still set up as it was. Why somebody has to sign in is said once: what comes after that
// knows less.
func (s *Servers) keepStatus(ctx context.Context, at Server, found finding) error {
	status, reason := found.status()
	err := s.DB.Do(ctx, "keep status", `UPDATE mcp_servers SET status = $3, status_at = $4, reason = CASE WHEN status = $6 AND $3 = $6 THEN reason ELSE $5 END
		WHERE id = $1 AND setting = $2`,
		at.ID, at.setting, status, found.CheckedAt.UnixMilli(), reason, NeedsSignIn)
	if err != nil {
		return fmt.Errorf("of MCP server: %w", err)
	}
	return nil
}
