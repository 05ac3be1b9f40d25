package access

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/apikey"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/workspace"
)

// Visitor is somebody who was let in. It belongs to one request.
type Visitor struct {
	judgement

	access     *Access
	credential Credential
	need       Need
	at         Place
	judged     atomic.Value // when, a time.Time
}

// judgement is what one look into the database found.
type judgement struct {
	// The person who acts: of a key its maker, of an impersonation the customer.
	account.Who
	// Key is what they act by; nil: a session.
	Key *apikey.Key
	// View is that staff look as the customer; nil: they are who they are.
	View *account.View
	// Staff is the role over the service by which they act; empty: as customers.
	Staff string
	// Member is their place in the workspace; of staff it has no role.
	Member workspace.Membership

	lastSeen time.Time // when an elevation was last used
}

// first judges a request that begins. What a database finds that did not answer in time is nobody's: it may come later.
func (v *Visitor) first(ctx context.Context) error {
	v.judged.Store(time.Now())
	var found judgement
	err := v.access.DB.Read(ctx, func(tx *sqldb.Tx) (err error) {
		found, err = v.access.judge(tx, v.credential, v.need, v.at)
		return err
	})
	if _, refused := errors.AsType[*fault.Error](err); err == nil || refused {
		v.judgement = found
	}
	return err
}

// Still is Again, but that a judgement counts that is not stale.
func (v *Visitor) Still(ctx context.Context) error {
	if v.need.kind == public || time.Since(v.judged.Load().(time.Time)) < v.access.Stale {
		return nil
	}
	return v.Again(ctx)
}

// Again is why a visitor would not be let in any more; nil: they would. A database that cannot answer ends nothing. Several
// goroutines may ask.
func (v *Visitor) Again(ctx context.Context) error {
	if v.need.kind == public {
		return nil
	}
	asked := time.Now()
	err := v.access.DB.Read(ctx, v.holds)
	if refusal, ok := errors.AsType[*fault.Error](err); ok {
		return refusal
	}
	if err == nil {
		v.judged.Store(asked)
	}
	return nil
}

// holds judges in a transaction.
func (v *Visitor) holds(tx *sqldb.Tx) error {
	_, err := v.access.judge(tx, v.credential, v.need, v.at)
	return err
}

// Guard lets whatever is written under the context be judged in its own transaction.
func (v *Visitor) Guard(ctx context.Context) context.Context {
	if v.need.kind == public {
		return ctx
	}
	return sqldb.Guard(ctx, v.holds)
}

// Self is who is really there: of an impersonation the staff.
func (v *Visitor) Self() account.Who {
	if v.View != nil {
		return v.View.Staff
	}
	return v.Who
}

// Actor is who acts, as the audit log names them.
func (v *Visitor) Actor() audit.Actor {
	if v.Key != nil {
		return audit.Actor{Kind: audit.Key, ID: v.Key.ID, Username: v.Account.Username}
	}
	return v.Account.Actor()
}

// Caller is who asks the room of the workspaces, where no key has anything to do.
func (v *Visitor) Caller() workspace.Caller {
	return workspace.Caller{Actor: v.Account.Actor(), Staff: v.Staff}
}

// Claims are what the runtime is told of them.
func (v *Visitor) Claims(request string) scope.Claims {
	c := scope.Claims{
		AccountID: v.Member.Owner, Scope: v.at.Scope, Actor: v.Account.Username, ActorID: v.Account.ID, Account: v.Account.Username,
		Authority: scope.Customer, RequestID: request,
	}
	if v.Key != nil {
		c.Key = v.Key.ID
	}
	if at, err := scope.Parse(v.at.Scope); err == nil {
		c.Account = at.Username
	}
	if v.Staff != "" {
		c.Authority = scope.StaffAuth
	}
	c.Delegated = c.Actor != c.Account
	return c
}

// Holder is on whose name a request is counted: that of a key, or of an account; empty: nobody is known.
func (v *Visitor) Holder() string {
	switch {
	case v.Key != nil:
		return "key:" + v.Key.ID
	case v.Account.ID != "":
		return "account:" + v.Self().Account.ID
	}
	return ""
}

// used notes that a session, a key or an elevation is in use: by somebody, not by a page that they have left open.
func (v *Visitor) used(ctx context.Context) error {
	switch {
	case v.credential.Unattended:
		return nil
	case v.Key != nil:
		return v.access.Keys.Used(ctx, *v.Key)
	case v.Staff != "":
		return errors.Join(v.access.Accounts.Sessions.Seen(ctx, v.Who), v.access.Accounts.Staff.ElevationUsed(ctx, v.Who, v.credential.Elevation, v.lastSeen))
	}
	return v.access.Accounts.Sessions.Seen(ctx, v.Self())
}
