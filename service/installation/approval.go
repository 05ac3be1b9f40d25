package installation

import (
	"context"
	"fmt"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/github"
	"svc.dev/svc/service/audit"
)

// awaited is the workspace that waits for an installation which an owner at the provider has just approved: the one whose
// request for it the provider names, by the id that no other person ever has. Where that person waits in several, nobody can
// tell which was meant, and they choose when they come again.
func (a *Installations) awaited(tx *sqldb.Tx, t told) ([]dispatch, error) {
	if t.Action != "created" || t.AppID != t.app || t.Requester.ID <= 0 {
		return nil, nil
	}
	holder, found, err := a.Accounts.Identities.HolderOf(tx, t.provider, t.Requester.ID)
	if err != nil || !found {
		return nil, err
	}
	all, err := bindings(tx, forApproval, "provider = $1 AND installation = 0 AND account = $2", t.provider, holder)
	if err != nil || len(all) != 1 {
		return nil, err
	}
	return all, nil
}

// maxLooks is how often an installation is looked for that its person does not see: what was approved a moment ago may not
// be shown yet.
const maxLooks = 8

// approve binds an installation to the workspace that waits for it. That its person had asked for it is not enough: they
// may be no member any more of whom it is on. It counts as an id that came with a redirect does, once the person's own token
// shows it.
func (a *Installations) approve(ctx context.Context, c claimed) error {
	d := c.Row
	who, err := a.waiting(ctx, d)
	if err != nil {
		return err
	}
	i, err := a.verifyInstallation(ctx, who, d.provider, fmt.Sprint(d.installation))
	if fault.Is(err, github.NotYours) && c.Attempt >= maxLooks {
		a.Audit.Refused(ctx, audit.Event{Action: "installation.refused", Outcome: audit.Deny})
		return fmt.Errorf("%w: %w", ErrUndeliverable, err)
	}
	if err != nil {
		return err
	}
	return a.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if err := stillWaits(tx, d); err != nil {
			return err
		}
		err := a.bindIn(ctx, tx, who, journey{Journey: account.Journey{Provider: d.provider}, Scope: d.scope}, &i)
		if fault.Is(err, fault.WorkspaceNotFound) || fault.Is(err, fault.Forbidden) {
			return errGone // they may no longer decide this
		}
		return err
	})
}

// waiting is the person who waits for an approval.
func (a *Installations) waiting(ctx context.Context, d dispatch) (account.Who, error) {
	return sqldb.Read(ctx, a.DB, func(tx *sqldb.Tx) (who account.Who, err error) {
		if err := stillWaits(tx, d); err != nil {
			return who, err
		}
		p, found, err := account.Find(tx, d.account)
		if err == nil && (!found || !p.Alive()) {
			err = errGone
		}
		return account.Who{Account: p}, err
	})
}

// stillWaits is errGone where nothing is waited for any more, or somebody else waits.
func stillWaits(tx *sqldb.Tx, d dispatch) error {
	all, err := bindings(tx, forApproval, "workspace = $1 AND provider = $2 AND installation = 0 AND account = $3", d.workspace, d.provider, d.account)
	if err == nil && len(all) == 0 {
		return errGone
	}
	return err
}
