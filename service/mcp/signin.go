package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/oauth2"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/secret"
)

const (
	// signInLife is how long somebody may take to sign in.
	signInLife = 10 * time.Minute
	// provider is what all authorization servers are to the room of the accounts.
	provider = "mcp"
)

// Why somebody has to sign in.
const (
	signInWanted  = "Somebody has to sign in to the server."
	signInEnded   = "The sign-in has ended, and the authorization server does not renew it."
	signInRefused = "The server refuses the sign-in."
)

// Traveller is somebody whose browser can be sent to sign in. ReturnTo is where it goes afterwards, checked by the caller; Staff: they
// act by the authority of the service.
type Traveller struct {
	Who      account.Who
	ReturnTo string
	Staff    bool
}

// errand is what a state remembers of somebody who goes to sign in to a server.
type errand struct {
	account.Journey
	Scope   string `json:"scope"`
	Server  string `json:"server"`
	Setting int64  `json:"setting"`
	Staff   bool   `json:"staff,omitempty"`
	Sealed  []byte `json:"sealed"` // a pledge
}

// pledge is what only this service knows of an errand.
type pledge struct {
	consent
	Verifier string `json:"verifier"`
	Named    bool   `json:"named"` // the authorization server says who it is when it sends somebody back
}

// box seals what a state carries.
func (s *Servers) box() *secret.Box { return s.Secrets.Box("mcp sign-in") }

// sealedIn binds what is sealed to the state that carries it.
func sealedIn(state string) string { return "state " + secret.Fingerprint(state) }

// depart is where a browser goes to sign in to a server that was looked at. It returns an impossible where that cannot be.
func (s *Servers) depart(ctx context.Context, from Traveller, to Server, found finding) (string, error) {
	asking, cancel := context.WithTimeout(ctx, s.ConnectTimeout)
	defer cancel()
	at, err := s.discover(asking, to, found.challenges)
	if err != nil {
		return "", err
	}
	client, err := s.register(asking, at)
	if err != nil {
		return "", err
	}
	state, verifier := secret.Random(), oauth2.GenerateVerifier()
	kept, err := json.Marshal(pledge{client, verifier, at.AuthorizationResponseIssParameterSupported})
	if err != nil {
		return "", fmt.Errorf("keep state: %w", err)
	}
	e := errand{Journey: account.Journey{Provider: provider, ReturnTo: from.ReturnTo}, Scope: to.Scope, Server: to.ID, Setting: to.setting, Staff: from.Staff}
	e.Sealed = s.box().Seal(sealedIn(state), kept)
	err = s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		return account.Depart(tx, s.Now(), account.State{Value: state, Purpose: account.ForMCP, Life: signInLife, Who: &from.Who}, &e)
	})
	return at.address(client, s.Callback, state, verifier), err
}

// address is that of the page where somebody signs in.
func (d desk) address(client consent, callback, state, verifier string) string {
	config := oauth2.Config{ClientID: client.Client, RedirectURL: callback, Endpoint: oauth2.Endpoint{AuthURL: d.AuthorizationEndpoint}}
	if d.scope != "" {
		config.Scopes = []string{d.scope}
	}
	return config.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier), oauth2.SetAuthURLParam("resource", d.resource))
}

// Back is what a browser brings back from an authorization server.
type Back struct {
	State, Code string
	Issuer      string // who says so; empty: not said
	Error       string // the authorization server's word for what went wrong
}

// Returned is how a visit to an authorization server ended.
type Returned struct {
	ReturnTo string
	Denied   bool // the person said no
}

// Return goes on with somebody who comes back from an authorization server: their consent is kept, and the server connected. The state
// is used up whatever comes of it, and before anybody is asked: of two who come with one state, one goes on. Enter lets the person
// into the workspace that they left for, as staff or as whoever they are there.
func (s *Servers) Return(ctx context.Context, who account.Who, b Back, enter func(scope string, staff bool) (context.Context, error)) (Returned, error) {
	var e errand
	arrival := account.Arrival{Provider: provider, State: b.State, Who: &who}
	if err := account.ComeBack(ctx, s.DB, s.Now(), account.ForMCP, arrival, &e); err != nil {
		s.Audit.Refused(ctx, audit.Event{Action: "mcp.sign_in_refused", Outcome: audit.Deny})
		return Returned{}, err
	}
	ctx, err := enter(e.Scope, e.Staff)
	if err != nil {
		return Returned{}, err
	}
	at, err := s.one(ctx, e.Scope, e.Server, 0)
	if err != nil {
		return Returned{}, err
	}
	if at.setting != e.Setting {
		return Returned{}, conflict(at)
	}
	given, err := s.redeem(ctx, b, e)
	if errors.Is(err, errDenied) {
		return Returned{ReturnTo: e.ReturnTo, Denied: true}, nil
	}
	if err != nil {
		return Returned{}, err
	}
	by := who.Account.Actor()
	signed, err := s.signedIn(ctx, by, at, given)
	if err != nil {
		return Returned{}, err
	}
	// That the server is not reached now is told where the browser goes.
	if _, err = s.observe(ctx, by, signed); fault.Is(err, Unreachable) {
		err = nil
	}
	return Returned{ReturnTo: e.ReturnTo}, err
}

var errDenied = errors.New("the person said no")

// redeem turns what a browser brought back into a consent.
func (s *Servers) redeem(ctx context.Context, b Back, e errand) (consent, error) {
	value, err := s.box().Open(sealedIn(b.State), e.Sealed)
	if err != nil {
		return consent{}, fmt.Errorf("read state: %w", err)
	}
	var p pledge
	if err := json.Unmarshal(value, &p); err != nil {
		return consent{}, errors.New("read state: not what was sealed")
	}
	switch {
	// Another authorization server may have sent the browser here, with a code of its own (RFC 9207).
	case b.Issuer == "" && p.Named || b.Issuer != "" && b.Issuer != p.Issuer:
		return consent{}, notSignedIn("Another authorization server answered than the one that was asked.")
	case b.Error == "access_denied":
		return consent{}, errDenied
	case b.Error != "":
		return consent{}, notSignedIn("The authorization server did not complete it.")
	case !isToken(b.Code):
		return consent{}, notSignedIn("The authorization server gave no code.")
	}
	given, err := s.consents().exchange(ctx, p.consent, b.Code, p.Verifier)
	switch {
	case errors.Is(err, errDeclined):
		return consent{}, notSignedIn("The authorization server gave no token that can be used.").Because(err)
	case err != nil:
		return consent{}, notSignedIn("The authorization server cannot be reached, or its answer cannot be used.").Because(err)
	}
	return given, nil
}

// signedIn keeps a consent, with which a server that is still set up as it was has to be connected anew.
func (s *Servers) signedIn(ctx context.Context, by audit.Actor, at Server, given consent) (Server, error) {
	return sqldb.Write(ctx, s.DB, func(tx *sqldb.Tx) (Server, error) {
		now, err := claim(tx, at.Scope, at.ID, 0)
		if err != nil {
			return now, err
		}
		if now.setting != at.setting {
			return now, conflict(now)
		}
		err = cmp.Or(s.consents().keepConsent(tx, now, given, by),
			tx.Do("keep that somebody signed in", `UPDATE mcp_servers SET token = 1, setting = setting + 1, status = $2, status_at = $3, reason = '',
				version = version + 1, updated_at = $3 WHERE id = $1`, now.ID, Connecting, s.Now().UnixMilli()),
			s.Audit.Append(ctx, tx, event(by, now.Scope, "mcp.signed_in", now.ID)))
		if err != nil {
			return now, err
		}
		return find(tx, now.Scope, now.ID)
	})
}
