// Package apikey is API keys: what a program brings instead of a session. A person makes them, each for one workspace.
package apikey

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/mail"
	"svc.dev/svc/service/strictjson"
	"svc.dev/svc/service/workspace"
)

// Config is what keys need. All but Now is required.
type Config struct {
	DB       *sqldb.DB
	Audit    *audit.Log
	Mail     *mail.Outbox
	Accounts *account.Accounts
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
}

// Keys are the API keys of a service. Their table is among those of account.Migrations.
type Keys struct{ Config }

// New makes the keys of a database whose tables stand.
func New(c Config) *Keys {
	c.Now = iso.Clock(c.Now)
	return &Keys{c}
}

// Create makes a key for a workspace and returns its value, which is shown once.
func (a *Keys) Create(ctx context.Context, who account.Who, in workspace.Membership, d Draft) (k Key, value string, err error) {
	now := a.Now()
	if err := d.check(now); err != nil {
		return k, "", err
	}
	if err := a.Accounts.Sessions.NeedFresh(who); err != nil {
		return k, "", err
	}
	if d.Forever && in.Role != workspace.Owner {
		return k, "", ownersOnly()
	}
	k = Key{
		Kind: API, Name: strings.TrimSpace(d.Name), Scopes: inOrder(d.Scopes), Workspace: in.ID, Scope: in.Scope, Creator: who.Account.ID,
		ExpiresAt: iso.At(d.expiry(now)), Staff: d.Staff,
	}
	err = a.DB.Write(ctx, func(tx *sqldb.Tx) (err error) {
		if _, err := account.Acting(tx, who); err != nil {
			return err
		}
		if err := refuseTooMany(tx, in.ID); err != nil {
			return err
		}
		value, err = k.insert(tx, a.Now(), "")
		return cmp.Or(err, a.tell(ctx, tx, who, k, "key.created"))
	})
	if err != nil {
		return Key{}, "", err
	}
	return k, value, nil
}

func ownersOnly() error {
	return fault.New(fault.Forbidden, "Only an owner makes a key that never expires.", "").With("role", workspace.Owner)
}

func refuseTooMany(tx *sqldb.Tx, workspace string) error {
	n, err := sqldb.Value[int](tx, "count keys", "SELECT count(*) FROM api_keys WHERE workspace = $1 AND kind <> $2 AND revoked_at IS NULL", workspace, Device)
	if err == nil && n >= maxKeys {
		err = fault.Invalid("A workspace has at most %d keys.", maxKeys)
	}
	return err
}

func (a *Keys) tell(ctx context.Context, tx *sqldb.Tx, who account.Who, k Key, action string) error {
	return a.Audit.Append(ctx, tx, audit.Event{
		Actor: who.Account.Actor(), Action: action, Target: audit.Target{Kind: "key", ID: k.ID}, Scope: k.Scope,
	})
}

// Query asks for some keys, newest first.
type Query struct {
	listing.Query
	Workspace string
	All       bool // of all workspaces: then Workspace is not looked at
}

// List lists the keys of a workspace, or of all, that are not revoked, the newest first, each with its state.
func (a *Keys) List(ctx context.Context, q Query) (page listing.Page[Key], err error) {
	if err := q.Check(); err != nil {
		return page, err
	}
	var after string
	if err := q.After(&after); err != nil {
		return page, err
	}
	which := "k.workspace = $1"
	if q.All {
		which, q.Workspace = "k.workspace <> $1", ""
	}
	now := a.Now()
	all, err := sqldb.ReadAll(ctx, a.DB, scanListed(now), listed+" WHERE "+which+` AND (k.revoked_at IS NULL OR k.revoked_at > $2)
		AND ($3 = '' OR k.id < $3) AND lower(k.name) LIKE lower($4) ESCAPE '\' ORDER BY k.id DESC LIMIT $5`,
		q.Workspace, now.UnixMilli(), after, sqldb.Contains(q.Q), q.Size()+1)
	if err != nil {
		return page, fmt.Errorf("list keys: %w", err)
	}
	return listing.Cut(all, q.Size(), func(k Key) []any { return []any{k.ID} }), nil
}

// Rotate makes another key with the same rights. The old one dies after the grace; rotating it twice is refused. One that
// never expires comes from an owner, as when it was made; one by the authority of the staff lives as long as those do.
func (a *Keys) Rotate(ctx context.Context, who account.Who, in workspace.Membership, id string, grace time.Duration, staff bool) (k Key, value string, err error) {
	if grace < 0 || grace > maxGrace {
		return k, "", strictjson.Wrong("graceSeconds", strictjson.Invalid)
	}
	if err := a.Accounts.Sessions.NeedFresh(who); err != nil {
		return k, "", err
	}
	err = a.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if _, err := account.Acting(tx, who); err != nil {
			return err
		}
		n, err := tx.Exec(`UPDATE api_keys SET revoked_at = $3 WHERE id = $1 AND workspace = $2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $4)`,
			id, in.ID, a.Now().Add(grace).UnixMilli(), a.Now().UnixMilli())
		if err != nil {
			return fmt.Errorf("rotate key: %w", err)
		}
		if n == 0 {
			return notFound()
		}
		old, err := scan(tx.QueryRow("SELECT "+columns+" FROM api_keys k WHERE k.id = $1", id))
		if err != nil {
			return fmt.Errorf("find key: %w", err)
		}
		if old.ExpiresAt.IsZero() && in.Role != workspace.Owner && !staff {
			return ownersOnly()
		}
		k = old.heir(a.Now(), who.Account.ID, staff)
		value, err = k.insert(tx, a.Now(), id)
		return cmp.Or(err, a.tell(ctx, tx, who, k, "key.rotated"))
	})
	if err != nil {
		return Key{}, "", err
	}
	return k, value, nil
}

// Revoke ends a key of a workspace at once.
func (a *Keys) Revoke(ctx context.Context, who account.Who, in workspace.Membership, id string) error {
	return a.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if _, err := account.Acting(tx, who); err != nil {
			return err
		}
		n, err := tx.Exec("UPDATE api_keys SET revoked_at = $3 WHERE id = $1 AND workspace = $2 AND (revoked_at IS NULL OR revoked_at > $3)",
			id, in.ID, a.Now().UnixMilli())
		if err != nil {
			return fmt.Errorf("revoke key: %w", err)
		}
		if n == 0 {
			return notFound()
		}
		return a.tell(ctx, tx, who, Key{ID: id, Scope: in.Scope}, "key.revoked")
	})
}

func notFound() error { return fault.New(fault.ItemNotFound, "There is no such item.", "") }

// Forget deletes the keys of a workspace that is being erased. What is gone already is no error.
func (a *Keys) Forget(ctx context.Context, workspace string) error {
	return a.DB.Do(ctx, "forget keys", "DELETE FROM api_keys WHERE workspace = $1", workspace)
}
