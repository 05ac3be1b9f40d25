package gateway

import (
	"net/http"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/github"
	"svc.dev/svc/service/page"
)

// linkPage asks somebody whom the provider vouches for to prove that the account with their address is theirs.
func (x *exchange) linkPage() error {
	form, err := x.entryForm()
	if err != nil {
		return err
	}
	view, err := x.linkView(form, x.r.URL.Query().Get("ticket"))
	if err != nil {
		return err
	}
	return x.show(http.StatusOK, view)
}

func (x *exchange) linkView(form page.Form, ticket string) (page.Link, error) {
	t, err := x.g.Accounts.Ticket(x.ctx(), ticket, x.host("svc_oauth"))
	if err != nil {
		return page.Link{}, err
	}
	view := page.Link{Form: form, Ticket: ticket, Email: t.Email, Login: t.Login, Separate: t.OfferNew}
	if who, _ := x.signedInQuietly(); who != nil && who.Account.Email == t.Email {
		view.SignedInAs = who.Account.Username
	}
	return view, nil
}

// linkForm signs in to the account with its own password, unless that was done before, and links.
func (x *exchange) linkForm() error {
	var f struct {
		Ticket   string `json:"ticket"`
		Email    string `json:"email"`
		Password string `json:"password" text:"any"`
		ReturnTo string `json:"returnTo"`
	}
	if err := x.form(&f, x.admitLogin); err != nil {
		return err
	}
	to, err := x.g.returnTo(f.ReturnTo)
	if err != nil {
		return err
	}
	if err := x.signInAndLink(credentials{f.Email, f.Password}, f.Ticket); err != nil {
		return x.again(err, func(form page.Form) page.View {
			form.ReturnTo = f.ReturnTo
			view, err := x.linkView(form, f.Ticket)
			if err != nil {
				return page.Failure{Status: http.StatusBadRequest, Message: fault.From(err).Message, Details: fault.From(err).Details, RequestID: x.id}
			}
			return view
		})
	}
	return x.see(http.StatusSeeOther, withNotice(to, string(page.NoticeLinked)))
}

func (x *exchange) signInAndLink(c credentials, ticket string) error {
	who, err := x.signedInQuietly()
	if err != nil {
		return err
	}
	if c.Email != "" || who == nil {
		in, err := x.g.Accounts.Login(x.ctx(), c.Email, c.Password, x.host("svc_device"))
		if err != nil {
			return err
		}
		if err := x.newSession(in); err != nil {
			return err
		}
		who = &in.Who
	}
	in, err := x.g.Accounts.Link(x.ctx(), *who, ticket, x.host("svc_oauth"))
	if err != nil {
		return err
	}
	x.setSession(in)
	return nil
}

// separateForm goes on with an account of its own.
func (x *exchange) separateForm() error {
	var f struct {
		Ticket   string `json:"ticket"`
		ReturnTo string `json:"returnTo"`
	}
	if err := x.form(&f); err != nil {
		return err
	}
	to, err := x.g.returnTo(f.ReturnTo)
	if err != nil {
		return err
	}
	in, err := x.g.Accounts.GoOnNew(x.ctx(), f.Ticket, x.host("svc_oauth"))
	if err != nil {
		return err
	}
	if err := x.newSession(in); err != nil {
		return err
	}
	return x.see(http.StatusSeeOther, withNotice(to, string(page.NoticeEmailInUse)))
}

// providers is the set-up of sign-in providers, for administrators.
func (x *exchange) providers(form page.Form) (page.Providers, error) {
	if x.who.Account.Role != account.RoleAdmin {
		return page.Providers{}, fault.New(adminRequired, "Only an administrator may do this.", "")
	}
	p, err := x.g.Accounts.Provider(x.ctx(), "github")
	if err != nil {
		return page.Providers{}, err
	}
	q := x.r.URL.Query()
	if q.Get("configured") == "github" && form.Notice == "" {
		form.Notice = page.NoticeProviderConfigured
	}
	view := page.Providers{
		Desk: x.desk(form), Web: x.g.Accounts.GitHub.URL, Kind: page.OwnerKind(q.Get("kind")), Owner: q.Get("owner"),
		Outcome: page.Outcome(p.Attempt.Outcome), Attempt: page.Attempt{Name: p.Attempt.Name, Wanted: p.Attempt.Wanted, Got: p.Attempt.Got},
	}
	if p.Configured {
		view.App = &page.App{
			Name: p.AppName, Slug: p.Slug, Owner: p.Owner, Organization: p.Organization, URL: p.PageURL, InstallURL: p.InstallURL, ConfiguredAt: p.ConfiguredAt, Missing: p.MissingPermissions,
		}
	}
	for _, method := range x.who.Account.Methods {
		view.Linked = view.Linked || method == "github"
	}
	return view, nil
}

func (x *exchange) providersPage() error {
	view, err := x.providers(page.Form{})
	if err != nil {
		return err
	}
	if view.Kind == page.OwnerOrganization && !github.ValidOwner(view.Owner) {
		view.Form.Fields = []page.FieldError{{Field: "owner", Type: "invalid"}}
	}
	return x.show(http.StatusOK, view)
}

// replaceProviderForm goes on to another app once the present one was named.
func (x *exchange) replaceProviderForm() error {
	var f struct {
		Confirm string `json:"confirm"`
		Kind    string `json:"kind"`
		Owner   string `json:"owner"`
	}
	if err := x.form(&f); err != nil {
		return err
	}
	view, err := x.providers(page.Form{})
	if err != nil {
		return err
	}
	if err := x.g.Accounts.NeedFresh(*x.who); err != nil {
		return err
	}
	view.Confirm, view.Kind, view.Owner = f.Confirm, page.OwnerKind(f.Kind), f.Owner
	if view.App == nil || f.Confirm != view.App.Name {
		view.Form.Fields = append(view.Form.Fields, page.FieldError{Field: "confirm", Type: "invalid"})
	}
	if view.Kind == page.OwnerOrganization && !github.ValidOwner(f.Owner) {
		view.Form.Fields = append(view.Form.Fields, page.FieldError{Field: "owner", Type: "invalid"})
	}
	if len(view.Form.Fields) > 0 {
		return x.show(http.StatusBadRequest, view)
	}
	view.Replace = true
	return x.show(http.StatusOK, view)
}
