package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/scope"
)

// A workspace that is being imported has a row and no people, and is not there for anybody: it counts as deleted, without a time
// of erasure. Its updated_at tells that the import goes on.

// importRests is how long an import may be silent before it counts as dead.
const importRests = 10 * time.Minute

// Reserve takes an address of an account for a workspace that is being imported. What an import has left there that died is
// destroyed first.
func (w *Workspaces) Reserve(ctx context.Context, account, username, business, name string) (Workspace, error) {
	name = cmp.Or(strings.TrimSpace(name), business)
	if err := checkNew(business, name); err != nil {
		return Workspace{}, err
	}
	address := scope.Of(username, business).String()
	if err := w.clear(ctx, address); err != nil {
		return Workspace{}, err
	}
	one, err := sqldb.Write(ctx, w.DB, func(tx *sqldb.Tx) (one Workspace, err error) {
		by := Caller{Actor: audit.Actor{Kind: audit.Account, ID: account}}
		by.Username = username
		if err := w.refuseTooMany(tx, by); err != nil {
			return one, err
		}
		made, err := insert(tx, w.Now(), account, address, business, name)
		if err != nil {
			return one, err
		}
		if !made {
			return one, nameTaken("There is, or was, a workspace of this name. Choose another one.")
		}
		if err := tx.Do("reserve workspace", "UPDATE workspaces SET deleted_at = $2 WHERE scope = $1", address, w.Now().UnixMilli()); err != nil {
			return one, err
		}
		one, _, err = oneWorkspace(tx, "w.scope = $1", address)
		return one, err
	})
	if err == nil {
		w.imports.Store(one.ID, true)
	}
	return one, err
}

const isImporting = "w.deleted_at IS NOT NULL AND w.erase_at IS NULL AND w.erased_at IS NULL"

// clear destroys what an import has left at an address, and refuses one where an import goes on.
func (w *Workspaces) clear(ctx context.Context, address string) error {
	left, err := sqldb.ReadAll(ctx, w.DB, scanWorkspace, "SELECT "+columns+" FROM workspaces w WHERE w.scope = $1 AND "+isImporting, address)
	if err != nil {
		return fmt.Errorf("find import: %w", err)
	}
	for _, one := range left {
		if w.alive(one) {
			return fmt.Errorf("a workspace is being imported there, or was a while ago: try again in %s", importRests)
		}
		if err := w.Discard(ctx, one); err != nil {
			return err
		}
	}
	return nil
}

// alive reports whether an import may still go on. On SQLite there is no other process that could do it.
func (w *Workspaces) alive(one Workspace) bool {
	if !w.DB.Shared() {
		_, here := w.imports.Load(one.ID)
		return here
	}
	return one.UpdatedAt.After(w.Now().Add(-importRests))
}

// Renew says that an import goes on.
func (w *Workspaces) Renew(ctx context.Context, one Workspace) error {
	return w.stillImporting(ctx, one, "renew import", "UPDATE workspaces AS w SET updated_at = $2 WHERE id = $1 AND "+isImporting)
}

var errTakenAway = errors.New("the import was silent for too long, and what it had kept is destroyed: begin again")

func (w *Workspaces) stillImporting(ctx context.Context, one Workspace, what, query string) error {
	n, err := sqldb.Write(ctx, w.DB, func(tx *sqldb.Tx) (int64, error) { return tx.Exec(query, one.ID, w.Now().UnixMilli()) })
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", what, err)
	case n == 0:
		return errTakenAway
	}
	return nil
}

// Open makes an imported workspace a workspace like others, with its owner as its only member. release is called in the same
// transaction.
func (w *Workspaces) Open(ctx context.Context, one Workspace, release func(*sqldb.Tx) error) error {
	err := w.DB.Write(ctx, func(tx *sqldb.Tx) error {
		n, err := tx.Exec("UPDATE workspaces AS w SET deleted_at = NULL, updated_at = $2 WHERE id = $1 AND "+isImporting, one.ID, w.Now().UnixMilli())
		if err != nil {
			return fmt.Errorf("open workspace: %w", err)
		}
		if n == 0 {
			return errTakenAway
		}
		if err := join(tx, w.Now(), one.ID, one.Owner, Owner); err != nil {
			return err
		}
		if err := release(tx); err != nil {
			return err
		}
		return w.Audit.Append(ctx, tx, audit.Event{Action: "workspace.imported", Target: one.target(), Scope: one.Scope, Service: true})
	})
	if err == nil {
		w.imports.Delete(one.ID)
	}
	return err
}

// Discard destroys what was imported so far. The address is free again; when the process dies meanwhile the sweeper goes on, and it
// is not.
func (w *Workspaces) Discard(ctx context.Context, one Workspace) error {
	defer w.imports.Delete(one.ID)
	// From now on it cannot be opened.
	if err := w.DB.Do(ctx, "discard import", "UPDATE workspaces AS w SET erase_at = 0 WHERE id = $1 AND "+isImporting, one.ID); err != nil {
		return err
	}
	if err := w.Destroy(ctx, one); err != nil {
		return fmt.Errorf("discard import: %w", err)
	}
	return w.DB.Do(ctx, "discard import", "DELETE FROM workspaces WHERE id = $1 AND deleted_at IS NOT NULL AND erase_at = 0 AND erased_at IS NULL", one.ID)
}

// sweepImports destroys what imports have left that died.
func (w *Workspaces) sweepImports(ctx context.Context) error {
	left, err := sqldb.ReadAll(ctx, w.DB, scanWorkspace, "SELECT "+columns+" FROM workspaces w WHERE "+isImporting+" ORDER BY w.updated_at LIMIT $1", eraseBatch)
	if err != nil {
		return fmt.Errorf("find imports to discard: %w", err)
	}
	var failed []error
	for _, one := range left {
		if !w.alive(one) {
			failed = append(failed, w.Discard(ctx, one))
		}
	}
	return errors.Join(failed...)
}
