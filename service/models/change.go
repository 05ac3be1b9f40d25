package models

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/secret"
	"svc.dev/svc/service/strictjson"
)

// Change is what is set of a provider. What is nil stays.
type Change struct {
	URL     *string // empty: where the service says, else where the provider is
	Key     *string
	Version int64 // that it is meant for; 0: any
	// Stale is the refusal of somebody who has not proven lately who they are. They add a key, and neither replace one nor send
	// one elsewhere.
	Stale error
}

// maxURL bounds an address.
const maxURL = 2048

// check refuses what could not be used.
func (m *Models) check(c Change) error {
	if c.Key != nil && !printable(*c.Key) {
		return refuse("key", "A key is text without spaces and control characters.")
	}
	if c.URL == nil || *c.URL == "" {
		return nil
	}
	u, err := url.Parse(*c.URL)
	if err != nil || len(*c.URL) > maxURL || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" {
		return refuse("url", "Write an address like https://models.example.com/v1, without a query or a user's name.")
	}
	if m.Guard.Check(u) != nil {
		return refuse("url", "This address lies on a private network: the operator allows it by model.allow_private.")
	}
	if u.Scheme == "http" && !m.Guard.Allows(u) {
		return refuse("url", "Keys and prompts go over https alone, but to places that the operator names (model.allow_private).")
	}
	return nil
}

// refuse names a field and says what to write instead.
func refuse(field, details string) error {
	f := strictjson.Refuse(strictjson.Field{Field: field, Type: strictjson.Invalid})
	f.Details = details
	return f
}

// printable reports whether a key can stand in a header.
func printable(key string) bool {
	return strings.TrimSpace(key) != "" && !strings.ContainsFunc(strings.TrimSpace(key), func(r rune) bool { return r <= ' ' || r > '~' })
}

// Put sets what a change says of a provider.
func (m *Models) Put(ctx context.Context, scope string, by audit.Actor, provider string, c Change) (p ModelProvider, err error) {
	if err := exists(provider); err != nil {
		return p, err
	}
	if err := m.check(c); err != nil {
		return p, err
	}
	return sqldb.Write(ctx, m.DB, func(tx *sqldb.Tx) (ModelProvider, error) {
		if err := m.put(ctx, tx, scope, by, provider, c); err != nil {
			return ModelProvider{}, err
		}
		return m.one(tx, scope, provider)
	})
}

func (m *Models) put(ctx context.Context, tx *sqldb.Tx, scope string, by audit.Actor, provider string, c Change) error {
	r, err := m.locked(tx, scope, provider, c.Version)
	if err != nil {
		return err
	}
	changes, before := []string{}, r.url
	if c.URL != nil {
		if r.url = c.URL; *c.URL == "" {
			r.url = nil
		}
		changes = append(changes, "url")
	}
	if err := m.mayReplace(tx, scope, provider, c, same(before, r.url)); err != nil {
		return err
	}
	if c.Key != nil {
		if _, err := m.Secrets.Seal(tx, owner(scope), KeyName(provider), []byte(strings.TrimSpace(*c.Key)), by.ID); err != nil {
			return err
		}
		changes = append(changes, "key")
	}
	if !same(before, r.url) {
		r.answered = ""
	}
	if err := m.set(tx, scope, provider, r, by); err != nil {
		return err
	}
	return m.note(ctx, tx, scope, by, "model.changed", provider, changes...)
}

// set writes down where a provider is. What was found of it before says nothing any more.
func (m *Models) set(tx *sqldb.Tx, scope, provider string, r preference, by audit.Actor) error {
	return tx.Do("set model provider", `UPDATE model_providers SET url = $3, version = version + 1, updated_at = $4, updated_by = $5, answered = $6,
checked_at = 0, result = '', message = '', latency_ms = 0 WHERE scope = $1 AND provider = $2`, scope, provider, r.url, m.Now().UnixMilli(), by.ID, r.answered)
}

func same(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// mayReplace refuses those who have proven nothing lately what they could do to a key that is there.
func (m *Models) mayReplace(tx *sqldb.Tx, scope, provider string, c Change, stays bool) error {
	if c.Stale == nil || c.Key == nil && stays {
		return nil
	}
	_, err := m.Secrets.FindIn(tx, owner(scope), KeyName(provider))
	if errors.Is(err, secret.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return c.Stale
}

// locked is the row of a provider, made if there is none, whose version is the one that is meant.
func (m *Models) locked(tx *sqldb.Tx, scope, provider string, version int64) (preference, error) {
	if err := makeRow(tx, scope, provider); err != nil {
		return preference{}, err
	}
	r, err := m.preference(tx, scope, provider, tx.ForUpdate())
	if err == nil && version != 0 && version != r.version {
		err = conflict(r.version)
	}
	return r, err
}

func conflict(now int64) error {
	return fault.New(fault.VersionConflict, "Somebody changed this in the meantime.", "Read it again.").With("version", now)
}

// Delete forgets what a workspace has set of a provider, its key too.
func (m *Models) Delete(ctx context.Context, scope string, by audit.Actor, provider string, version int64) error {
	if err := exists(provider); err != nil {
		return err
	}
	return m.DB.Write(ctx, func(tx *sqldb.Tx) error {
		r, err := m.locked(tx, scope, provider, version)
		if err != nil {
			return err
		}
		gone, err := m.Secrets.Delete(tx, owner(scope), KeyName(provider))
		if err != nil {
			return err
		}
		if !gone && r.url == nil {
			return fault.New(fault.ItemNotFound, "The workspace has set nothing of this provider.", "")
		}
		if err := m.set(tx, scope, provider, preference{}, by); err != nil {
			return err
		}
		return m.note(ctx, tx, scope, by, "model.deleted", provider, "url", "key")
	})
}

// PutDefault chooses the model of agents that name none; empty is the service's.
func (m *Models) PutDefault(ctx context.Context, scope string, by audit.Actor, name string, version int64) (ModelDefault, error) {
	if name != "" {
		if err := checkModel("default", name); err != nil {
			return ModelDefault{}, err
		}
	}
	return sqldb.Write(ctx, m.DB, func(tx *sqldb.Tx) (ModelDefault, error) {
		d, err := m.defaultOf(tx, scope, tx.ForUpdate())
		if err != nil {
			return d, err
		}
		if version != 0 && version != d.Version {
			return d, conflict(d.Version)
		}
		if err := m.setDefault(tx, scope, by, name); err != nil {
			return d, err
		}
		if err := m.note(ctx, tx, scope, by, "model.changed", "default", "default"); err != nil {
			return d, err
		}
		return m.defaultOf(tx, scope, "")
	})
}

// maxName bounds a model's name.
const maxName = 200

func checkModel(field, name string) error {
	if problem := strictjson.CheckLine(name, 1, maxName); problem != "" {
		return strictjson.Wrong(field, problem)
	}
	if err := CheckName(name); err != nil {
		return refuse(field, err.Error())
	}
	return nil
}

func (m *Models) setDefault(tx *sqldb.Tx, scope string, by audit.Actor, name string) error {
	return tx.Do("set default model", `INSERT INTO model_defaults (scope, model, version, updated_at, updated_by) VALUES ($1, $2, 2, $3, $4)
ON CONFLICT (scope) DO UPDATE SET model = excluded.model, version = model_defaults.version + 1, updated_at = excluded.updated_at, updated_by = excluded.updated_by`,
		scope, name, m.Now().UnixMilli(), by.ID)
}

func (m *Models) note(ctx context.Context, tx *sqldb.Tx, scope string, by audit.Actor, action, provider string, changes ...string) error {
	return m.Audit.Append(ctx, tx, audit.Event{Actor: by, Action: action, Target: audit.Target{Kind: "model", ID: provider}, Scope: scope, Changes: changes})
}

// Erase forgets all of a scope. Its keys go with its other secrets.
func Erase(tx *sqldb.Tx, scope string) error {
	if err := tx.Do("erase model providers", "DELETE FROM model_providers WHERE scope = $1", scope); err != nil {
		return err
	}
	return tx.Do("erase default model", "DELETE FROM model_defaults WHERE scope = $1", scope)
}
