package workspace

import (
	"context"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/mail"
	"svc.dev/svc/service/secret"
)

// Guest is somebody who comes with an invitation.
type Guest struct {
	audit.Actor
	Email    string
	Verified bool // the address is known to be theirs
}

// maxToken is longer than any token.
const maxToken = 128

// Accept makes the guest a member by the role of the invitation, once: of two who come with a token, one finds it. The
// guest must have the invited address. Whoever stands for the invitation must still be able to give its role. A guest who
// is a member already stays what they are.
func (w *Workspaces) Accept(ctx context.Context, g Guest, token string) (Membership, error) {
	return sqldb.Write(ctx, w.DB, func(tx *sqldb.Tx) (m Membership, err error) {
		i, s, err := w.redeem(tx, g, token)
		if err != nil {
			return m, err
		}
		if m, err = w.admit(tx, s, i); err != nil {
			return m, err
		}
		return m, w.tell(ctx, tx, s, audit.Event{Action: "invitation.accepted", Target: i.target(), Changes: []string{"role"}})
	})
}

// Look is what Accept would do: the invitation, with who stands for it, and the workspace where it leads. Nothing is changed, and
// what Accept refuses is refused alike.
func (w *Workspaces) Look(ctx context.Context, g Guest, token string) (i Invitation, one Workspace, err error) {
	err = w.DB.Write(ctx, func(tx *sqldb.Tx) error {
		found, s, err := w.redeem(tx, g, token)
		if err != nil {
			return err
		}
		all := []Invitation{found}
		if err := w.nameInviters(tx, all); err != nil {
			return err
		}
		i, one = all[0], s.Workspace
		return nil
	})
	if err != nil {
		return Invitation{}, Workspace{}, err
	}
	return i, one, nil
}

// redeem is the invitation of a token that is good for the guest, and the place in the workspace where it is to lead.
func (w *Workspaces) redeem(tx *sqldb.Tx, g Guest, token string) (i Invitation, s seat, err error) {
	if g.Kind != audit.Account {
		return i, s, noPerson()
	}
	if len(token) > maxToken {
		return i, s, invitationInvalid()
	}
	hash := secret.Fingerprint(token)
	i, found, err := oneInvitation(tx, "i.token = $1", hash)
	if err != nil {
		return i, s, err
	}
	if !found {
		return i, s, invitationInvalid()
	}
	if err := lock(tx, "id", i.workspace); err != nil {
		return i, s, err
	}
	// What was read before the lock may have been used since.
	if i, found, err = oneInvitation(tx, "i.token = $1 AND i.expires_at > $2", hash, w.Now().UnixMilli()); err != nil {
		return i, s, err
	}
	one, there, err := oneWorkspace(tx, "w.id = $1 AND w.deleted_at IS NULL", i.workspace)
	if err != nil {
		return i, s, err
	}
	if !found || !there {
		return i, s, invitationInvalid()
	}
	s = seat{Membership: Membership{Workspace: one}, by: Caller{Actor: g.Actor}}
	return i, s, w.judge(tx, g, i, one)
}

// judge says why an invitation is not good for the guest, and nil when it is.
func (w *Workspaces) judge(tx *sqldb.Tx, g Guest, i Invitation, one Workspace) error {
	vouched, err := w.vouched(tx, i)
	switch {
	case err != nil:
		return err
	case !vouched:
		return invitationInvalid()
	case !w.isFor(i, g):
		return emailMismatch()
	case one.Suspended:
		return suspended()
	}
	return nil
}

// vouched reports whether who stands for an invitation may still give its role.
func (w *Workspaces) vouched(tx *sqldb.Tx, i Invitation) (bool, error) {
	known, err := lookup(tx, i.InvitedBy.Account)
	if err != nil {
		return false, err
	}
	inviter := known[i.InvitedBy.Account]
	if !inviter.Active {
		return false, nil
	}
	if i.staff {
		return inviter.Staff == StaffAdmin, nil
	}
	role, err := sqldb.Value[string](tx, "find inviter", "SELECT COALESCE(MAX(role), '') FROM members WHERE workspace = $1 AND account = $2", i.workspace, i.InvitedBy.Account)
	return err == nil && mayHandle(role, i.Role), err
}

// isFor reports whether the guest has the invited address. Where mails reach nobody, no address can be verified, and the
// link was handed over by the inviter.
func (w *Workspaces) isFor(i Invitation, g Guest) bool {
	email, err := mail.Normal(g.Email)
	return err == nil && email == i.Email && (g.Verified || !w.CanMail())
}

// admit uses an invitation up.
func (w *Workspaces) admit(tx *sqldb.Tx, s seat, i Invitation) (m Membership, err error) {
	if err := tx.Do("use invitation", "DELETE FROM invitations WHERE id = $1", i.ID); err != nil {
		return m, err
	}
	if err := join(tx, w.Now(), s.ID, s.by.ID, i.Role); err != nil {
		return m, err
	}
	return seen(tx, s.by.ID, s.Scope, "true")
}
