package account

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/secret"
	"svc.dev/svc/service/workspace"
)

// sessionPrefix lets scanners recognise a session's value that leaked.
const sessionPrefix = "svcs_"

// How a session came to be: ByGitHub is also the name of that provider.
const (
	byPassword = "password"
	ByGitHub   = "github"
)

// seenPause is the least time between two notes that a session was used.
const seenPause = time.Minute

// Session is a browser that is signed in.
type Session struct {
	ID         string
	CreatedAt  time.Time
	LastSeenAt time.Time
	ExpiresAt  time.Time
	AuthTime   time.Time // when the person last proved who they are
	Method     string    // password or github
	IP         string
	UserAgent  string
	Surface    string

	identity string
}

// Who is somebody signed in.
type Who struct {
	Session Session
	Account Account
}

// SignedIn is a new session and its value, which is shown once.
type SignedIn struct {
	Who
	Token  string
	Device string // marks this browser as one that the account knows; empty: unchanged
}

// Sessions are where people are signed in.
type Sessions struct{ *base }

// start opens a session for a person and ends the oldest when there are too many.
func (a *Sessions) start(ctx context.Context, tx *sqldb.Tx, p Account, method, identity string) (SignedIn, error) {
	now, from := a.Now(), audit.From(ctx)
	s := Session{
		ID: "ses_" + ulid.Make().String(), CreatedAt: now, LastSeenAt: now, AuthTime: now, Method: method,
		IP: from.IP, UserAgent: from.UserAgent, Surface: from.Surface, identity: identity,
	}
	s.ExpiresAt = a.expiry(s)
	value := sessionPrefix + secret.Random()
	return SignedIn{Who: Who{Session: s, Account: p}, Token: value}, cmp.Or(
		tx.Do("start session", `INSERT INTO sessions (id, token, account, created_at, last_seen_at, auth_time, auth_method, identity, ip, user_agent, surface)
			VALUES ($1, $2, $3, $4, $4, $4, $5, $6, $7, $8, $9)`,
			s.ID, secret.Fingerprint(value), p.ID, now.UnixMilli(), method, identity, s.IP, s.UserAgent, s.Surface),
		a.makeRoom(tx, p.ID),
	)
}

// makeRoom ends the oldest sessions beyond the most that an account may have.
func (a *Sessions) makeRoom(tx *sqldb.Tx, account string) error {
	now := a.Now()
	return tx.Do("end oldest sessions", `UPDATE sessions SET revoked_at = $2, revoke_reason = 'too_many' WHERE id IN (
		SELECT id FROM sessions WHERE account = $1 AND revoked_at IS NULL AND last_seen_at > $3 AND created_at > $4
		ORDER BY created_at DESC, id DESC LIMIT 1000 OFFSET $5)`,
		account, now.UnixMilli(), now.Add(-a.Idle).UnixMilli(), now.Add(-a.Absolute).UnixMilli(), a.MaxSessions)
}

// expiry is when a session ends if nobody uses it: the lifetimes of now hold for sessions of before.
func (a *Sessions) expiry(s Session) time.Time {
	idle, absolute := s.LastSeenAt.Add(a.Idle), s.CreatedAt.Add(a.Absolute)
	if idle.Before(absolute) {
		return idle
	}
	return absolute
}

const sessionColumns = `s.id, s.created_at, s.last_seen_at, s.auth_time, s.auth_method, s.identity, s.ip, s.user_agent, s.surface`

func (s *Session) fields() []any {
	return []any{&s.ID, sqldb.Time(&s.CreatedAt), sqldb.Time(&s.LastSeenAt), sqldb.Time(&s.AuthTime), &s.Method, &s.identity, &s.IP, &s.UserAgent, &s.Surface}
}

// Who is Known, and notes that the session is in use.
func (a *Sessions) Who(ctx context.Context, value string) (who Who, found bool, err error) {
	if who, found, err = a.Known(ctx, value); err != nil || !found {
		return who, false, err
	}
	return who, true, a.Seen(ctx, who)
}

// Known is who is behind a session's value; found is false for every value that opens nothing, whatever the reason.
func (a *Sessions) Known(ctx context.Context, value string) (who Who, found bool, err error) {
	if !plausible(sessionPrefix, value) {
		return who, false, nil // the database need not be asked
	}
	err = a.DB.Read(ctx, func(tx *sqldb.Tx) (err error) {
		who, found, err = a.Of(tx, value)
		return err
	})
	if err != nil || !found {
		return Who{}, false, err
	}
	return who, true, nil
}

// Of is who is signed in by a value, in a transaction.
func (a *Sessions) Of(tx *sqldb.Tx, value string) (Who, bool, error) {
	if !plausible(sessionPrefix, value) {
		return Who{}, false, nil
	}
	who, found, err := sqldb.First(tx, "find session", a.scanWho, `SELECT `+Columns+`, `+sessionColumns+` FROM sessions s JOIN accounts a ON a.id = s.account
		WHERE s.token = $1 AND s.revoked_at IS NULL`, secret.Fingerprint(value))
	return who, found && who.Account.Alive() && a.Now().Before(who.Session.ExpiresAt), err
}

func (a *Sessions) scanWho(row sqldb.Row) (who Who, err error) {
	who.Account, err = Scan(row, who.Session.fields()...)
	who.Session.ExpiresAt = a.expiry(who.Session)
	return who, err
}

// plausible reports whether a value can be one that begins so.
func plausible(prefix, value string) bool {
	return len(value) == len(prefix)+43 && strings.HasPrefix(value, prefix)
}

// Seen notes that a session is in use, at most once a minute.
func (a *Sessions) Seen(ctx context.Context, who Who) error {
	now := a.Now()
	if now.Sub(who.Session.LastSeenAt) < seenPause {
		return nil
	}
	return a.DB.Do(ctx, "note session", "UPDATE sessions SET last_seen_at = $2 WHERE id = $1 AND last_seen_at < $3",
		who.Session.ID, now.UnixMilli(), now.Add(-seenPause).UnixMilli()+1)
}

// NeedFresh refuses unless the person proved who they are a short while ago.
func (a *Sessions) NeedFresh(who Who) error {
	if a.Now().Sub(who.Session.AuthTime) <= a.Fresh {
		return nil
	}
	return reauthRequired(who.Account.Methods)
}

// Workspaces lists the workspaces of a person.
func (a *Accounts) Workspaces(ctx context.Context, account string) ([]workspace.Membership, error) {
	return sqldb.Read(ctx, a.DB, func(tx *sqldb.Tx) ([]workspace.Membership, error) { return workspace.Of(tx, account) })
}

// WorkspacesOf lists those of some people, by their accounts.
func (a *Accounts) WorkspacesOf(ctx context.Context, accounts []string) (map[string][]workspace.Membership, error) {
	return sqldb.Read(ctx, a.DB, func(tx *sqldb.Tx) (map[string][]workspace.Membership, error) { return workspace.OfAll(tx, accounts) })
}

// Logout ends the session of a value. It does not matter whether there was one.
func (a *Sessions) Logout(ctx context.Context, value string) error {
	if !plausible(sessionPrefix, value) {
		return nil
	}
	return a.DB.Write(ctx, func(tx *sqldb.Tx) error {
		who, found, err := a.Of(tx, value)
		if err != nil || !found {
			return err
		}
		if err := end(tx, a.Now(), "logout", "id = $3", who.Session.ID); err != nil {
			return err
		}
		events, err := endViews(tx, a.Now(), "session = $2", who.Session.ID)
		if err != nil {
			return err
		}
		p := who.Account
		return a.Audit.Append(ctx, tx, append(events, p.event(p.Actor(), "session.ended"))...)
	})
}

// end revokes the sessions that a condition names, whose first argument is $3.
func end(tx *sqldb.Tx, now time.Time, reason, where string, args ...any) error {
	_, err := endSome(tx, now, reason, where, args...)
	return err
}

// endSome is end that says how many there were.
func endSome(tx *sqldb.Tx, now time.Time, reason, where string, args ...any) (int64, error) {
	n, err := tx.Exec("UPDATE sessions SET revoked_at = $1, revoke_reason = $2 WHERE revoked_at IS NULL AND "+where,
		append([]any{now.UnixMilli(), reason}, args...)...)
	if err != nil {
		return 0, fmt.Errorf("end sessions: %w", err)
	}
	return n, nil
}

// renew gives a session a new value after its person proved who they are; the old value dies with it.
func (a *Sessions) renew(tx *sqldb.Tx, who Who, method string) (SignedIn, error) {
	value, now := sessionPrefix+secret.Random(), a.Now()
	if err := change(tx, "renew session", unauthenticated(), `UPDATE sessions SET token = $2, auth_time = $3, last_seen_at = $3, auth_method = $4
		WHERE id = $1 AND revoked_at IS NULL`, who.Session.ID, secret.Fingerprint(value), now.UnixMilli(), method); err != nil {
		return SignedIn{}, err
	}
	who.Session.AuthTime, who.Session.LastSeenAt, who.Session.Method = now, now, method
	who.Session.ExpiresAt = a.expiry(who.Session)
	return SignedIn{Who: who, Token: value}, nil
}

// Unauthenticated is the type of the refusal of whoever is not signed in.
const Unauthenticated = "unauthenticated"

func unauthenticated() error {
	return fault.New(Unauthenticated, "Sign in first.", "")
}

// List lists where a person is signed in, the last used first.
func (a *Sessions) List(ctx context.Context, who Who) ([]Session, error) {
	now := a.Now()
	all, err := sqldb.ReadAll(ctx, a.DB, a.scanSession, `SELECT `+sessionColumns+` FROM sessions s WHERE s.account = $1 AND s.revoked_at IS NULL
		ORDER BY s.last_seen_at DESC, s.id DESC LIMIT 1000`, who.Account.ID)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	return slices.DeleteFunc(all, func(s Session) bool { return !now.Before(s.ExpiresAt) }), nil
}

func (a *Sessions) scanSession(row sqldb.Row) (s Session, err error) {
	err = row.Scan(s.fields()...)
	s.ExpiresAt = a.expiry(s)
	return s, err
}

// End ends one session of a person.
func (a *Sessions) End(ctx context.Context, who Who, id string) error {
	return a.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if _, err := Acting(tx, who); err != nil {
			return err
		}
		n, err := endSome(tx, a.Now(), "ended by its person", "id = $3 AND account = $4", id, who.Account.ID)
		if err != nil {
			return err
		}
		if n == 0 {
			return notFound()
		}
		return a.Audit.Append(ctx, tx, audit.Event{
			Actor: who.Account.Actor(), Action: "session.ended", Target: audit.Target{Kind: "session", ID: id}, Scope: who.Account.scope(),
		})
	})
}

// EndOthers ends all sessions of a person but the one they ask from.
func (a *Sessions) EndOthers(ctx context.Context, who Who) (ended int64, err error) {
	if err := a.NeedFresh(who); err != nil {
		return 0, err
	}
	return sqldb.Write(ctx, a.DB, func(tx *sqldb.Tx) (int64, error) {
		if _, err := Acting(tx, who); err != nil {
			return 0, err
		}
		n, err := endSome(tx, a.Now(), "ended by its person", "account = $3 AND id <> $4", who.Account.ID, who.Session.ID)
		return n, cmp.Or(err, a.tell(ctx, tx, who.Account, "sessions.ended"))
	})
}

// Acting is the account of somebody signed in, locked, in the transaction of what they do. Somebody who was put out since their
// request began does nothing more: what ends a session has locked the account too, and is seen from here.
func Acting(tx *sqldb.Tx, who Who) (Account, error) {
	p, found, err := locked(tx, who.Account.ID)
	if err != nil {
		return p, err
	}
	if !found || !p.Alive() {
		return p, unauthenticated()
	}
	return p, stillSignedIn(tx, who)
}

// stillSignedIn refuses a session that has ended.
func stillSignedIn(tx *sqldb.Tx, who Who) error {
	lives, err := sqldb.Value[bool](tx, "find session", "SELECT EXISTS (SELECT 1 FROM sessions WHERE id = $1 AND revoked_at IS NULL)", who.Session.ID)
	if err == nil && !lives {
		err = unauthenticated()
	}
	return err
}
