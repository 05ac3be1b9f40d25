package device

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/apikey"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/strictjson"
	"svc.dev/svc/service/throttle"
	"svc.dev/svc/service/workspace"
)

// Look is the program that shows the code which somebody typed.
func (d *Devices) Look(ctx context.Context, who account.Who, typed string) (Pairing, error) {
	p, err := d.find(ctx, who, typed)
	return p.Pairing, err
}

// errRight undoes the count of a code that is not wrong.
var errRight = errors.New("the code is right")

// find is the pairing that waits for an answer under a code. One that is wrong is counted, before it is known to be: of those that come at
// once no more than may are tried.
func (d *Devices) find(ctx context.Context, who account.Who, typed string) (p pairing, err error) {
	code, ok := Normal(typed)
	if !ok {
		return p, wrongCode()
	}
	var wait time.Duration
	err = d.DB.Write(ctx, func(tx *sqldb.Tx) error {
		var found bool
		var err error
		if wait, err = d.count(ctx, tx, who); err != nil || wait > 0 {
			return err
		}
		if p, found, err = one(tx, "user_code = $1 AND state = $2 AND expires_at > $3", d.hash(code), waiting, d.Now().UnixMilli()); err == nil && found {
			err = errRight
		}
		return err
	})
	switch {
	case errors.Is(err, errRight):
		p.UserCode = code
		return p, nil
	case err != nil:
		return pairing{}, err
	case wait > 0:
		d.Audit.Refused(ctx, audit.Event{Action: "device.limited"})
		return pairing{}, limited(wait)
	}
	d.Audit.Refused(ctx, audit.Event{Action: "device.refused"})
	return pairing{}, wrongCode()
}

// count counts a code by where it comes from and by whom, and says how long to wait after too many.
func (d *Devices) count(ctx context.Context, tx *sqldb.Tx, who account.Who) (time.Duration, error) {
	wait, err := throttle.Take(tx, d.Now(), "device-code-ip:"+throttle.Network(audit.From(ctx).IP), wrongPerSource)
	if err != nil || wait > 0 {
		return wait, err
	}
	return throttle.Take(tx, d.Now(), "device-code:"+who.Account.ID, wrongPerAccount)
}

// Approval is what somebody gives to the program that shows a code: a key of theirs, for so long.
type Approval struct {
	UserCode string
	Scopes   []string
	Life     time.Duration
}

// check refuses what no key of a device can be.
func (a Approval) check() error {
	var wrong strictjson.Fields
	wrong.Add("scopes", apikey.CheckScopes(a.Scopes))
	if a.Life <= 0 || a.Life > apikey.DeviceLife {
		wrong.Add("days", strictjson.Invalid)
	}
	return wrong.Refusal()
}

// Approve lets a program fetch a key by which it acts as somebody in a workspace of theirs, within their role.
func (d *Devices) Approve(ctx context.Context, who account.Who, in workspace.Membership, a Approval) error {
	if err := cmp.Or(a.check(), d.Accounts.Sessions.NeedFresh(who)); err != nil {
		return err
	}
	p, err := d.find(ctx, who, a.UserCode)
	if err != nil {
		return err
	}
	scopes, err := json.Marshal(a.Scopes)
	if err != nil {
		return err
	}
	return d.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if _, err := account.Acting(tx, who); err != nil {
			return err
		}
		m, found, err := workspace.Find(tx, who.Account.ID, in.Scope)
		if err := cmp.Or(err, refuse(m, found, a.Scopes)); err != nil {
			return err
		}
		return cmp.Or(
			d.decide(tx, p, approved, "account = $5, workspace = $6, scope = $7, scopes = $8, key_expires_at = $9",
				who.Account.ID, m.ID, m.Scope, string(scopes), d.Now().Add(a.Life).UnixMilli()),
			d.Audit.Append(ctx, tx, audit.Event{Actor: who.Account.Actor(), Action: "device.approved", Target: p.target(), Scope: m.Scope}),
		)
	})
}

// refuse is why somebody with that place in a workspace gives nobody such a key there; nil: they may.
func refuse(m workspace.Membership, found bool, scopes []string) error {
	most := beyond(m.Role, scopes)
	switch {
	case !found:
		return fault.New(fault.WorkspaceNotFound, "There is no such workspace.", "")
	case m.Suspended:
		return fault.New(fault.WorkspaceSuspended, "This workspace is suspended.", "Ask the people who run this service.")
	case most != "":
		return fault.New(fault.Forbidden, "Your role does not allow "+most+".", "").With("role", workspace.LeastWithKey(workspace.Enter, most))
	}
	return nil
}

// beyond is the first scope that a role does not allow; empty: it allows all of them.
func beyond(role string, scopes []string) string {
	if i := slices.IndexFunc(scopes, func(scope string) bool { return !workspace.RoleAllowsKeyScope(role, scope) }); i >= 0 {
		return scopes[i]
	}
	return ""
}

// Deny refuses the program that shows a code.
func (d *Devices) Deny(ctx context.Context, who account.Who, typed string) error {
	if err := d.Accounts.Sessions.NeedFresh(who); err != nil {
		return err
	}
	p, err := d.find(ctx, who, typed)
	if err != nil {
		return err
	}
	return d.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if _, err := account.Acting(tx, who); err != nil {
			return err
		}
		return cmp.Or(
			d.decide(tx, p, denied, "account = $5", who.Account.ID),
			d.Audit.Append(ctx, tx, audit.Event{Actor: who.Account.Actor(), Action: "device.denied", Target: p.target(), Scope: scope.Of(who.Account.Username, scope.Personal).String()}),
		)
	})
}

// decide ends the waiting of a pairing. Of two who decide at once one does.
func (d *Devices) decide(tx *sqldb.Tx, p pairing, state, set string, args ...any) error {
	now := d.Now().UnixMilli()
	n, err := tx.Exec("UPDATE device_pairings SET state = $2, decided_at = $4, "+set+" WHERE id = $1 AND state = $3 AND expires_at > $4",
		append([]any{p.id, state, waiting, now}, args...)...)
	if err != nil {
		return fmt.Errorf("decide pairing: %w", err)
	}
	if n == 0 {
		return wrongCode()
	}
	return nil
}
