package workspace

import (
	"context"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/strictjson"
)

// ChangeRole gives a member another role. Both the role that somebody has and the one they get must be at most the caller's.
func (w *Workspaces) ChangeRole(ctx context.Context, by Caller, address, account, role string, version int64) (Member, error) {
	if !IsRole(role) {
		return Member{}, strictjson.Wrong("role", strictjson.Invalid)
	}
	return act(ctx, w, by, address, Manage, func(tx *sqldb.Tx, s seat) (Member, error) {
		m, err := w.member(tx, s.ID, account)
		if err != nil {
			return m, err
		}
		if err := refuseHandling(s.may, m.Role, role); err != nil {
			return m, err
		}
		if err := refuseStale(version, m.Version); err != nil || role == m.Role {
			return m, err
		}
		if err := s.refuseLastOwner(tx, m); err != nil {
			return m, err
		}
		return w.setRole(ctx, tx, s, m, role)
	})
}

func (w *Workspaces) setRole(ctx context.Context, tx *sqldb.Tx, s seat, m Member, role string) (Member, error) {
	now := w.Now()
	if err := tx.Do("change role", "UPDATE members SET role = $3, version = version + 1, updated_at = $4 WHERE workspace = $1 AND account = $2",
		s.ID, m.Account, role, now.UnixMilli()); err != nil {
		return m, err
	}
	m.Role, m.Version, m.UpdatedAt = role, m.Version+1, iso.At(now)
	return m, w.tellOf(ctx, tx, s, m, "member.changed", "role")
}

// refuseLastOwner keeps the owner whose name the scope bears, and the last one there is.
func (s seat) refuseLastOwner(tx *sqldb.Tx, m Member) error {
	if m.Account == s.Owner {
		return lastOwner(s.Scope, "The account whose name the workspace bears always stays its owner.")
	}
	if m.Role != Owner {
		return nil
	}
	others, err := sqldb.Value[int](tx, "count owners", "SELECT count(*) FROM members WHERE workspace = $1 AND role = $2 AND account <> $3", s.ID, Owner, m.Account)
	if err == nil && others == 0 {
		err = lastOwner(s.Scope, "Make somebody else an owner first.")
	}
	return err
}

// Remove takes somebody out of a workspace, and of its teams. Everybody may take out themselves, which is to leave, also a suspended one.
func (w *Workspaces) Remove(ctx context.Context, by Caller, address, account string, version int64) error {
	need := Manage
	leaves := account == by.ID && by.Staff == ""
	if leaves {
		need = Enter
	}
	return w.DB.Write(ctx, func(tx *sqldb.Tx) error {
		s, err := enter(tx, by, address, need)
		if err != nil {
			return err
		}
		m, err := w.member(tx, s.ID, account)
		if err != nil {
			return err
		}
		action := "member.left"
		if !leaves {
			action = "member.removed"
			if err := refuseHandling(s.may, m.Role); err != nil {
				return err
			}
		}
		if err := refuseStale(version, m.Version); err != nil {
			return err
		}
		if err := s.refuseLastOwner(tx, m); err != nil {
			return err
		}
		return w.takeOut(ctx, tx, s, m, action)
	})
}

func (w *Workspaces) takeOut(ctx context.Context, tx *sqldb.Tx, s seat, m Member, action string) error {
	for _, table := range []string{"team_members", "members"} {
		if err := tx.Do("remove member", "DELETE FROM "+table+" WHERE workspace = $1 AND account = $2", s.ID, m.Account); err != nil {
			return err
		}
	}
	return w.tellOf(ctx, tx, s, m, action)
}

// tellOf tells what was done to a member.
func (w *Workspaces) tellOf(ctx context.Context, tx *sqldb.Tx, s seat, m Member, action string, changes ...string) error {
	return w.tell(ctx, tx, s, audit.Event{
		Action: action, Target: audit.Target{Kind: "member", ID: m.Account}, Changes: changes,
		Subject: &audit.Actor{Kind: audit.Account, ID: m.Account, Username: m.Username},
	})
}
