package workspace

import (
	"context"
	"fmt"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/strictjson"
)

// ChangeRole gives a member another role. Both the role that somebody has and the one they get must be at most the caller's.
func (w *Workspaces) ChangeRole(ctx context.Context, by Caller, address, account, role string, version int64) (m Member, err error) {
	if !IsRole(role) {
		return m, wrong("role", strictjson.Invalid)
	}
	err = w.DB.Write(ctx, func(tx *sqldb.Tx) error {
		s, err := enter(tx, by, address, Manage)
		if err != nil {
			return err
		}
		if m, err = w.member(tx, s.ID, account); err != nil {
			return err
		}
		if err := refuseHandling(s.may, m.Role, role); err != nil {
			return err
		}
		if err := refuseStale(version, m.Version); err != nil {
			return err
		}
		if role == m.Role {
			return nil
		}
		if err := s.refuseLastOwner(tx, m); err != nil {
			return err
		}
		return w.setRole(ctx, tx, s, &m, role)
	})
	if err != nil {
		return Member{}, err
	}
	return m, nil
}

func (w *Workspaces) setRole(ctx context.Context, tx *sqldb.Tx, s seat, m *Member, role string) error {
	now := w.Now()
	if err := tx.Do("change role", "UPDATE members SET role = $3, version = version + 1, updated_at = $4 WHERE workspace = $1 AND account = $2",
		s.ID, m.Account, role, now.UnixMilli()); err != nil {
		return err
	}
	m.Role, m.Version, m.UpdatedAt = role, m.Version+1, iso.At(now)
	return w.tellOf(ctx, tx, s, *m, "member.changed", "role")
}

// refuseLastOwner keeps the owner whose name the scope bears, and the last one there is.
func (s seat) refuseLastOwner(tx *sqldb.Tx, m Member) error {
	if m.Account == s.Owner {
		return lastOwner(s.Scope, "The account whose name the workspace bears always stays its owner.")
	}
	if m.Role != Owner {
		return nil
	}
	var others int
	err := tx.QueryRow("SELECT count(*) FROM members WHERE workspace = $1 AND role = $2 AND account <> $3", s.ID, Owner, m.Account).Scan(&others)
	if err != nil {
		return fmt.Errorf("count owners: %w", err)
	}
	if others == 0 {
		return lastOwner(s.Scope, "Make somebody else an owner first.")
	}
	return nil
}

// Remove takes somebody out of a workspace, and of its teams. Everybody may take out themselves, which is to leave.
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

// Leave takes the caller out of a workspace, also of a suspended one.
func (w *Workspaces) Leave(ctx context.Context, by Caller, address string) error {
	return w.Remove(ctx, Caller{Actor: by.Actor}, address, by.ID, 0)
}

func (w *Workspaces) takeOut(ctx context.Context, tx *sqldb.Tx, s seat, m Member, action string) error {
	for _, table := range []string{"team_members", "members"} {
		if _, err := tx.Exec("DELETE FROM "+table+" WHERE workspace = $1 AND account = $2", s.ID, m.Account); err != nil {
			return fmt.Errorf("remove member: %w", err)
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
