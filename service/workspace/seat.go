package workspace

import (
	"context"
	"fmt"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
)

// The roles over the whole service by which staff ask.
const (
	StaffSupport = "support" // reads everything, changes nothing
	StaffAdmin   = "admin"   // may what an owner may
)

// Caller is who asks, as the gateway found out.
type Caller struct {
	// Actor is a person, and its ID an account: nothing in this room is for keys or channels.
	audit.Actor
	// Staff is the role over the whole service by which the caller asks, on the Admin surface alone. Defaults to none:
	// the caller's membership decides.
	Staff string
	// Seen is the version of what they change, as they know it; where there is another they are refused. Defaults to any.
	Seen int64
}

// role is whose rights a caller has who is a member by the role given, if by any.
func (c Caller) role(direct string) string {
	switch c.Staff {
	case "":
		return direct
	case StaffAdmin:
		return Owner
	case StaffSupport:
		return support
	}
	return ""
}

// seat is a caller's place in one workspace.
type seat struct {
	Membership // its Role is empty where staff are no members
	by         Caller
	may        string // the role whose rights the caller has
}

// look is the seat of a caller who has the right that is needed. A workspace that is not there, one that is deleted and
// one where the caller is a stranger get the same refusal.
func look(tx *sqldb.Tx, by Caller, address string, need Right) (seat, error) {
	if by.Kind != audit.Account {
		return seat{}, noPerson()
	}
	m, err := seen(tx, by.ID, address, "w.deleted_at IS NULL")
	if err != nil {
		return seat{}, err
	}
	s := seat{Membership: m, by: by, may: by.role(m.Role)}
	if m.ID == "" {
		s.may = ""
	}
	return s, s.check(need)
}

// enter is look before a change: nobody else changes the workspace or its people until the transaction ends.
func enter(tx *sqldb.Tx, by Caller, address string, need Right) (seat, error) {
	if err := lock(tx, "scope", address); err != nil {
		return seat{}, err
	}
	return look(tx, by, address, need)
}

// act changes something in a workspace, in one transaction, by a caller who has the right that is needed.
func act[T any](ctx context.Context, w *Workspaces, by Caller, address string, need Right, fn func(*sqldb.Tx, seat) (T, error)) (T, error) {
	return sqldb.Write(ctx, w.DB, func(tx *sqldb.Tx) (none T, err error) {
		s, err := enter(tx, by, address, need)
		if err != nil {
			return none, err
		}
		return fn(tx, s)
	})
}

// read is what a caller with the right that is needed finds in a workspace, in one state of the database.
func read[T any](ctx context.Context, w *Workspaces, by Caller, address string, need Right, fn func(*sqldb.Tx, seat) (T, error)) (T, error) {
	return sqldb.Snapshot(ctx, w.DB, func(tx *sqldb.Tx) (none T, err error) {
		s, err := look(tx, by, address, need)
		if err != nil {
			return none, err
		}
		return fn(tx, s)
	})
}

func (s seat) check(need Right) error {
	switch {
	case s.may == "":
		return notFound()
	case s.Suspended && s.by.Staff == "" && need != Enter:
		return suspended()
	case !Allows(s.may, need):
		return forbidden(Least(need))
	}
	return nil
}

// seen is the workspace of a scope with the account's role there, if any; without an ID there is none.
func seen(tx *sqldb.Tx, account, address, condition string) (Membership, error) {
	if !named(address) {
		return Membership{}, nil
	}
	m, _, err := sqldb.First(tx, "find workspace", scanMembership, "SELECT "+MemberColumns+` FROM workspaces w
		LEFT JOIN members m ON m.workspace = w.id AND m.account = $2 WHERE w.scope = $1 AND `+condition, address, account)
	return m, err
}

// lock keeps others from the workspaces whose column has that value, one after the other, until the transaction ends. What
// is read afterwards is what the last holder left.
func lock(tx *sqldb.Tx, column, value string) error {
	if column == "scope" && !named(value) {
		return nil
	}
	if err := tx.Lock("SELECT id FROM workspaces WHERE "+column+" = $1 ORDER BY id", value); err != nil {
		return fmt.Errorf("lock workspace: %w", err)
	}
	return nil
}

// tell appends an act to the audit log, in its transaction and as its last statement. What staff do stands in the service's
// chain too.
func (w *Workspaces) tell(ctx context.Context, tx *sqldb.Tx, s seat, e audit.Event) error {
	e.Actor, e.Scope, e.Service = s.by.Actor, s.Scope, s.by.Staff != ""
	return w.Audit.Append(ctx, tx, e)
}

// touch counts a change of the workspace itself.
func (w *Workspaces) touch(tx *sqldb.Tx, id, set string, args ...any) error {
	return tx.Do("change workspace", "UPDATE workspaces SET "+set+", version = version + 1, updated_at = $2 WHERE id = $1",
		append([]any{id, w.Now().UnixMilli()}, args...)...)
}
