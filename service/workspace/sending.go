package workspace

import (
	"cmp"
	"context"

	"github.com/oklog/ulid/v2"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/mail"
	"svc.dev/svc/service/secret"
	"svc.dev/svc/service/strictjson"
	"svc.dev/svc/service/throttle"
)

// acceptPath is the page that takes the token of an invitation.
const acceptPath = "/invitations#t="

// Sent is an invitation that was just sent.
type Sent struct {
	Invitation
	// AcceptURL is the link, for the inviter to hand over, where there is no mail. It is shown once.
	AcceptURL string `json:"acceptUrl,omitempty"`
}

// Invite asks somebody into a workspace, by a role that is at most the caller's. The token goes out by mail and nowhere
// else. There is one pending invitation for an address; one that has expired gives way.
func (w *Workspaces) Invite(ctx context.Context, by Caller, address, email, role string) (Sent, error) {
	email, err := w.checkInvitation(email, role)
	if err != nil {
		return Sent{}, err
	}
	return w.send(ctx, by, address, "invitation.created", func(tx *sqldb.Tx, s seat) (Invitation, error) {
		if err := refuseHandling(s.may, role); err != nil {
			return Invitation{}, err
		}
		i := Invitation{ID: "inv_" + ulid.Make().String(), Email: email, Role: role, CreatedAt: iso.At(w.Now())}
		return i, w.makeRoom(tx, s.ID, email)
	})
}

// Resend sends an invitation again, with a new token and a new time. The earlier token is void, and the caller now stands
// for the invitation.
func (w *Workspaces) Resend(ctx context.Context, by Caller, address, id string) (Sent, error) {
	return w.send(ctx, by, address, "invitation.resent", func(tx *sqldb.Tx, s seat) (Invitation, error) {
		return s.invitation(tx, id)
	})
}

func (w *Workspaces) checkInvitation(email, role string) (string, error) {
	var refused strictjson.Fields
	normal, err := mail.Normal(email)
	if err != nil {
		refused.Add("email", err.Error())
	}
	if !IsRole(role) {
		refused.Add("role", strictjson.Invalid)
	}
	return normal, refused.Refusal()
}

// makeRoom refuses a second invitation for an address, and one person too many.
func (w *Workspaces) makeRoom(tx *sqldb.Tx, workspace, email string) error {
	if err := tx.Do("drop expired invitation", "DELETE FROM invitations WHERE workspace = $1 AND email = $2 AND expires_at <= $3", workspace, email, w.Now().UnixMilli()); err != nil {
		return err
	}
	_, pending, err := oneInvitation(tx, "i.workspace = $1 AND i.email = $2", workspace, email)
	if err != nil {
		return err
	}
	if pending {
		return nameTaken("This address is invited already. Send that invitation again, or revoke it first.")
	}
	return refuseFull(tx, "(SELECT account FROM members WHERE workspace = $1 UNION ALL SELECT id FROM invitations WHERE workspace = $1) people", workspace,
		"people in a workspace, with those who are invited", maxPeople)
}

// send sends an invitation that is chosen in the transaction.
func (w *Workspaces) send(ctx context.Context, by Caller, address, action string, choose func(*sqldb.Tx, seat) (Invitation, error)) (Sent, error) {
	sent, err := act(ctx, w, by, address, Manage, func(tx *sqldb.Tx, s seat) (sent Sent, err error) {
		i, err := choose(tx, s)
		if err != nil {
			return sent, err
		}
		if err := w.count(tx, by, i.Email); err != nil {
			return sent, err
		}
		if sent, err = w.issue(tx, s, i); err != nil {
			return sent, err
		}
		return sent, w.tell(ctx, tx, s, audit.Event{Action: action, Target: i.target()})
	})
	if err == nil {
		w.Mail.Wake()
	}
	return sent, err
}

// invitesPerAddress keeps a stranger's mailbox from being filled by one person who invites, revokes and invites again.
var invitesPerAddress = throttle.Rate{Limit: 5, Per: day}

// count refuses who invites too often, or the same address too often.
func (w *Workspaces) count(tx *sqldb.Tx, by Caller, email string) error {
	for _, limit := range []struct {
		key  string
		rate throttle.Rate
	}{{"invite:" + by.ID, w.Invites}, {"invite:" + by.ID + ":" + email, invitesPerAddress}} {
		if wait, err := throttle.Take(tx, w.Now(), limit.key, limit.rate); err != nil || wait > 0 {
			return cmp.Or(err, limited("invitations", wait))
		}
	}
	return nil
}

// issue gives an invitation its token, and mails it where that can be.
func (w *Workspaces) issue(tx *sqldb.Tx, s seat, i Invitation) (Sent, error) {
	known, err := lookup(tx, s.by.ID)
	if err != nil {
		return Sent{}, err
	}
	value := secret.Random()
	now := w.Now()
	i.UpdatedAt, i.ExpiresAt, i.Version = iso.At(now), iso.At(now.Add(w.Life)), i.Version+1
	i.InvitedBy, i.staff = colleague(known, s.by.ID), s.by.Staff != ""
	if err := tx.Do("issue invitation", `INSERT INTO invitations (id, workspace, email, role, token, inviter, staff, version, created_at, updated_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT (id) DO UPDATE SET token = excluded.token, inviter = excluded.inviter,
		staff = excluded.staff, version = excluded.version, updated_at = excluded.updated_at, expires_at = excluded.expires_at`,
		i.ID, s.ID, i.Email, i.Role, secret.Fingerprint(value), s.by.ID, sqldb.Bit(i.staff), i.Version, i.CreatedAt.UnixMilli(), i.UpdatedAt.UnixMilli(), i.ExpiresAt.UnixMilli()); err != nil {
		return Sent{}, err
	}
	if !w.CanMail() {
		return Sent{Invitation: i, AcceptURL: w.Platform + acceptPath + value}, nil
	}
	inviter := cmp.Or(i.InvitedBy.DisplayName, i.InvitedBy.Username)
	return Sent{Invitation: i}, w.Mail.Queue(tx, i.Email, mail.Invitation(s.Name, inviter, value, w.Life))
}
