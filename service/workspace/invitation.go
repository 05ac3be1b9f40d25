package workspace

import (
	"cmp"
	"context"
	"fmt"

	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/audit"
)

// Invitation is one that nobody has accepted or revoked; it may have expired.
type Invitation struct {
	ID        string     `json:"id" id:"inv"`
	Email     string     `json:"email"`
	Role      string     `json:"role" enum:"billing viewer builder admin owner"`
	InvitedBy Colleague  `json:"invitedBy"`
	ExpiresAt iso.Moment `json:"expiresAt"`
	CreatedAt iso.Moment `json:"createdAt"`
	UpdatedAt iso.Moment `json:"updatedAt"`
	Version   int64      `json:"version"`

	workspace string
	staff     bool
}

func (i Invitation) target() audit.Target { return audit.Target{Kind: "invitation", ID: i.ID} }

const invitationColumns = "i.id, i.workspace, i.email, i.role, i.inviter, i.staff, i.version, i.created_at, i.updated_at, i.expires_at"

func scanInvitation(row sqldb.Row) (i Invitation, err error) {
	var staff, created, updated, expires int64
	err = row.Scan(&i.ID, &i.workspace, &i.Email, &i.Role, &i.InvitedBy.Account, &staff, &i.Version, &created, &updated, &expires)
	i.staff = staff != 0
	i.CreatedAt, i.UpdatedAt, i.ExpiresAt = iso.Millis(created), iso.Millis(updated), iso.Millis(expires)
	return i, err
}

func oneInvitation(tx *sqldb.Tx, where string, args ...any) (Invitation, bool, error) {
	return sqldb.First(tx, "find invitation", scanInvitation, "SELECT "+invitationColumns+" FROM invitations i WHERE "+where, args...)
}

// invitation is one of the workspace's that the caller may send again or revoke, as whoever may give its role.
func (s seat) invitation(tx *sqldb.Tx, id string) (Invitation, error) {
	if !isID("inv_", id) {
		return Invitation{}, itemNotFound()
	}
	i, found, err := oneInvitation(tx, "i.workspace = $1 AND i.id = $2", s.ID, id)
	if err != nil {
		return i, err
	}
	if !found {
		return i, itemNotFound()
	}
	return i, cmp.Or(refuseHandling(s.may, i.Role), refuseStale(s.by.Seen, i.Version))
}

// Revoke makes an invitation void.
func (w *Workspaces) Revoke(ctx context.Context, by Caller, address, id string) error {
	return w.DB.Write(ctx, func(tx *sqldb.Tx) error {
		s, err := enter(tx, by, address, Manage)
		if err != nil {
			return err
		}
		i, err := s.invitation(tx, id)
		if err != nil {
			return err
		}
		if err := tx.Do("revoke invitation", "DELETE FROM invitations WHERE id = $1", i.ID); err != nil {
			return err
		}
		return w.tell(ctx, tx, s, audit.Event{Action: "invitation.revoked", Target: i.target()})
	})
}

// Invitations is the invitations of a workspace, those that have expired of late too. None shows its token, which nobody has.
func (w *Workspaces) Invitations(ctx context.Context, by Caller, address string, q listing.Query) (listing.Page[Invitation], error) {
	place := func(i Invitation) []any { return listing.Age(i.CreatedAt.Time, i.ID) }
	return paged(ctx, w, by, address, Review, q, place, func(tx *sqldb.Tx, workspace string, sel selection) ([]Invitation, error) {
		all, err := sqldb.Collect(tx, scanInvitation, "SELECT "+invitationColumns+` FROM invitations i WHERE i.workspace = $1 AND i.email LIKE LOWER($5) ESCAPE '\'
			AND (i.created_at, i.id) < ($2, $3) ORDER BY i.created_at DESC, i.id DESC LIMIT $4`, workspace, sel.at, sel.id, sel.limit+1, sel.pattern)
		if err != nil {
			return nil, fmt.Errorf("list invitations: %w", err)
		}
		return all, w.nameInviters(tx, all)
	})
}

func (w *Workspaces) nameInviters(tx *sqldb.Tx, all []Invitation) error {
	ids := make([]string, len(all))
	for i := range all {
		ids[i] = all[i].InvitedBy.Account
	}
	known, err := lookup(tx, ids...)
	if err != nil {
		return err
	}
	for i := range all {
		all[i].InvitedBy = colleague(known, all[i].InvitedBy.Account)
	}
	return nil
}
