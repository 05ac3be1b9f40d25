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
// of erasure. Its updated_at tells that the import goes on. While what came is destroyed again its time of erasure is discarding.
const (
	isImporting  = "w.deleted_at IS NOT NULL AND w.erase_at IS NULL AND w.erased_at IS NULL"
	isDiscarding = "w.deleted_at IS NOT NULL AND w.erase_at = -1 AND w.erased_at IS NULL"
	isComing     = "(" + isImporting + " OR " + isDiscarding + ")"
	discarding   = "erase_at = -1"
)

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
	if _, here := w.imports.LoadOrStore(address, true); here {
		return Workspace{}, underWay()
	}
	one, err := w.reserve(ctx, account, username, address, business, name)
	if err != nil {
		w.imports.Delete(address)
	}
	return one, err
}

func (w *Workspaces) reserve(ctx context.Context, account, username, address, business, name string) (Workspace, error) {
	if err := w.clear(ctx, address); err != nil {
		return Workspace{}, err
	}
	return sqldb.Write(ctx, w.DB, func(tx *sqldb.Tx) (one Workspace, err error) {
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
}

// clear destroys what an import has left at an address, and refuses one where an import goes on.
func (w *Workspaces) clear(ctx context.Context, address string) error {
	left, err := w.coming(ctx, "w.scope = $2", address)
	if err != nil {
		return err
	}
	for _, one := range left {
		if w.DB.Shared() && !w.silent(one) {
			return underWay()
		}
		if err := w.destroyImport(ctx, one); err != nil {
			return err
		}
	}
	return nil
}

func underWay() error {
	return fmt.Errorf("a workspace is being imported there, or was a while ago: try again in %s", importRests)
}

// coming are workspaces that are being imported, or were, of those that a condition holds for.
func (w *Workspaces) coming(ctx context.Context, condition string, args ...any) ([]Workspace, error) {
	all, err := sqldb.ReadAll(ctx, w.DB, scanWorkspace, "SELECT "+columns+" FROM workspaces w WHERE "+isComing+" AND "+condition+" ORDER BY w.updated_at LIMIT $1",
		append([]any{eraseBatch}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("find imports: %w", err)
	}
	return all, nil
}

// silent reports whether nothing was heard of an import for so long that whoever made it is dead.
func (w *Workspaces) silent(one Workspace) bool {
	return !one.UpdatedAt.After(w.Now().Add(-importRests))
}

// Renew says that an import goes on.
func (w *Workspaces) Renew(ctx context.Context, one Workspace) error {
	n, err := sqldb.Write(ctx, w.DB, func(tx *sqldb.Tx) (int64, error) {
		return tx.Exec("UPDATE workspaces AS w SET updated_at = $2 WHERE id = $1 AND "+isImporting, one.ID, w.Now().UnixMilli())
	})
	if err != nil {
		return fmt.Errorf("renew import: %w", err)
	}
	if n == 0 {
		return errTakenAway
	}
	return nil
}

var errTakenAway = errors.New("the import was silent for too long, and what it had kept is destroyed: begin again")

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
		w.imports.Delete(one.Scope)
	}
	return err
}

// Discard destroys what was imported so far, and frees the address. One that was opened after all, or is another's by now, stays.
func (w *Workspaces) Discard(ctx context.Context, one Workspace) error {
	defer w.imports.Delete(one.Scope)
	return w.destroyImport(ctx, one)
}

func (w *Workspaces) destroyImport(ctx context.Context, one Workspace) error {
	// From now on it cannot be opened.
	n, err := sqldb.Write(ctx, w.DB, func(tx *sqldb.Tx) (int64, error) {
		return tx.Exec("UPDATE workspaces AS w SET "+discarding+" WHERE id = $1 AND "+isComing, one.ID)
	})
	if err != nil || n == 0 {
		return err
	}
	if err := w.Destroy(ctx, one); err != nil {
		return fmt.Errorf("discard import: %w", err)
	}
	return w.DB.Do(ctx, "discard import", "DELETE FROM workspaces AS w WHERE id = $1 AND "+isDiscarding, one.ID)
}

// sweepImports destroys what imports have left that died.
func (w *Workspaces) sweepImports(ctx context.Context) error {
	left, err := w.coming(ctx, "TRUE")
	if err != nil {
		return err
	}
	var failed []error
	for _, one := range left {
		if _, here := w.imports.Load(one.Scope); here || w.DB.Shared() && !w.silent(one) {
			continue
		}
		failed = append(failed, w.destroyImport(ctx, one))
	}
	return errors.Join(failed...)
}
