package operation

import (
	"context"
	"maps"
	"time"

	"svc.dev/svc/service/account"
)

// Browser is what an operation does with the browser that asks.
type Browser interface {
	// Session is who is signed in, for an operation that needs nobody to be; nil: nobody is. What is done with the context that comes
	// back is told of as theirs.
	Session() (*account.Who, context.Context, error)
	// Device is the mark by which an account knows it, and Know leaves one.
	Device() string
	Know(mark string)
	// Begin gives it a session, and ends the one that it had; Renew gives its session a new value.
	Begin(account.SignedIn) error
	Renew(account.SignedIn)
	// Leave ends its session, and Forget only takes it away.
	Leave() error
	Forget()
	// Raise gives it the authority of the staff, and Lower takes that away.
	Raise(account.Elevated)
	Lower()
	// Elevation is the value by which it holds that authority, on Admin alone.
	Elevation() string
	// Traveller is the mark by which it is known when a provider sends it back, and Travel leaves one.
	Traveller() string
	Travel(mark string, life time.Duration)
	// Known is Session, where one that is broken is no obstacle.
	Known() (*account.Who, context.Context, error)
	// Look lets it look at the service as a customer.
	Look(view string, life time.Duration)
}

// What an operation does to the cookies of a browser, by the headers of the description.
const (
	setSession      = "SetSession"
	forgetSession   = "ForgetSession"
	knowBrowser     = "KnowBrowser"
	setElevation    = "SetElevation"
	forgetElevation = "ForgetElevation"
	setBrowser      = "SetBrowser"
	setView         = "SetView"
)

// cookie is the header by which an answer changes the cookies of a browser.
func (r Row) cookie(header string) Row {
	return r.header("Set-Cookie", header)
}

// header is one that its answers have beside the usual.
func (r Row) header(name, component string) Row {
	r.headers = maps.Clone(r.headers)
	if r.headers == nil {
		r.headers = map[string]string{}
	}
	r.headers[name] = component
	return r
}
