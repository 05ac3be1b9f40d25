package gateway

import (
	"crypto/rand"
	"net/http"
	"net/url"

	"svc.dev/svc/iso"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/page"
)

// providerStatus says whether a provider can be used, and no secret of it.
func (x *exchange) providerStatus() error {
	p, err := x.g.Accounts.Provider(x.ctx(), x.params["provider"])
	if err != nil {
		return err
	}
	return x.json(http.StatusOK, viewProvider(p))
}

// viewProvider is what everybody may know of a provider.
func viewProvider(p account.Provider) map[string]any {
	missing := p.MissingPermissions
	if missing == nil {
		missing = []string{}
	}
	var install *string
	if p.InstallURL != "" {
		install = &p.InstallURL
	}
	return map[string]any{
		"provider": p.Provider, "configured": p.Configured, "login": p.Login, "missingPermissions": missing, "installUrl": install,
	}
}

// setBrowser binds what goes to the provider and comes back to this browser.
func (x *exchange) setBrowser(to account.Redirect) { x.setHost("svc_oauth", to.Browser, to.Life) }

// startManifest hands an administrator's browser the manifest to approve.
func (x *exchange) startManifest() error {
	q := x.r.URL.Query()
	form, err := x.g.Accounts.StartManifest(x.ctx(), *x.who, x.params["provider"], q.Get("owner"), q.Get("replace") == "true")
	if err != nil {
		return err
	}
	x.setHost("svc_oauth", form.Browser, form.Life)
	return x.show(http.StatusOK, page.ManifestPost{Action: form.Action, Manifest: form.Manifest, Nonce: rand.Text()})
}

// finishManifest takes the credentials of an app that was approved.
func (x *exchange) finishManifest() error {
	q := x.r.URL.Query()
	err := x.g.Accounts.FinishManifest(x.ctx(), *x.who, x.params["provider"], q.Get("code"), q.Get("state"), x.host("svc_oauth"))
	if err != nil {
		return err
	}
	return x.see(http.StatusSeeOther, x.g.Surfaces.origin(Admin)+page.ProvidersPath+"?configured="+x.params["provider"])
}

// startSignIn sends a browser to the provider.
func (x *exchange) startSignIn() error {
	q := x.r.URL.Query()
	to, err := x.g.returnTo(q.Get("returnTo"))
	if err != nil {
		return err
	}
	who, err := x.signedInQuietly()
	if err != nil {
		return err
	}
	start, err := x.g.Accounts.StartSignIn(x.ctx(), x.params["provider"], account.SignInRequest{ReturnTo: to, Intent: q.Get("intent"), Who: who, Browser: x.host("svc_oauth")})
	if err != nil {
		return err
	}
	x.setBrowser(start)
	return x.see(http.StatusFound, start.URL)
}

// finishSignIn takes a browser back from the provider.
func (x *exchange) finishSignIn() error {
	q := x.r.URL.Query()
	who, err := x.signedInQuietly()
	if err != nil {
		return err
	}
	out, err := x.g.Accounts.FinishSignIn(x.ctx(), x.params["provider"], account.Callback{
		Code: q.Get("code"), State: q.Get("state"), Error: q.Get("error"), Browser: x.host("svc_oauth"), Who: who,
	})
	if err != nil {
		return err
	}
	switch {
	case out.Denied:
		return x.see(http.StatusSeeOther, page.SignInPath+"?error=access_denied")
	case out.LinkTicket != "":
		return x.see(http.StatusSeeOther, page.LinkPath+"?"+url.Values{"ticket": {out.LinkTicket}, "returnTo": {out.ReturnTo}}.Encode())
	}
	if who != nil && out.SignedIn.Session.ID != who.Session.ID {
		old, _ := x.sessionValue() // it was looked up by this
		if err := x.g.Accounts.Logout(x.ctx(), old); err != nil {
			return err
		}
	}
	x.setSession(*out.SignedIn)
	return x.see(http.StatusSeeOther, withNotice(out.ReturnTo, out.Notice))
}

// link gives an account the identity of a ticket.
func (x *exchange) link() error {
	var body struct {
		Ticket string `json:"ticket"`
	}
	if err := x.decode(&body); err != nil {
		return err
	}
	in, err := x.g.Accounts.Link(x.ctx(), *x.who, body.Ticket, x.host("svc_oauth"))
	if err != nil {
		return err
	}
	x.setSession(in)
	return x.none()
}

// startInstall sends a browser to where the app is given repositories, for a workspace or else for the person's own.
func (x *exchange) startInstall() error {
	m, err := x.named(x.r.URL.Query().Get("workspace"))
	if err != nil {
		return err
	}
	start, err := x.g.Accounts.StartInstall(x.ctx(), *x.who, x.params["provider"], m, page.ConnectionsPath)
	if err != nil {
		return err
	}
	x.setBrowser(start)
	return x.see(http.StatusFound, start.URL)
}

// finishInstall binds an installation that the person's own token shows.
func (x *exchange) finishInstall() error {
	q := x.r.URL.Query()
	done, err := x.g.Accounts.FinishInstall(x.ctx(), *x.who, x.params["provider"], q.Get("installation_id"), q.Get("setup_action"), q.Get("state"), x.host("svc_oauth"))
	if err != nil {
		return err
	}
	if done.Pending {
		return x.show(http.StatusOK, page.Waiting{Back: page.Destination{URL: page.ConnectionsPath, Text: "Back to connections"}})
	}
	if done.ReturnTo == "" {
		done.ReturnTo = page.ConnectionsPath
	}
	return x.done(done.ReturnTo, page.NoticeInstalled)
}

// listProviders is the sign-in providers with how their set-up went.
func (x *exchange) listProviders() error {
	p, err := x.g.Accounts.Provider(x.ctx(), "github")
	if err != nil {
		return err
	}
	view := viewProvider(p)
	view["appName"], view["owner"], view["configuredAt"], view["outcome"] = p.AppName, p.Owner, iso.Optional(p.ConfiguredAt), p.Attempt.Outcome
	return x.json(http.StatusOK, map[string]any{"items": []any{view}})
}
