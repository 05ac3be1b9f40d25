package gateway

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc.dev/svc/internal/listing"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/operation"
	"svc.dev/svc/service/page"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/workspace"
)

// desk is what the pages of a signed-in person share.
func (x *exchange) desk(form page.Form) page.Desk {
	if form.Notice == "" && form.Error == "" {
		form.Notice = x.notice()
	}
	p := x.who.Account
	person := page.Person{
		Username: p.Username, DisplayName: p.DisplayName, Email: p.Email, EmailVerified: p.EmailVerified,
		Staff: p.Role != account.RoleNone, Stale: x.g.Accounts.NeedFresh(*x.who) != nil, MailOff: !x.g.Accounts.CanMail(), Printed: x.g.MailOff && x.g.Accounts.CanMail(),
	}
	for _, w := range p.Warnings() {
		person.Warnings = append(person.Warnings, page.Warning{Type: w.Type, Message: w.Message})
	}
	return page.Desk{Form: form, Person: person}
}

// done leads back to a page of the account, with what was done.
func (x *exchange) done(path string, n page.Notice) error {
	return x.see(http.StatusSeeOther, withNotice(path, string(n)))
}

func (x *exchange) profile(form page.Form) page.Profile {
	p := x.who.Account
	return page.Profile{Desk: x.desk(form), DisplayName: p.DisplayName, Version: p.Version}
}

func (x *exchange) profilePage() error { return x.show(http.StatusOK, x.profile(page.Form{})) }

func (x *exchange) profileForm() error {
	var f struct {
		DisplayName string `json:"displayName"`
		Version     string `json:"version"`
	}
	if err := x.form(&f); err != nil {
		return err
	}
	version, err := strconv.ParseInt(f.Version, 10, 64)
	if err != nil && f.Version != "" {
		return refusedField("version")
	}
	if _, err := x.g.Accounts.Rename(x.ctx(), *x.who, f.DisplayName, version); err != nil {
		return x.again(err, func(form page.Form) page.View {
			view := x.profile(form)
			view.DisplayName = f.DisplayName
			return view
		})
	}
	return x.done(page.ProfilePath, page.NoticeProfileSaved)
}

func (x *exchange) emailForm() error {
	var f struct {
		Email string `json:"email"`
	}
	if err := x.form(&f); err != nil {
		return err
	}
	if err := x.g.Accounts.ChangeEmail(x.ctx(), *x.who, f.Email); err != nil {
		return x.again(err, func(form page.Form) page.View {
			view := x.profile(form)
			view.NewEmail = f.Email
			return view
		})
	}
	return x.done(page.ProfilePath, page.NoticeEmailChangeSent)
}

func (x *exchange) verificationForm() error {
	if err := x.g.Accounts.SendVerification(x.ctx(), *x.who); err != nil {
		return x.again(err, func(form page.Form) page.View { return x.profile(form) })
	}
	return x.done(page.ProfilePath, page.NoticeVerificationSent)
}

func (x *exchange) security(form page.Form) page.View {
	return page.Security{Desk: x.desk(form), HasPassword: slices.Contains(x.who.Account.Methods, "password")}
}

func (x *exchange) securityPage() error { return x.show(http.StatusOK, x.security(page.Form{})) }

func (x *exchange) changePasswordForm() error {
	var f struct {
		Current string `json:"currentPassword" text:"any"`
		New     string `json:"newPassword" text:"any"`
	}
	if err := x.form(&f); err != nil {
		return err
	}
	in, err := x.g.Accounts.ChangePassword(x.ctx(), *x.who, f.Current, f.New)
	if err != nil {
		return x.again(err, x.security)
	}
	x.setSession(in)
	return x.done(page.SecurityPath, page.NoticePasswordChanged)
}

func (x *exchange) setPasswordForm() error {
	var f struct {
		New string `json:"newPassword" text:"any"`
	}
	if err := x.form(&f); err != nil {
		return err
	}
	in, err := x.g.Accounts.SetPassword(x.ctx(), *x.who, f.New)
	if err != nil {
		return x.again(err, x.security)
	}
	x.setSession(in)
	return x.done(page.SecurityPath, page.NoticePasswordSet)
}

func (x *exchange) connections(form page.Form) (page.Connections, error) {
	view := page.Connections{Desk: x.desk(form), GitHub: x.github()}
	all, err := x.g.Accounts.Identities(x.ctx(), *x.who)
	p := x.who.Account
	last := len(all) == 1 && (!slices.Contains(p.Methods, "password") || !p.EmailVerified)
	for _, i := range all {
		view.Items = append(view.Items, page.Identity{ID: i.ID, Provider: i.Provider, Login: i.Login, Issuer: i.Issuer, LinkedAt: i.LinkedAt.Time, Last: last})
	}
	return view, err
}

func (x *exchange) connectionsPage() error {
	view, err := x.connections(page.Form{})
	if err != nil {
		return err
	}
	return x.show(http.StatusOK, view)
}

func (x *exchange) unlinkForm() error {
	if err := x.g.Accounts.Unlink(x.ctx(), *x.who, x.params["id"]); err != nil {
		return x.again(err, func(form page.Form) page.View {
			view, _ := x.connections(form)
			return view
		})
	}
	return x.done(page.ConnectionsPath, page.NoticeUnlinked)
}

func (x *exchange) sessionsPage() error {
	all, err := x.g.Accounts.Sessions(x.ctx(), *x.who)
	if err != nil {
		return err
	}
	view := page.Sessions{Desk: x.desk(page.Form{})}
	for _, s := range all {
		view.Items = append(view.Items, page.Session{
			ID: s.ID, IP: s.IP, UserAgent: s.UserAgent, Surface: s.Surface, CreatedAt: s.CreatedAt, LastSeenAt: s.LastSeenAt,
			Current: s.ID == x.who.Session.ID,
		})
	}
	return x.show(http.StatusOK, view)
}

func (x *exchange) endSessionForm() error {
	if err := x.g.Accounts.EndSession(x.ctx(), *x.who, x.params["id"]); err != nil {
		return err
	}
	if x.params["id"] == x.who.Session.ID {
		x.clearSession()
		return x.toSignIn(page.NoticeSignedOut)
	}
	return x.done(page.SessionsPath, page.NoticeSessionEnded)
}

func (x *exchange) endOthersForm() error {
	if _, err := x.g.Accounts.EndOthers(x.ctx(), *x.who); err != nil {
		return err
	}
	return x.done(page.SessionsPath, page.NoticeSessionsEnded)
}

// named is the workspace that a form names as username/business, or else the one that every person has, for somebody who may
// manage it.
func (x *exchange) named(address string) (workspace.Membership, error) {
	if err := x.enterNamed(access.May(workspace.Manage), address); err != nil {
		return workspace.Membership{}, err
	}
	return x.v.Member, nil
}

// enterNamed lets whoever is signed in into that workspace.
func (x *exchange) enterNamed(need access.Need, address string) error {
	username, business, _ := strings.Cut(cmp.Or(address, x.who.Account.Username+"/"+scope.Personal), "/")
	return x.enter(need, access.Place{Scope: scope.Of(username, business).String()})
}

// keepsAlso are the other workspaces whose keys a person may make.
func (x *exchange) keepsAlso(m workspace.Membership) (others []page.Workspace, err error) {
	all, err := x.g.Accounts.Workspaces(x.ctx(), x.who.Account.ID)
	for _, other := range all {
		if other.ID != m.ID && (other.Role == workspace.Owner || other.Role == workspace.Admin) {
			others = append(others, x.viewWorkspace(other))
		}
	}
	return others, err
}

func (x *exchange) keys(form page.Form, address string) (page.Keys, error) {
	view := page.Keys{Desk: x.desk(form)}
	m, err := x.named(address)
	if err != nil {
		return view, err
	}
	view.Workspace = x.viewWorkspace(m)
	if view.Others, err = x.keepsAlso(m); err != nil {
		return view, err
	}
	all, err := x.g.Accounts.Keys(x.ctx(), account.KeyQuery{Workspace: m.ID, Query: listing.Query{Limit: listing.MaxLimit}})
	for _, k := range all.Items {
		view.Items = append(view.Items, page.Key{
			ID: k.ID, Name: k.Name, Prefix: k.Prefix, Last4: k.Last4, Scopes: k.Scopes, CreatedAt: k.CreatedAt.Time,
			ExpiresAt: earlier(k.ExpiresAt.Time, k.RevokedAt.Time), LastUsedAt: k.LastUsedAt.Time, Staff: k.Staff,
		})
	}
	return view, err
}

// earlier is the earlier of two times, of which the zero time is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func (x *exchange) keysPage() error {
	view, err := x.keys(page.Form{}, x.r.URL.Query().Get("workspace"))
	if err != nil {
		return err
	}
	return x.show(http.StatusOK, view)
}

func (x *exchange) keyForm() error {
	var f struct {
		Workspace string   `json:"workspace"`
		Name      string   `json:"name"`
		Scopes    []string `json:"scopes"`
		ExpiresAt string   `json:"expiresAt"`
	}
	if err := x.form(&f); err != nil {
		return err
	}
	k, value, err := x.makeKey(f.Workspace, operation.NewKey{Name: f.Name, Scopes: f.Scopes, ExpiresAt: quoted(f.ExpiresAt)})
	if err != nil {
		return x.again(err, func(form page.Form) page.View {
			view, _ := x.keys(form, f.Workspace)
			view.Name, view.Scopes, view.ExpiresAt = f.Name, f.Scopes, f.ExpiresAt
			return view
		})
	}
	return x.showKey(k, value, time.Time{})
}

func (x *exchange) makeKey(address string, n operation.NewKey) (k account.Key, value string, err error) {
	m, err := x.named(address)
	if err != nil {
		return k, "", err
	}
	wanted, err := n.Value()
	if err != nil {
		return k, "", err
	}
	return x.g.Accounts.CreateKey(x.ctx(), *x.who, m, wanted)
}

// quoted is a text of a form as the JSON route takes it; an empty one was not given.
func quoted(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	b, _ := json.Marshal(text) // a string always has JSON
	return b
}

// showKey shows a key for the only time.
func (x *exchange) showKey(k account.Key, value string, oldEnds time.Time) error {
	address := strings.TrimPrefix(k.Scope, "users/")
	return x.show(http.StatusCreated, page.KeyShown{
		Desk: x.desk(page.Form{}), Name: k.Name, Key: value, ExpiresAt: k.ExpiresAt.Time, OldEndsAt: oldEnds,
		Workspace: address, Scopes: k.Scopes, Agents: x.g.Surfaces.origin(Agents),
	})
}

func (x *exchange) rotateKeyForm() error {
	var f struct {
		Workspace string `json:"workspace"`
		Grace     string `json:"graceSeconds"`
	}
	if err := x.form(&f); err != nil {
		return err
	}
	seconds, err := strconv.Atoi(f.Grace)
	if err != nil || seconds < 0 || seconds > int((24*time.Hour).Seconds()) {
		return refusedField("graceSeconds")
	}
	m, err := x.named(f.Workspace)
	if err != nil {
		return err
	}
	grace := time.Duration(seconds) * time.Second
	k, value, err := x.g.Accounts.RotateKey(x.ctx(), *x.who, m, x.params["id"], grace, false)
	if err != nil {
		return err
	}
	return x.showKey(k, value, k.CreatedAt.Add(grace))
}

func (x *exchange) revokeKeyForm() error {
	var f struct {
		Workspace string `json:"workspace"`
	}
	if err := x.form(&f); err != nil {
		return err
	}
	m, err := x.named(f.Workspace)
	if err != nil {
		return err
	}
	if err := x.g.Accounts.RevokeKey(x.ctx(), *x.who, m, x.params["id"]); err != nil {
		return err
	}
	if m.Business == scope.Personal {
		return x.done(page.KeysPath, page.NoticeKeyRevoked)
	}
	return x.done(page.KeysPath+"?workspace="+url.QueryEscape(f.Workspace), page.NoticeKeyRevoked)
}

func (x *exchange) dangerPage() error {
	return x.show(http.StatusOK, page.Danger{Desk: x.desk(page.Form{}), Hold: x.g.Accounts.Hold})
}

func (x *exchange) dangerForm() error {
	var f struct {
		Confirm string `json:"confirm"`
	}
	if err := x.form(&f); err != nil {
		return err
	}
	eraseAt, err := x.g.Accounts.Delete(x.ctx(), *x.who, f.Confirm)
	if err != nil {
		return x.again(err, func(form page.Form) page.View {
			return page.Danger{Desk: x.desk(form), Confirm: f.Confirm, Hold: x.g.Accounts.Hold}
		})
	}
	x.clearSession()
	return x.show(http.StatusOK, page.Deleting{EraseAt: eraseAt, MailOff: x.g.MailOff})
}

func (x *exchange) reauthView(form page.Form) page.View {
	methods := x.who.Account.Methods
	return page.Reauth{Desk: x.desk(form), Password: slices.Contains(methods, "password"), GitHub: slices.Contains(methods, "github")}
}

func (x *exchange) reauthPage() error {
	form, err := x.entryForm()
	if err != nil {
		return err
	}
	return x.show(http.StatusOK, x.reauthView(form))
}

func (x *exchange) reauthForm() error {
	var f struct {
		Password string `json:"password" text:"any"`
		ReturnTo string `json:"returnTo"`
	}
	if err := x.form(&f); err != nil {
		return err
	}
	if f.ReturnTo == "" {
		f.ReturnTo = page.ProfilePath
	}
	to, err := x.g.returnTo(f.ReturnTo)
	if err != nil {
		return err
	}
	in, err := x.g.Accounts.Reauth(x.ctx(), *x.who, f.Password)
	if err != nil {
		return x.again(err, func(form page.Form) page.View {
			form.ReturnTo = f.ReturnTo
			return x.reauthView(form)
		})
	}
	x.setSession(in)
	return x.see(http.StatusSeeOther, to)
}
