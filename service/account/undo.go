package account

import (
	"context"
	"fmt"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/mail"
)

// UndoEmail gives an account its former address back: somebody else had changed it. What was begun since that change ends,
// whoever began it: younger undo links, pending changes, links of mails, sessions, keys, devices, and identities. Older
// undo links stay good, so the oldest address wins as long as its link lives.
//
// The link also works on an account that was deleted since; the way back from the deletion is then mailed to the address.
func (a *Accounts) UndoEmail(ctx context.Context, value string) error {
	return a.insist(ctx, func(tx *sqldb.Tx, out *letters) error {
		t, p, found, err := a.redeem(tx, value, forEmailUndo)
		if err != nil {
			return err
		}
		if !found || a.isOver(p) {
			return invalidToken()
		}
		events, err := a.vacate(tx, p, t.email)
		if err != nil {
			return err
		}
		if err := a.undoEmail(tx, out, p, t); err != nil {
			return err
		}
		return a.Audit.Append(ctx, tx, append(events, audit.Event{
			Actor: audit.Actor{Kind: audit.Anonymous}, Action: "email.restored", Target: p.target(), Scope: p.scope(), Changes: []string{"email"},
		})...)
	})
}

// vacate takes the address that an undo link restores from an account that never proved it. One that did keeps it, and the
// link is of no use.
func (a *Accounts) vacate(tx *sqldb.Tx, p Account, email string) ([]audit.Event, error) {
	held, taken, err := byEmail(tx, email)
	if err != nil || !taken || held.ID == p.ID {
		return nil, err
	}
	if held.EmailVerified {
		return nil, invalidToken()
	}
	event, err := a.evict(tx, held)
	return []audit.Event{event}, err
}

func (a *Accounts) undoEmail(tx *sqldb.Tx, out *letters, p Account, t token) error {
	if err := a.setEmail(tx, p.ID, t.email, true); err != nil {
		return err
	}
	if err := a.expel(tx, p.ID, "e-mail change undone", ""); err != nil {
		return err
	}
	if err := a.voidYounger(tx, t); err != nil {
		return err
	}
	since := func(i Identity) bool { return i.LinkedAt.UnixMilli() >= t.issuedAt }
	if err := a.dropIdentities(tx, p.ID, since); err != nil {
		return err
	}
	if p.Email != t.email {
		if err := out.send(tx, p.Email, mail.EmailTakenBack{}); err != nil {
			return err
		}
	}
	if p.deletedAt == 0 {
		return nil
	}
	return a.offerReturn(tx, out, p, t.email)
}

// voidYounger makes the undo links void that were issued after this one. They are told apart by the version that the account
// had then; links of a release that did not keep it are told apart by the clock.
func (a *Accounts) voidYounger(tx *sqldb.Tx, t token) error {
	_, err := tx.Exec(`UPDATE tokens SET used_at = $3 WHERE account = $1 AND purpose = $2 AND used_at IS NULL
		AND CASE WHEN binding = 0 OR CAST($4 AS BIGINT) = 0 THEN created_at > $5 ELSE binding > $4 END`,
		t.account, forEmailUndo, a.Now().UnixMilli(), t.binding, t.issuedAt)
	if err != nil {
		return fmt.Errorf("void younger undo links: %w", err)
	}
	return nil
}
