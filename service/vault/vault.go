// Package vault is the secrets that people keep in a workspace: who may put them there, and what is told of it. Their
// values go in and never come out to anybody.
package vault

import (
	"context"
	"errors"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/secret"
)

// Vault keeps the secrets of workspaces.
type Vault struct {
	DB      *sqldb.DB
	Secrets *secret.Store
	Audit   *audit.Log
}

func owner(scope string) secret.Owner { return secret.Owner{Kind: secret.Business, Scope: scope} }

// Keys are those that seal the secrets of the service: the kid of new ones, and how many values each wraps.
func (v *Vault) Keys(ctx context.Context) (active string, rows map[string]int64, err error) {
	rows, err = v.Secrets.Rows(ctx)
	return v.Secrets.Active(), rows, err
}

// List is what is there, without values.
func (v *Vault) List(ctx context.Context, scope string) ([]secret.Entry, error) {
	all, err := v.Secrets.List(ctx, owner(scope))
	kept := all[:0]
	for _, e := range all {
		// Rooms keep secrets of their own in a workspace, under names that people cannot choose.
		if secret.Name(e.Name) == nil {
			kept = append(kept, e)
		}
	}
	return kept, err
}

// Find is one of them, without its value.
func (v *Vault) Find(ctx context.Context, scope, name string) (secret.Entry, error) {
	if secret.Name(name) != nil {
		return secret.Entry{}, notFound()
	}
	e, err := v.Secrets.Find(ctx, owner(scope), name)
	if errors.Is(err, secret.ErrNotFound) {
		err = notFound()
	}
	return e, err
}

// Put keeps a value under a name. With a version it refuses when that is not the present one.
func (v *Vault) Put(ctx context.Context, scope string, by audit.Actor, name, value string, version *int64) (e secret.Entry, err error) {
	if err := secret.Name(name); err != nil {
		return e, err
	}
	return sqldb.Write(ctx, v.DB, func(tx *sqldb.Tx) (e secret.Entry, err error) {
		if version != nil {
			e, err = v.Secrets.SealAt(tx, owner(scope), name, *version, []byte(value), by.ID)
		} else {
			e, err = v.Secrets.Seal(tx, owner(scope), name, []byte(value), by.ID)
		}
		if err != nil {
			return e, err
		}
		return e, v.tell(ctx, tx, scope, by, name, "secret.put")
	})
}

// Delete destroys a value. With a version it refuses when that is not the present one.
func (v *Vault) Delete(ctx context.Context, scope string, by audit.Actor, name string, version *int64) error {
	if secret.Name(name) != nil {
		return notFound()
	}
	return v.DB.Write(ctx, func(tx *sqldb.Tx) error {
		var gone bool
		var err error
		if version != nil {
			gone, err = v.Secrets.DeleteAt(tx, owner(scope), name, *version)
		} else {
			gone, err = v.Secrets.Delete(tx, owner(scope), name)
		}
		if err != nil {
			return err
		}
		if !gone {
			return notFound()
		}
		return v.tell(ctx, tx, scope, by, name, "secret.deleted")
	})
}

func (v *Vault) tell(ctx context.Context, tx *sqldb.Tx, scope string, by audit.Actor, name, action string) error {
	return v.Audit.Append(ctx, tx, audit.Event{Actor: by, Action: action, Target: audit.Target{Kind: "secret", ID: name}, Scope: scope, Changes: []string{"value"}})
}

func notFound() error { return fault.New(fault.ItemNotFound, "There is no such item.", "") }
