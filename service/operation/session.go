package operation

import (
	"context"

	"svc.dev/svc/fault"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/account"
)

// EverySurface are the three.
var EverySurface = []access.Surface{access.Platform, access.Agents, access.Admin}

// sessions are how somebody is known, on every surface.
var sessions = about("session", access.Platform,
	get("/api/auth/session", access.Public, getSession).on(EverySurface...).open().says("Say who is signed in. Nobody is an answer too, and pages of all surfaces may read it.", fault.AmbiguousSession),
	act("/api/auth/logout", access.Public, logout).on(EverySurface...).cookie(forgetSession).header("Clear-Site-Data", "Clear-Site-Data").says("Sign out. It does not matter whether somebody was signed in."),
	act("/api/auth/reauth", access.SignedIn, reauth).on(EverySurface...).cookie(setSession).
		says("Prove again who is signed in. It opens the ten minutes in which sensitive acts are allowed, and gives the session a new value.", account.InvalidCredentials, fault.Busy),
	act("/api/auth/elevate", access.SignedIn, elevate).on(access.Admin).cookie(setElevation).
		says("Take up the authority of the staff, with the right password or a proof that is still fresh. It lives 30 minutes unused and 12 hours at most.", account.InvalidCredentials, account.ReauthRequired, fault.AdminRequired, fault.Busy),
	drop("/api/auth/elevate", access.SignedIn, lower).on(access.Admin).cookie(forgetElevation).says("Lay down the authority of the staff. It does not matter whether there was any."),
)

// sessionShown is a session as its own person sees it.
type sessionShown struct {
	ID        string     `json:"id" id:"ses"`
	CreatedAt iso.Moment `json:"createdAt"`
	ExpiresAt iso.Moment `json:"expiresAt"`
	AuthTime  iso.Moment `json:"authTime"`
}

func sessionOf(s account.Session) sessionShown {
	return sessionShown{s.ID, iso.At(s.CreatedAt), iso.At(s.ExpiresAt), iso.At(s.AuthTime)}
}

// sessionState is who is signed in; of nobody there is nothing more to say.
type sessionState struct {
	Authenticated bool              `json:"authenticated"`
	Account       *account.Profile  `json:"account,omitempty"`
	Session       *sessionShown     `json:"session,omitempty"`
	Workspaces    []RoleIn          `json:"workspaces,omitzero"`
	Warnings      []account.Warning `json:"warnings,omitzero"`
	Staff         *authority        `json:"staff,omitempty"` // on Admin, as long as it was taken up
}

// authority is that of the staff over the service. It ends at its time unless it is used before.
type authority struct {
	Role      string     `json:"role" enum:"support admin"`
	ExpiresAt iso.Moment `json:"expiresAt"`
}

func getSession(_ context.Context, c Call, _ struct{}) (state sessionState, err error) {
	who, ctx, err := c.Browser.Session()
	if err != nil || who == nil {
		return state, err
	}
	all, err := c.Accounts.Workspaces(ctx, who.Account.ID)
	if err != nil {
		return state, err
	}
	staff, err := c.authority(ctx, *who)
	profile, session := who.Account.Profile(), sessionOf(who.Session)
	return sessionState{true, &profile, &session, RolesIn(all), who.Account.Warnings(), staff}, err
}

// authority is what somebody of the staff has taken up; nil: nothing.
func (c Call) authority(ctx context.Context, who account.Who) (*authority, error) {
	if c.Surface != access.Admin || !who.Account.IsStaff() {
		return nil, nil
	}
	until, err := c.Accounts.Staff.ElevatedUntil(ctx, who, c.Browser.Elevation())
	if err != nil || until.IsZero() {
		return nil, err
	}
	return &authority{who.Account.Role, iso.At(until)}, nil
}

func logout(_ context.Context, c Call, _ struct{}) error { return c.Browser.Leave() }

type proof struct {
	Body struct {
		Password string `json:"password" text:"any"`
	}
}

func reauth(ctx context.Context, c Call, in proof) error {
	return c.renew(c.Accounts.Passwords.Reauth(ctx, c.Who, in.Body.Password))
}

// renew gives the browser the new value of its session.
func (c Call) renew(in account.SignedIn, err error) error {
	if err == nil {
		c.Browser.Renew(in)
	}
	return err
}

type elevation struct {
	Body struct {
		Password string `json:"password,omitzero" text:"any"`
	}
}

func elevate(ctx context.Context, c Call, in elevation) error {
	up, err := c.Accounts.Staff.Elevate(ctx, c.Who, in.Body.Password)
	if err == nil {
		c.Browser.Raise(up)
	}
	return err
}

func lower(ctx context.Context, c Call, _ struct{}) error {
	err := c.Accounts.Staff.Lower(ctx, c.Who)
	if err == nil {
		c.Browser.Lower()
	}
	return err
}
