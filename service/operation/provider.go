package operation

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/github"
	"svc.dev/svc/service/app"
	pages "svc.dev/svc/service/page"
	"svc.dev/svc/service/secret"
	"svc.dev/svc/service/workspace"
)

const providerPath = "/api/auth/oauth/{provider}"

// Faults of a provider that is asked for something.
var providerFaults = []string{fault.ProviderUnavailable, github.RateLimited}

// providers are how somebody signs in through one. Most of these are visited by a browser rather than called.
var providers = about("provider", access.Platform,
	get(providerPath+"/status", access.Public, getProvider).on(access.Platform, access.Agents).says("Say whether a provider can be used, without anything secret.", fault.UnknownProvider),
	get(providerPath+"/manifest", access.SignedIn, startManifest).leads(http.StatusOK).cookie(setBrowser).
		says("Go to the provider to make the app of this service. The page posts the manifest to the provider, which sends the browser back within an hour.",
			fault.InvalidRequest, fault.AdminRequired, account.ReauthRequired, fault.UnknownProvider, app.AlreadyConfigured),
	get(providerPath+"/manifest/callback", access.SignedIn, finishManifest).leads(http.StatusSeeOther).
		says("Come back with the app of this service. What comes of the code is stored whole or not at all.",
			append(providerFaults, account.InvalidState, fault.AdminRequired, fault.UnknownProvider, app.AlreadyConfigured, app.OwnerMismatch, github.ManifestFailed)...),
	get(providerPath+"/start", access.Public, startSignIn).leads(http.StatusFound).cookie(setBrowser).
		says("Go to the provider to sign in. `link` and `connect` add the identity to the account that the person is in, and `reauth` proves again who that is.",
			fault.InvalidRequest, account.Unauthenticated, account.ReauthRequired, fault.UnknownProvider, fault.RateLimited, fault.ProviderNotConfigured),
	get(providerPath+"/callback", access.Public, finishSignIn).leads(http.StatusSeeOther).cookie(setSession).
		says("Come back from the provider. The state is good once, for the browser that it was made for. Leads to where the person wanted to go, to `/login` if they said no, or to `/login/link` if an account has the address.",
			append(providerFaults, account.InvalidState, account.Unauthenticated, account.InvalidCredentials, account.Suspended, github.EmailUnverified, fault.UnknownProvider, account.IdentityAlreadyLinked, secret.Unreadable,
				github.ExchangeFailed, fault.ProviderNotConfigured)...),
	get(providerPath+"/install", access.SignedIn, startInstall).leads(http.StatusFound).cookie(setBrowser).
		says("Go to the provider to choose repositories for a workspace, or else for the person's own.",
			fault.Forbidden, account.ReauthRequired, fault.WorkspaceSuspended, fault.UnknownProvider, fault.WorkspaceNotFound, fault.ProviderConnectionRequired, fault.ProviderNotConfigured),
	get(providerPath+"/setup", access.SignedIn, finishInstall).leads(http.StatusOK).leads(http.StatusSeeOther).
		says("Come back with an installation. It counts only once the person's own token shows it.",
			append(providerFaults, fault.InvalidRequest, account.InvalidState, fault.Forbidden, fault.WorkspaceSuspended, github.NotYours, fault.UnknownProvider, fault.WorkspaceNotFound, fault.ProviderConnectionRequired,
				secret.Unreadable, github.ExchangeFailed, fault.ProviderNotConfigured)...),
	verb(providerPath+"/webhook", access.Public, takeDelivery).anywhere().answers(http.StatusOK, duplicate{}).answers(http.StatusAccepted, accepted{}).
		says("Take a delivery of the provider. The signature is the credential, and a delivery counts once.", fault.InvalidJSON, fault.InvalidRequest, fault.InvalidSignature, fault.UnknownProvider, fault.BodyTooLarge, secret.Unreadable, fault.Busy),
	act("/api/auth/link", access.SignedIn, linkIdentity).cookie(setSession).
		says("Link the identity of a ticket. It is good once, for the browser that came back from the provider with it.", account.InvalidToken, account.ReauthRequired, account.IdentityAlreadyLinked),
)

// Onward is where a browser goes: to an address, or to a page that is shown at once.
type Onward struct {
	To     string
	Notice string // what happened on the way
	Page   pages.View
}

// provider is what everybody may know of one.
type provider struct {
	Provider           string   `json:"provider" enum:"github"`
	Configured         bool     `json:"configured"`
	Login              bool     `json:"login"` // people can sign in by it
	MissingPermissions []string `json:"missingPermissions"`
	InstallURL         *string  `json:"installUrl"` // where repositories are chosen
}

func providerOf(p app.Provider) provider {
	shown := provider{p.Provider, p.Configured, p.Login, append([]string{}, p.MissingPermissions...), nil}
	if p.InstallURL != "" {
		shown.InstallURL = &p.InstallURL
	}
	return shown
}

type providerName struct {
	Provider string `path:"provider"`
}

func getProvider(ctx context.Context, c Call, in providerName) (provider, error) {
	p, err := c.Apps.Provider(ctx, in.Provider)
	return providerOf(p), err
}

// providerOfStaff is one with how its set-up went.
type providerOfStaff struct {
	provider
	AppName      string     `json:"appName"`
	Owner        string     `json:"owner"`
	ConfiguredAt iso.Moment `json:"configuredAt" null:"never"`
	Outcome      string     `json:"outcome"` // of the last attempt to make an app, if it did not end well
}

func listProviders(ctx context.Context, c Call, _ struct{}) (listing.Page[providerOfStaff], error) {
	p, err := c.Apps.Provider(ctx, "github")
	return listing.Page[providerOfStaff]{Items: []providerOfStaff{{providerOf(p), p.AppName, p.Owner, iso.At(p.ConfiguredAt), p.Attempt.Outcome}}}, err
}

type newManifest struct {
	Provider string `path:"provider"`
	Owner    string `query:"owner"` // the organization; empty: the person
	Replace  string `query:"replace" enum:"true false"`
}

// startManifest hands an administrator's browser the manifest to approve.
func startManifest(ctx context.Context, c Call, in newManifest) (Onward, error) {
	form, err := c.Manifests.Start(ctx, c.Who, in.Provider, in.Owner, in.Replace == "true")
	if err != nil {
		return Onward{}, err
	}
	c.Browser.Travel(form.Browser, form.Life)
	return Onward{Page: pages.ManifestPost{Action: form.Action, Manifest: form.Manifest, Nonce: rand.Text()}}, nil
}

// returned is what a provider sends a browser back with.
type returned struct {
	Provider string `path:"provider"`
	Code     string `query:"code"`
	State    string `query:"state"`
	Error    string `query:"error"`
}

// finishManifest takes the credentials of an app that was approved.
func finishManifest(ctx context.Context, c Call, in returned) (Onward, error) {
	err := c.Manifests.Finish(ctx, c.Who, in.Provider, in.Code, in.State, c.Browser.Traveller())
	return Onward{To: c.Address(access.Admin) + pages.ProvidersPath + "?configured=" + in.Provider}, err
}

type signInStart struct {
	Provider string `path:"provider"`
	ReturnTo string `query:"returnTo"`
	Intent   string `query:"intent" enum:"signin link connect reauth"`
}

// travel sends a browser to a provider, and marks it so that it is known when it comes back.
func (c Call) travel(to account.Redirect, err error) (Onward, error) {
	if err == nil {
		c.Browser.Travel(to.Browser, to.Life)
	}
	return Onward{To: to.URL}, err
}

func startSignIn(_ context.Context, c Call, in signInStart) (Onward, error) {
	to, err := c.ReturnTo(in.ReturnTo)
	if err != nil {
		return Onward{}, err
	}
	who, ctx, err := c.Browser.Known()
	if err != nil {
		return Onward{}, err
	}
	return c.travel(c.Accounts.Identities.StartSignIn(ctx, in.Provider, account.SignInRequest{ReturnTo: to, Intent: in.Intent, Who: who, Browser: c.Browser.Traveller()}))
}

func finishSignIn(_ context.Context, c Call, in returned) (Onward, error) {
	who, ctx, err := c.Browser.Known()
	if err != nil {
		return Onward{}, err
	}
	out, err := c.Accounts.Identities.FinishSignIn(ctx, in.Provider, account.Callback{Code: in.Code, State: in.State, Error: in.Error, Browser: c.Browser.Traveller(), Who: who})
	switch {
	case err != nil:
		return Onward{}, err
	case out.Denied:
		return Onward{To: pages.SignInPath + "?error=access_denied"}, nil
	case out.LinkTicket != "":
		return Onward{To: pages.LinkPath + "?" + url.Values{"ticket": {out.LinkTicket}, "returnTo": {out.ReturnTo}}.Encode()}, nil
	case who != nil && out.SignedIn.Session.ID != who.Session.ID:
		err = c.Browser.Begin(*out.SignedIn)
	default:
		c.Browser.Renew(*out.SignedIn)
	}
	return Onward{To: out.ReturnTo, Notice: out.Notice}, err
}

type linkTicket struct {
	Body struct {
		Ticket string `json:"ticket"`
	}
}

// linkIdentity gives an account the identity of a ticket.
func linkIdentity(ctx context.Context, c Call, in linkTicket) error {
	return c.renew(c.Accounts.Identities.Link(ctx, c.Who, in.Body.Ticket, c.Browser.Traveller()))
}

type installStart struct {
	Provider  string `path:"provider"`
	Workspace string `query:"workspace"` // as username/business; empty: the person's own
	ReturnTo  string `query:"returnTo"`  // where the browser goes afterwards; empty: to the connections
}

func startInstall(_ context.Context, c Call, in installStart) (Onward, error) {
	if in.ReturnTo != "" {
		to, err := c.ReturnTo(in.ReturnTo)
		if err != nil {
			return Onward{}, err
		}
		in.ReturnTo = to
	}
	ctx, v, err := c.Enter(access.May(workspace.Manage), in.Workspace)
	if err != nil {
		return Onward{}, err
	}
	return c.travel(c.Installations.Start(ctx, v.Self(), in.Provider, v.Member, in.ReturnTo))
}

type installReturn struct {
	Provider     string `path:"provider"`
	Installation string `query:"installation_id"`
	Action       string `query:"setup_action" enum:"install update request"`
	State        string `query:"state"`
}

// finishInstall binds an installation that the person's own token shows.
func finishInstall(ctx context.Context, c Call, in installReturn) (Onward, error) {
	done, err := c.Installations.Finish(ctx, c.Who, in.Provider, in.Installation, in.Action, in.State, c.Browser.Traveller())
	switch {
	case done.ReturnTo != "":
		return Onward{To: done.ReturnTo}, err // the page there tells what is installed, and what waits
	case done.Pending:
		return Onward{Page: pages.Waiting{}}, err
	}
	return Onward{To: pages.ConnectionsPath, Notice: string(pages.NoticeInstalled)}, err
}

// Delivery is what a provider sends.
type Delivery struct {
	Header  http.Header
	Body    []byte
	Release func() // its place in memory
}

type delivered struct {
	Provider string `path:"provider"`
	Delivery
}

// duplicate is what is said of a delivery that came before.
type duplicate struct {
	Status string `json:"status" enum:"duplicate"`
}

// takeDelivery keeps a delivery: it is on disk before it is accepted.
func takeDelivery(ctx context.Context, c Call, in delivered) (outcome, error) {
	defer in.Release()
	again, err := c.Installations.Take(ctx, in.Provider, in.Header, in.Delivery.Body)
	if again {
		return outcome{http.StatusOK, duplicate{"duplicate"}}, err
	}
	return outcome{http.StatusAccepted, accepted{"accepted"}}, err
}
