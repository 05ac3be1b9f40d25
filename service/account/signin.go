package account

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/oauth2"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account/github"
	"svc.dev/svc/service/mail"
	"svc.dev/svc/service/secret"
	"svc.dev/svc/service/strictjson"
	"svc.dev/svc/service/throttle"
)

// Identities are the ways into accounts that providers vouch for, and how people come by them.
type Identities struct {
	*base
	sessions *Sessions
}

// Why somebody goes to a provider.
const (
	IntentSignIn  = "signin"
	IntentLink    = "link"    // to add a way into the account they are in
	IntentConnect = "connect" // the same, for what the provider can do for them
	IntentReauth  = "reauth"  // to prove again who they are
)

// How long somebody may stay away, and how long a ticket waits for them.
const (
	signInLife = 10 * time.Minute
	ticketLife = 10 * time.Minute
)

// journey is somebody who went to a provider to sign in.
type journey struct {
	Journey
	Intent   string `json:"intent,omitempty"`
	Verifier []byte `json:"verifier,omitempty"` // sealed
}

// startsPerSource bounds how many states one party can have stored.
var startsPerSource = throttle.Rate{Limit: 100, Per: 5 * time.Minute}

// KnownProvider refuses every name but the one there is.
func KnownProvider(name string) error {
	if name == ByGitHub {
		return nil
	}
	return fault.New(fault.UnknownProvider, "There is no such sign-in provider.", "")
}

// Route is an address of a platform that has to do with a provider.
func Route(platform, provider, name string) string {
	return platform + "/api/auth/oauth/" + provider + "/" + name
}

// SignInRequest is somebody who wants to go to a provider.
type SignInRequest struct {
	ReturnTo string // where to go afterwards; checked by the caller, kept as it is
	Intent   string // one of the Intents. Defaults to IntentSignIn
	Who      *Who   // who is signed in; nil: nobody
	Browser  string // the value that the browser has from an earlier Redirect; empty: none
}

// StartSignIn sends a browser to a provider. All intents but IntentSignIn need somebody signed in, and all of those but
// IntentReauth somebody who proved a short while ago who they are.
func (a *Identities) StartSignIn(ctx context.Context, provider string, r SignInRequest) (Redirect, error) {
	if err := KnownProvider(provider); err != nil {
		return Redirect{}, err
	}
	app, err := sqldb.Snapshot(ctx, a.DB, func(tx *sqldb.Tx) (github.App, error) { return a.Apps.Known(tx, provider) })
	if err != nil {
		return Redirect{}, err
	}
	r.Intent = cmp.Or(r.Intent, IntentSignIn)
	if err := a.mayLeave(r); err != nil {
		return Redirect{}, err
	}
	state, verifier := secret.Random(), oauth2.GenerateVerifier()
	to := Redirect{Browser: markBrowser(r.Browser), Life: signInLife}
	j := journey{Journey: NewJourney(provider, to.Browser), Intent: r.Intent, Verifier: a.box.Seal(sealedIn(state), []byte(verifier))}
	j.ReturnTo = r.ReturnTo
	if r.Intent == IntentSignIn {
		r.Who = nil // the state is good for whoever this browser is by then
	}
	if err := a.keepState(ctx, state, j, r.Who); err != nil {
		return Redirect{}, err
	}
	challenge := oauth2.S256ChallengeFromVerifier(verifier)
	to.URL = a.GitHub.AuthorizeURL(app, Route(a.Platform, provider, "callback"), state, challenge, r.Intent == IntentLink)
	return to, nil
}

// keepState stores the state of a sign-in, unless too many come from one place.
func (a *Identities) keepState(ctx context.Context, state string, j journey, who *Who) error {
	wait, err := sqldb.Write(ctx, a.DB, func(tx *sqldb.Tx) (time.Duration, error) {
		wait, err := throttle.Take(tx, a.Now(), "oauth-ip:"+source(ctx), startsPerSource)
		if err != nil || wait > 0 {
			return wait, err
		}
		return 0, Depart(tx, a.Now(), State{Value: state, Purpose: forState, Life: signInLife, Who: who}, &j)
	})
	return cmp.Or(err, limited("login", wait))
}

// sealedIn binds what is sealed to the state that carries it.
func sealedIn(state string) string { return "state " + secret.Fingerprint(state) }

// mayLeave refuses an intent that the person must first be signed in for, or be signed in anew.
func (a *Identities) mayLeave(r SignInRequest) error {
	switch {
	case !slices.Contains([]string{IntentSignIn, IntentLink, IntentConnect, IntentReauth}, r.Intent):
		return strictjson.Wrong("intent", strictjson.Invalid)
	case r.Intent == IntentSignIn:
		return nil
	case r.Who == nil:
		return unauthenticated()
	case r.Intent == IntentReauth:
		return nil
	}
	return a.sessions.NeedFresh(*r.Who)
}

// Callback is what a browser brings back from a provider.
type Callback struct {
	Code    string
	State   string
	Error   string // the provider's word for what went wrong
	Browser string // the value of the Redirect's cookie
	Who     *Who   // who is signed in; nil: nobody
}

// Outcome is how a visit to a provider ended.
type Outcome struct {
	SignedIn   *SignedIn // the new session, or the one that there was under a new value; nil: none
	ReturnTo   string
	LinkTicket string // an account has the address: Link or, with OfferNew, GoOnNew goes on from here
	OfferNew   bool
	Notice     string // the type of a warning to show at once
	Denied     bool   // the person said no
}

// FinishSignIn goes on with somebody who comes back from a provider. The state is used up whatever comes of it, and before
// the provider is asked: of two who come with one state, one goes on.
func (a *Identities) FinishSignIn(ctx context.Context, provider string, c Callback) (Outcome, error) {
	out, err := a.finishSignIn(ctx, provider, c)
	if err != nil {
		a.refused(ctx, "login.refused")
	}
	return out, err
}

func (a *Identities) finishSignIn(ctx context.Context, provider string, c Callback) (Outcome, error) {
	if err := KnownProvider(provider); err != nil {
		return Outcome{}, err
	}
	var j journey
	if err := ComeBack(ctx, a.DB, a.Now(), forState, Arrival{provider, c.State, c.Browser, c.Who}, &j); err != nil {
		return Outcome{}, err
	}
	switch {
	case c.Error == "access_denied":
		return Outcome{ReturnTo: j.ReturnTo, Denied: true}, nil
	case c.Error != "":
		return Outcome{}, fault.New(github.ExchangeFailed, "GitHub did not complete the sign-in.", "Start again.").
			Because(errors.New("the callback carries an error"))
	}
	v, err := a.identify(ctx, provider, c, j)
	if err != nil {
		return Outcome{}, err
	}
	return a.receive(ctx, v, j, c)
}

// identify asks the provider whom a code stands for.
func (a *Identities) identify(ctx context.Context, provider string, c Callback, j journey) (visitor, error) {
	app, err := a.Apps.App(ctx, provider)
	if err != nil {
		return visitor{}, err
	}
	verifier, err := a.box.Open(sealedIn(c.State), j.Verifier)
	if err != nil {
		return visitor{}, fmt.Errorf("read state: %w", err)
	}
	tokens, err := a.GitHub.Exchange(ctx, app, c.Code, Route(a.Platform, provider, "callback"), string(verifier))
	if err != nil {
		return visitor{}, err
	}
	user, err := a.GitHub.User(ctx, tokens.Access)
	if err != nil {
		return visitor{}, err
	}
	emails, err := a.GitHub.Emails(ctx, tokens.Access)
	missing := errors.Is(err, github.ErrPermission)
	if err != nil && !missing {
		return visitor{}, err
	}
	v := visitor{
		Provider: provider, Issuer: a.GitHub.Host(), Subject: user.Subject(), Login: user.Login, Name: user.Name,
		NoEmail: missing, Grant: grant{Client: app.ClientID, Tokens: tokens},
	}
	if e, ok := github.ChooseEmail(emails, user.Email, mail.Normal); ok {
		v.Email, v.Verified = e.Address, e.Verified
	}
	return v, nil
}
