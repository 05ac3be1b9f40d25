package account

import (
	"cmp"
	"context"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/mail"
	"svc.dev/svc/service/secret"
)

// Undo gives an account its former address back: somebody else had changed it. What was begun since that change ends,
// whoever began it: younger undo links, pending changes, links of mails, sessions, keys, devices, identities, and who was let
// into its workspaces. Older undo links stay good, so the oldest address wins as long as its link lives. Until a password is
// set by mail the address stays.
//
// The link also works on an account that was deleted since; the way back from the deletion is then mailed to the address.
func (a *Emails) Undo(ctx context.Context, value string) error {
	return a.insist(ctx, func(tx *sqldb.Tx, out *letters) error {
		t, p, err := redeem(tx, a.Now(), value, forEmailUndo)
		if err != nil {
			return err
		}
		if a.isOver(p) {
			return invalidToken()
		}
		events, err := a.vacate(tx, p, t.email)
		if err != nil {
			return err
		}
		if err := a.undoEmail(tx, out, p, t); err != nil {
			return err
		}
		ended, err := a.reclaim(tx, p, time.UnixMilli(t.issuedAt), anonymous)
		events = append(events, ended...)
		return cmp.Or(err, a.Audit.Append(ctx, tx, append(events, p.event(anonymous, "email.restored", "email"))...))
	})
}

// vacate takes the address that an undo link restores from the account that got it since. Even where that one proved it: the
// owner may have signed up anew, or come in by a provider that the intruder had unlinked, before they saw the link.
func (a *Emails) vacate(tx *sqldb.Tx, p Account, email string) ([]audit.Event, error) {
	held, taken, err := byEmail(tx, email)
	if err != nil || !taken || held.ID == p.ID {
		return nil, err
	}
	event, err := a.evict(tx, held)
	return []audit.Event{event}, err
}

func (a *Emails) undoEmail(tx *sqldb.Tx, out *letters, p Account, t token) error {
	err := cmp.Or(
		setEmail(tx, a.Now(), p.ID, t.email, true),
		a.expel(tx, p.ID, "e-mail change undone", ""),
		voidYounger(tx, a.Now(), t),
		// The account is held as it is, for as long as an undo link would live or until a reset: it neither changes its address nor is
		// deleted. Somebody who knows the password would else do it again before its owner has a new one. Nobody has the token's value.
		keep(tx, a.Now(), secret.Random(), token{purpose: forHold, account: p.ID, life: undoLife}),
		a.dropIdentities(tx, p.ID, func(i Identity) bool { return i.LinkedAt.UnixMilli() >= t.issuedAt }),
	)
	if p.Email != t.email {
		err = cmp.Or(err, out.send(tx, p.Email, mail.EmailTakenBack()))
	}
	if p.deletedAt != 0 {
		err = cmp.Or(err, a.offerReturn(tx, out, p, t.email))
	}
	return err
}

// refuseHeld refuses to change what is held.
func refuseHeld(tx *sqldb.Tx, now time.Time, account string) error {
	n, err := sqldb.Value[int](tx, "find hold", "SELECT count(*) FROM tokens WHERE account = $1 AND purpose = $2 AND used_at IS NULL AND expires_at > $3",
		account, forHold, now.UnixMilli())
	if err == nil && n > 0 {
		err = fault.New(fault.Forbidden, "This account was taken back a short while ago.", "Ask for a new password by mail first.")
	}
	return err
}

// voidYounger makes the undo links void that were issued after this one. They are told apart by the version that the account
// had then; links of a release that did not keep it are told apart by the clock.
func voidYounger(tx *sqldb.Tx, now time.Time, t token) error {
	return tx.Do("void younger undo links", `UPDATE tokens SET used_at = $3 WHERE account = $1 AND purpose = $2 AND used_at IS NULL
		AND CASE WHEN binding = 0 OR CAST($4 AS BIGINT) = 0 THEN created_at > $5 ELSE binding > $4 END`,
		t.account, forEmailUndo, now.UnixMilli(), t.binding, t.issuedAt)
}
