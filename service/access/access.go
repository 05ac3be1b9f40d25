// Package access says who may. A credential and a need go in, a visitor comes out; nothing else in the service decides.
//
// There is one judgement, and it is made over and over: when a request begins, when its body has come and before its answer
// goes out (Visitor.Still), every few seconds of a long answer, and inside each transaction that changes something
// (Visitor.Guard). Whoever was removed, suspended or signed out in between does nothing more.
package access

import (
	"cmp"
	"context"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/apikey"
)

// Surface is one of the three faces of the service.
type Surface string

// The surfaces there are.
const (
	Platform Surface = "platform" // accounts
	Agents   Surface = "agents"   // a customer's workspace
	Admin    Surface = "admin"    // the same with service-wide authority
)

// Credential is what a request says about whoever sends it, and where.
type Credential struct {
	Surface   Surface
	Safe      bool   // the method changes nothing
	Session   string // the cookie of all surfaces
	Elevation string // the cookie of Admin
	View      string // the cookie of an impersonation; empty: whoever asks is themselves
	Key       string // of the Authorization header
	Keyed     bool   // there is such a header, and this route looks at it
	Source    string // the network that the request comes from
	// Unattended: nobody is at the page that asks, it does so by itself. It is let in, and keeps nothing alive.
	Unattended bool
}

// Place is what a request is about: a workspace, and a project in it where the path names one.
type Place struct {
	Scope   string
	Project string
}

// Config is what judging needs. DB, Accounts and Keys are required.
type Config struct {
	DB       *sqldb.DB
	Accounts *account.Accounts
	Keys     *apikey.Keys
	// Rate and Burst bound the requests of a key or account, per minute.
	Rate, Burst int
	// WrongKeys bounds the wrong API keys from an address, per minute.
	WrongKeys int
	// Stale is how old a judgement may be for what is read, or passed on to the runtime. What is written here is judged in its own
	// transaction. Defaults to a second.
	Stale time.Duration
}

// Access judges.
type Access struct {
	Config
	rates *Rates
	// wrongKeys slows down whoever tries keys. It counts only what was wrong, so a good key is never in its way but for the company it
	// keeps.
	wrongKeys *Rates
}

// New is what judges by the configuration.
func New(c Config) *Access {
	c.Stale = cmp.Or(c.Stale, time.Second)
	return &Access{Config: c, rates: NewRates("requests", c.Rate, c.Burst), wrongKeys: NewRates("wrong_keys", c.WrongKeys, c.WrongKeys)}
}

// Admit is the visitor of a request, or the refusal that it gets. What is known of somebody who is refused is in the visitor
// all the same.
func (a *Access) Admit(ctx context.Context, c Credential, n Need, at Place) (*Visitor, error) {
	v := &Visitor{access: a, credential: c, need: n, at: at}
	if n.kind == public {
		return v, nil
	}
	if full := a.wrongKeys.Full(c.Source); c.Keyed && full != nil {
		return v, full
	}
	err := v.first(ctx)
	if c.Keyed && fault.Is(err, apikey.Invalid) {
		a.wrongKeys.Count(c.Source)
	}
	if by := v.Holder(); by != "" {
		if full := a.rates.Take(by); full != nil {
			return v, full
		}
	}
	if err != nil {
		return v, err
	}
	if n.fresh {
		if err := a.Accounts.Sessions.NeedFresh(v.Who); err != nil {
			return v, err
		}
	}
	return v, v.used(ctx)
}
