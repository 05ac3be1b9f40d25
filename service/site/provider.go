package site

import (
	"context"
	"net/http"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/github"
	"svc.dev/svc/service/page"
)

// providers are the pages that come of signing in through one, and those where staff begin and set it up.
var providers = []Row{
	enters(page.LinkPath, access.Public, link),
	does(page.LinkPath, access.Public, linkAgain, signInAndLink),
	does(page.LinkSeparatePath, access.Public, nil, goOnApart),
	elevates(enters(page.ElevatePath, access.SignedIn, elevate)),
	elevates(takes(page.ElevatePath, "elevate", elevate, goesOn(page.ProvidersPath), "returnTo")),
	shows(page.ProvidersPath, access.Staff, provider).on(access.Admin),
	does(page.ReplaceProviderPath, access.Staff, nil, replaceProvider).on(access.Admin),
}

// github says whether sign-in through GitHub works. A database that cannot say so is no reason to have no page.
func (v *Visit) github(ctx context.Context) page.Provider {
	status, err := v.Apps.Provider(ctx, "github")
	p := page.Provider{Ready: err == nil && status.Login}
	if who, _, _ := v.Browser.Session(); !p.Ready && who != nil && who.Account.Role == account.RoleAdmin {
		p.SetupURL = v.Address(access.Admin) + page.ProvidersPath
	}
	return p
}

// link asks somebody whom the provider vouches for to prove that the account with their address is theirs.
func link(ctx context.Context, v *Visit, form page.Form) (page.View, error) {
	ticket := v.Query.Get("ticket")
	if v.sent("ticket") {
		ticket = v.typed("ticket")
	}
	t, err := v.Accounts.Identities.Ticket(ctx, ticket, v.Browser.Traveller())
	if err != nil {
		return nil, err
	}
	view := page.Link{Form: form, Ticket: ticket, Email: t.Email, Login: t.Login, Separate: t.OfferNew}
	if who, _, _ := v.Browser.Known(); who != nil && who.Account.Email == t.Email {
		view.SignedInAs = who.Account.Username
	}
	return view, nil
}

// linkAgain is link, or what became of a ticket that a refusal has used up.
func linkAgain(ctx context.Context, v *Visit, form page.Form) (page.View, error) {
	view, err := link(ctx, v, form)
	if err != nil {
		return page.Failure{Status: http.StatusBadRequest, Message: fault.From(err).Message, Details: fault.From(err).Details}, nil
	}
	return view, nil
}

// signInAndLink signs in to the account with its own password, unless that was done before, and links.
func signInAndLink(ctx context.Context, v *Visit) (Next, error) {
	var f struct {
		Ticket   string `json:"ticket"`
		Email    string `json:"email"`
		Password string `json:"password" text:"any"`
		ReturnTo string `json:"returnTo"`
	}
	if err := v.Accounts.Passwords.AdmitLogin(ctx, v.Browser.Device()); err != nil {
		return Next{}, err
	}
	if err := v.fill(&f); err != nil {
		return Next{}, err
	}
	to, err := v.ReturnTo(f.ReturnTo)
	if err != nil {
		return Next{}, err
	}
	who, ctx, err := v.Browser.Known()
	if err == nil && (f.Email != "" || who == nil) {
		var in account.SignedIn
		if in, err = v.Accounts.Passwords.Login(ctx, f.Email, f.Password, v.Browser.Device()); err == nil {
			who, err = &in.Who, v.Browser.Begin(in)
		}
	}
	if err != nil {
		return Next{}, err
	}
	in, err := v.Accounts.Identities.Link(ctx, *who, f.Ticket, v.Browser.Traveller())
	if err == nil {
		v.Browser.Renew(in)
	}
	return Next{To: to, Notice: page.NoticeLinked}, err
}

// goOnApart goes on with an account of its own.
func goOnApart(ctx context.Context, v *Visit) (Next, error) {
	var f struct {
		Ticket   string `json:"ticket"`
		ReturnTo string `json:"returnTo"`
	}
	if err := v.fill(&f); err != nil {
		return Next{}, err
	}
	to, err := v.ReturnTo(f.ReturnTo)
	if err != nil {
		return Next{}, err
	}
	in, err := v.Accounts.Identities.GoOnNew(ctx, f.Ticket, v.Browser.Traveller())
	if err == nil {
		err = v.Browser.Begin(in)
	}
	return Next{To: to, Notice: page.NoticeEmailInUse}, err
}

// elevates is a row where staff prove who they are before Admin opens.
func elevates(r Row) Row {
	r.Proves = true
	return r.on(access.Admin)
}

func elevate(_ context.Context, v *Visit, form page.Form) (page.View, error) {
	if !v.Account.IsStaff() {
		return nil, onlyFor("staff")
	}
	if form.ReturnTo == "" {
		form.ReturnTo = page.ProvidersPath
	}
	return page.Reauth{
		Desk: v.desk(form), Password: v.can("password"), GitHub: v.can("github"), Elevate: true, Fresh: v.Accounts.Sessions.NeedFresh(v.Who) == nil,
	}, nil
}

func onlyFor(people string) error {
	return fault.New(fault.AdminRequired, "Only "+people+" may do this.", "")
}

// provider is the set-up of sign-in providers, for administrators.
func provider(ctx context.Context, v *Visit, form page.Form) (page.View, error) {
	view, err := v.providers(ctx, form)
	if err == nil && view.Kind == page.OwnerOrganization && !github.ValidOwner(view.Owner) {
		view.Form.Fields = []page.FieldError{{Field: "owner", Type: "invalid"}}
	}
	return view, err
}

func (v *Visit) providers(ctx context.Context, form page.Form) (page.Providers, error) {
	if v.Account.Role != account.RoleAdmin {
		return page.Providers{}, onlyFor("an administrator")
	}
	p, err := v.Apps.Provider(ctx, "github")
	if err != nil {
		return page.Providers{}, err
	}
	if v.Query.Get("configured") == "github" && form.Notice == "" {
		form.Notice = page.NoticeProviderConfigured
	}
	view := page.Providers{
		Desk: v.desk(form), Web: p.Web, Kind: page.OwnerKind(v.Query.Get("kind")), Owner: v.Query.Get("owner"), Linked: v.can("github"),
		Outcome: p.Attempt.Outcome, Attempt: page.Attempt{Name: p.Attempt.Name, Wanted: p.Attempt.Wanted, Got: p.Attempt.Got},
	}
	if p.Configured {
		view.App = &page.App{
			Name: p.AppName, Slug: p.Slug, Owner: p.Owner, Organization: p.Organization, URL: p.PageURL, InstallURL: p.InstallURL, ConfiguredAt: p.ConfiguredAt, Missing: p.MissingPermissions,
		}
	}
	return view, nil
}

// replaceProvider goes on to another app once the present one was named.
func replaceProvider(ctx context.Context, v *Visit) (Next, error) {
	var f struct {
		Confirm string `json:"confirm"`
		Kind    string `json:"kind"`
		Owner   string `json:"owner"`
	}
	if err := v.fill(&f); err != nil {
		return Next{}, err
	}
	view, err := v.providers(ctx, page.Form{})
	if err == nil {
		err = v.Accounts.Sessions.NeedFresh(v.Who)
	}
	if err != nil {
		return Next{}, err
	}
	view.Confirm, view.Kind, view.Owner = f.Confirm, page.OwnerKind(f.Kind), f.Owner
	if view.App == nil || f.Confirm != view.App.Name {
		view.Form.Fields = append(view.Form.Fields, page.FieldError{Field: "confirm", Type: "invalid"})
	}
	if view.Kind == page.OwnerOrganization && !github.ValidOwner(f.Owner) {
		view.Form.Fields = append(view.Form.Fields, page.FieldError{Field: "owner", Type: "invalid"})
	}
	if len(view.Form.Fields) > 0 {
		return Next{Page: view, Status: http.StatusBadRequest}, nil
	}
	view.Replace = true
	return Next{Page: view}, nil
}
