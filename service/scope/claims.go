package scope

import (
	"context"
	"strings"

	"svc.dev/svc/fault"
)

// Admin is the one scope that is no business: the workspace of the staff.
const Admin = "admin"

// By whose authority something is asked.
const (
	Customer  = "customer"
	StaffAuth = "admin"
)

// Claims are who asks for whose work, as the gateway found out. They travel as a value within a process, and as signed
// headers between two.
type Claims struct {
	Account   string // username of the account that owns the scope
	AccountID string
	Scope     string // users/<username>/<business>, or admin
	Actor     string // who acts: a username, channel:<name> or automation:<id>
	ActorID   string // account of the actor; empty: no person acts
	Key       string // id of the API key that the actor uses; empty: none
	Authority string // Customer or StaffAuth
	Delegated bool   // the actor is another than the account, and may be: the gateway has seen to it
	Base      string // where clients find the work of the scope: {base_url}, as the gateway is reached
	RequestID string

	Proven bool // a guard has seen the token of their authority; what others say of it counts for nothing
}

// Check is something that was looked at before claims were accepted.
type Check struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
}

// Checks are what the guard has seen of claims that it accepted. On others nothing was seen.
func (c Claims) Checks() []Check {
	at, err := Parse(c.Scope)
	own := err == nil && at.Username == c.Account || c.Scope == Admin && c.checkAdmin() == nil
	return []Check{{"runtime_token", c.Proven}, {"scope_matches_account", own}}
}

type claimsKey struct{}

// With carries claims to a runtime in the same process.
func With(ctx context.Context, c Claims) context.Context {
	return context.WithValue(ctx, claimsKey{}, c)
}

// From is what With carried; ok is false where nobody made a claim. Behind a guard it is what the guard has accepted.
func From(ctx context.Context) (c Claims, ok bool) {
	c, ok = ctx.Value(claimsKey{}).(Claims)
	return c, ok
}

// checkToken holds the scope and the authority to the token that came with them: whether it was that of the staff.
func (c Claims) checkToken(staff bool) error {
	if c.Scope != Admin {
		if at, err := Parse(c.Scope); err != nil {
			return fault.New(fault.InvalidScope, "The scope is not well formed.", "")
		} else if at.Username != c.Account {
			return fault.New(fault.ScopeMismatch, "The scope is not the account's.", "")
		}
	}
	if (c.Authority == StaffAuth) != staff || c.Scope == Admin && !staff {
		return fault.New(fault.AdminRequired, "Only staff may do this.", "")
	}
	return nil
}

// check is what remains, however claims travelled. The refusals never name what would do.
func (c Claims) check() error {
	switch c.Authority {
	case Customer, StaffAuth:
	default:
		return fault.New(fault.InvalidHeader, "The authority is not known.", "")
	}
	if c.Scope == Admin {
		return c.checkAdmin()
	}
	if c.Actor == "" || c.Actor != c.Account && !c.Delegated && c.Authority != StaffAuth {
		return fault.New(fault.ScopeMismatch, "The actor may not act for the account.", "")
	}
	return nil
}

// checkAdmin lets staff into the admin workspace, which has no username: account and actor are one person.
func (c Claims) checkAdmin() error {
	if c.Authority != StaffAuth || c.Account == "" || c.Actor != c.Account {
		return fault.New(fault.AdminRequired, "Only staff may do this.", "")
	}
	return nil
}

// channelPrefix begins the actors that are channels. No username has a colon, and no provider is called by this word.
const channelPrefix = "channel:"

// Channel is the actor of a webhook.
func Channel(name string) string { return channelPrefix + name }

// channelOf is the name of the channel that an actor is; empty: it is none.
func channelOf(actor string) string {
	name, is := strings.CutPrefix(actor, channelPrefix)
	if !is || strings.ContainsAny(name, ": ") {
		return ""
	}
	return name
}

// Person reports whether an actor is a person, rather than a channel or an automation.
func Person(actor string) bool { return !strings.Contains(actor, ":") }
