package page_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/service/page"
)

// noon is when the pages of the tests are made.
var noon = time.Date(2025, 11, 14, 12, 0, 0, 0, time.UTC)

var pages = sync.OnceValue(func() *page.Pages {
	return page.New(page.Config{
		Platform: "https://svc.example", Agents: "https://agents.svc.example", Admin: "https://admin.svc.example/",
		Now: func() time.Time { return noon },
	})
})

func render(t *testing.T, view page.View) string {
	t.Helper()
	var b bytes.Buffer
	if err := pages().Render(&b, view); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var ada = page.Person{Username: "ada", DisplayName: "Ada Moreno", Email: "ada@northwind.example", EmailVerified: true, Staff: true}

func at(d page.Desk, change func(*page.Desk)) page.Desk {
	change(&d)
	return d
}

func deskOf(p page.Person) page.Desk { return page.Desk{Person: p} }

var (
	adas    = deskOf(ada)
	stale   = at(adas, func(d *page.Desk) { d.Person.Stale = true })
	ready   = page.Provider{Ready: true}
	refused = page.Form{Error: "Email or password is incorrect.", ReturnTo: "/workspaces"}
	fresh   = deskOf(page.Person{Username: "li", Email: "li@fjord.example", Warnings: []page.Warning{{Type: "provider_email_permission_missing"}, {Type: "email_in_use_unverified"}}})
)

// samples are the states of the pages that a person can meet, by a name for the file.
func samples() map[string]page.View {
	all := map[string]page.View{}
	for _, some := range []map[string]page.View{entrySamples(), tokenSamples(), accountSamples(), keySamples(), providerSamples(), otherSamples()} {
		for name, view := range some {
			all[name] = view
		}
	}
	return all
}

func entrySamples() map[string]page.View {
	invalid := page.Form{Error: "Some fields are not valid.", Fields: []page.FieldError{{Field: "username", Type: "taken"}, {Field: "password", Type: "too_short"}}}
	return map[string]page.View{
		"login":              page.SignIn{Form: page.Form{ReturnTo: "/workspaces"}, GitHub: ready},
		"login-unclaimed":    page.SignIn{GitHub: ready, Unclaimed: true},
		"login-refused":      page.SignIn{Form: refused, Email: "ada@northwind.example", GitHub: ready},
		"login-unconfigured": page.SignIn{Form: page.Form{Notice: page.NoticeSignedOut}, GitHub: page.Provider{SetupURL: "https://admin.svc.example/settings/providers"}},
		"login-limited":      page.SignIn{Form: page.Form{Error: "Too many attempts.", RetryAfter: 42 * time.Second}, Email: "ada@northwind.example", GitHub: ready},
		"signup":             page.SignUp{GitHub: ready},
		"signup-refused":     page.SignUp{Form: invalid, Email: "ada@northwind.example", Username: "ada", DisplayName: "Ada Moreno", GitHub: ready, MailOff: true},
		"signup-sent":        page.SignUpSent{},
		"forgot":             page.Forgot{},
		"forgot-mail-off":    page.Forgot{MailOff: true, Form: page.Form{Fields: []page.FieldError{{Field: "email", Type: "invalid"}}}, Email: "ada"},
		"forgot-sent":        page.ForgotSent{},
		"forgot-sent-off":    page.ForgotSent{MailOff: true},
		"link":               page.Link{Ticket: "tkt_1", Email: "ada@northwind.example", Login: "ada-m"},
		"link-separate":      page.Link{Ticket: "tkt_1", Email: "ada@northwind.example", Login: "ada-m", Separate: true, Form: refused},
		"link-signed-in":     page.Link{Ticket: "tkt_1", SignedInAs: "ada"},
	}
}

func tokenSamples() map[string]page.View {
	spent := page.Form{Error: "This link is not valid any more.", Fields: []page.FieldError{{Field: "token", Type: "invalid"}}}
	return map[string]page.View{
		"reset":         page.Reset{},
		"reset-refused": page.Reset{Token: "abc", Form: page.Form{Error: "Some fields are not valid.", Fields: []page.FieldError{{Field: "newPassword", Type: "too_common"}}}},
		"reset-linked": page.Reset{Token: "abc", Items: []page.Identity{
			{ID: "idn_1", Provider: "github", Issuer: "github.com", Login: "ada-m", LinkedAt: noon.AddDate(0, -3, 0)},
			{ID: "idn_2", Provider: "github", Issuer: "github.com", Login: "hubot", LinkedAt: noon, Ticked: true},
		}},
		"verify":          page.Verify{},
		"verify-spent":    page.Verify{Form: spent},
		"undo":            page.Undo{},
		"undelete":        page.Undelete{},
		"setup":           page.Setup{},
		"setup-refused":   page.Setup{Form: spent, Email: "ada@northwind.example", Username: "ada"},
		"setup-signed-in": page.Setup{SignedInAs: "ada"},
		"setup-closed":    page.Setup{Closed: true},

		"invitation":        page.Invitation{SignedInAs: "ada", Email: "ada@northwind.example"},
		"invitation-looked": page.Invitation{SignedInAs: "ada", Email: "ada@northwind.example", Token: "t", Inviter: "Grace Hopper", Role: "builder", Workspace: page.Workspace{Username: "grace", Business: "labs", Name: "Grace’s Labs"}},
		"invitation-spent":  page.Invitation{SignedInAs: "ada", Email: "ada@northwind.example", Form: spent},
		"invitation-nobody": page.Invitation{},
	}
}

func accountSamples() map[string]page.View {
	off := at(adas, func(d *page.Desk) { d.Person.MailOff, d.Person.EmailVerified = true, false })
	told := func(n page.Notice) page.Desk { return at(adas, func(d *page.Desk) { d.Notice = n }) }
	wrong := func(fields ...page.FieldError) page.Desk {
		return at(adas, func(d *page.Desk) { d.Error, d.Fields = "Some fields are not valid.", fields })
	}
	github := page.Identity{ID: "idn_1", Provider: "github", Issuer: "github.com", Login: "ada-m", LinkedAt: noon.AddDate(0, -3, 0)}
	last := github
	last.ID, last.Login, last.Last = "idn_2", "moreno-labs", true
	return map[string]page.View{
		"profile":             page.Profile{Desk: told(page.NoticeProfileSaved), DisplayName: "Ada Moreno", Version: 3},
		"profile-unverified":  page.Profile{Desk: fresh, Version: 1},
		"profile-stale":       page.Profile{Desk: stale, DisplayName: "Ada Moreno"},
		"profile-mail-off":    page.Profile{Desk: off, DisplayName: "Ada Moreno"},
		"profile-refused":     page.Profile{Desk: wrong(page.FieldError{Field: "email", Type: "invalid"}), DisplayName: "Ada Moreno", NewEmail: "ada at labs"},
		"security":            page.Security{Desk: adas, HasPassword: true},
		"security-refused":    page.Security{Desk: wrong(page.FieldError{Field: "newPassword", Type: "too_short"}, page.FieldError{Field: "currentPassword", Type: "invalid"}), HasPassword: true},
		"security-set":        page.Security{Desk: adas},
		"security-unverified": page.Security{Desk: fresh},
		"connections":         page.Connections{Desk: adas, GitHub: ready, Items: []page.Identity{github, last}},
		"connections-none":    page.Connections{Desk: adas},
		"sessions":            page.Sessions{Desk: adas, Items: adasSessions()},
		"sessions-stale":      page.Sessions{Desk: stale, Items: adasSessions()},
		"danger":              page.Danger{Desk: adas},
		"danger-refused":      page.Danger{Desk: wrong(page.FieldError{Field: "confirm", Type: "invalid"}), Confirm: "ad", Hold: 24 * time.Hour},
		"deleting":            page.Deleting{EraseAt: noon.AddDate(0, 0, 14)},
		"reauth":              page.Reauth{Desk: at(adas, func(d *page.Desk) { d.ReturnTo = "/account/keys" }), Password: true, GitHub: true},
		"reauth-elevate":      page.Reauth{Desk: at(adas, func(d *page.Desk) { d.ReturnTo = "/settings/providers" }), Password: true, GitHub: true, Elevate: true},
		"reauth-fresh":        page.Reauth{Desk: at(adas, func(d *page.Desk) { d.ReturnTo = "/settings/providers" }), Password: true, Elevate: true, Fresh: true},
		"reauth-none":         page.Reauth{Desk: adas},
		"workspaces":          page.Workspaces{Desk: adas, Items: adasWorkspaces()},
		"workspaces-none":     page.Workspaces{Desk: adas},
		"workspaces-deleted": page.Workspaces{Desk: adas, Items: adasWorkspaces(), Deleted: []page.Workspace{
			{Username: "ada", Business: "old-shop", Name: "Old <shop>", Role: "owner", EraseAt: noon.AddDate(0, 0, 14)},
		}},
		"workspace-new":        page.NewWorkspace{Desk: adas},
		"workspace-refused":    page.NewWorkspace{Desk: wrong(page.FieldError{Field: "business", Type: "taken"}, page.FieldError{Field: "title", Type: "too_long"}), Business: "labs", Title: "Labs"},
		"workspaces-mail-lost": page.Workspaces{Desk: at(adas, func(d *page.Desk) { d.Notice = page.NoticePermissionMissing }), Items: adasWorkspaces()},
	}
}

func adasSessions() []page.Session {
	return []page.Session{
		{ID: "ses_1", IP: "192.0.2.4", Surface: "platform", Current: true, CreatedAt: noon.Add(-time.Hour), LastSeenAt: noon, UserAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:142.0) Gecko/20100101 Firefox/142.0"},
		{ID: "ses_2", IP: "2001:db8::1", Surface: "agents", CreatedAt: noon.AddDate(0, 0, -3), LastSeenAt: noon.Add(-26 * time.Hour), UserAgent: "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1"},
		{ID: "ses_3", Surface: "platform", CreatedAt: noon.AddDate(0, 0, -6), LastSeenAt: noon.Add(-5 * time.Minute), UserAgent: "curl/8.9"},
	}
}

func adasWorkspaces() []page.Workspace {
	return []page.Workspace{
		{Username: "ada", Business: "personal", Name: "Personal", Role: "owner", Open: "http://agents.svc.localhost/w/ada/personal", Configure: "/w/ada/personal"},
		{Username: "ada", Business: "labs", Role: "owner", Archived: true},
		{Username: "li", Business: "fjord", Role: "viewer", Suspended: true},
	}
}

func keySamples() map[string]page.View {
	personal := page.Workspace{Username: "ada", Business: "personal"}
	ci := page.Key{ID: "key_1", Name: "ci", Prefix: "4fQ8sLw2Zp0a", Last4: "9aQ2", Scopes: []string{"agents:write", "runs:read"}, CreatedAt: noon.AddDate(0, -2, 0), ExpiresAt: noon.AddDate(0, 0, 14), LastUsedAt: noon.Add(-time.Minute)}
	old := page.Key{ID: "key_2", Name: "laptop", Prefix: "8Hs0wLw2Zp0a", Last4: "x0Pq", Scopes: []string{"agents:read"}, CreatedAt: noon.AddDate(0, -5, 0)}
	left := old
	left.ID, left.Name, left.Over = "key_3", "server", "does not work: its maker has left"
	ofDevice := ci
	ofDevice.ID, ofDevice.Device = "key_4", "grace"
	asking := page.Pairing{Desk: adas, Code: "BCDF-GHJK", Client: "svc on ada's laptop", IP: "192.0.2.4", AskedAt: noon.Add(-2 * time.Minute), ExpiresAt: noon.Add(8 * time.Minute),
		Workspace: page.Workspace{Username: "ada", Business: "personal", Role: "owner"}, Allowed: []string{"agents:read", "runs:read", "usage:read"}, Scopes: []string{"agents:read"}}
	wrongCode := page.Form{Error: "The request is not valid.", Fields: []page.FieldError{{Field: "user_code", Type: "invalid"}, {Field: "workspace", Type: "invalid"}}}
	noScope := page.Form{Error: "The request is not valid.", Fields: []page.FieldError{{Field: "scopes", Type: "too_short"}, {Field: "days", Type: "invalid"}}}
	form := page.Form{Error: "Some fields are not valid.", Fields: []page.FieldError{{Field: "scopes", Type: "invalid"}, {Field: "expiresAt", Type: "invalid"}}}
	return map[string]page.View{
		"keys":         page.Keys{Desk: adas, Workspace: personal, Items: []page.Key{ci, old, left, ofDevice}},
		"keys-none":    page.Keys{Desk: stale, Workspace: personal},
		"keys-refused": page.Keys{Desk: at(adas, func(d *page.Desk) { d.Form = form }), Workspace: personal, Name: "ci", Scopes: []string{"runs:read"}, ExpiresAt: "2025-12-14T11:59:00Z"},
		"key-shown": page.KeyShown{Desk: adas, Name: "ci", Key: "svck_4fQ8sLw2Zp0a_" + strings.Repeat("k", 38), ExpiresAt: noon.AddDate(0, 0, 90),
			Workspace: "ada/personal", Scopes: []string{"runs:read"}, Agents: "https://agents.svc.example", OldEndsAt: noon.Add(time.Hour)},
		"pair":         page.Pair{Desk: adas, Code: "BCDF-GHJK", Workspaces: []page.Workspace{personal}},
		"pair-refused": page.Pair{Desk: at(adas, func(d *page.Desk) { d.Form = wrongCode }), Code: "BCDF-GHJ", Workspaces: adasWorkspaces(), Workspace: "ada/labs"},
		"pair-done":    page.Pair{Desk: at(adas, func(d *page.Desk) { d.Notice = page.NoticeDeviceApproved })},
		"pairing":      asking,
		"pairing-refused": page.Pairing{Desk: at(adas, func(d *page.Desk) { d.Form = noScope }), Code: "BCDF-GHJK", IP: "2001:db8::1", AskedAt: noon, ExpiresAt: noon.Add(time.Minute),
			Workspace: page.Workspace{Username: "li", Business: "fjord", Role: "viewer"}, Allowed: []string{"runs:read"}, Days: 7},
		"keys-elsewhere": page.Keys{Desk: adas, Workspace: personal, Others: []page.Workspace{{Username: "ada", Business: "labs"}, {Username: "grace", Business: "northwind-trading-company"}}},
	}
}

func providerSamples() map[string]page.View {
	app := page.App{Name: "svc-svc.example", Slug: "svc-svc-example", Owner: "acme", Organization: true, URL: "https://github.com/apps/svc-svc-example", InstallURL: "https://github.com/apps/svc-svc-example/installations/new", ConfiguredAt: noon}
	lacking := app
	lacking.Missing = []string{"emails:read"}
	done := at(adas, func(d *page.Desk) { d.Notice = page.NoticeProviderConfigured })
	bad := at(adas, func(d *page.Desk) {
		d.Error, d.Fields = "Malformed request.", []page.FieldError{{Field: "owner", Type: "invalid"}}
	})
	named := at(adas, func(d *page.Desk) { d.Fields = []page.FieldError{{Field: "confirm", Type: "invalid"}} })
	return map[string]page.View{
		"providers":            page.Providers{Desk: adas},
		"providers-stale":      page.Providers{Desk: stale},
		"providers-owner":      page.Providers{Desk: bad, Kind: page.OwnerOrganization, Owner: "not--one"},
		"providers-chosen":     page.Providers{Desk: adas, Kind: page.OwnerOrganization, Owner: "acme"},
		"providers-exchanging": page.Providers{Desk: adas, Outcome: "exchanging", Attempt: page.Attempt{Name: "svc-svc.example", Wanted: "acme"}},
		"providers-mismatch":   page.Providers{Desk: adas, Outcome: "manifest_owner_mismatch", Attempt: page.Attempt{Wanted: "acme", Got: "ada-m"}},
		"providers-spent":      page.Providers{Desk: adas, Outcome: "manifest_exchange_failed"},
		"providers-ready":      page.Providers{Desk: done, App: &app},
		"providers-lacking":    page.Providers{Desk: adas, App: &lacking, Linked: true},
		"providers-misnamed":   page.Providers{Desk: named, App: &app, Confirm: "svc"},
		"providers-replace":    page.Providers{Desk: adas, App: &app, Replace: true, Kind: page.OwnerMe},
	}
}

func otherSamples() map[string]page.View {
	return map[string]page.View{
		"failure-404": page.Failure{Status: 404, Message: "There is no such page."},
		"failure-503": page.Failure{Status: 503, Message: "GitHub login is not configured. An administrator must approve the app manifest.", Details: "Sign in with your password.", RetryAfter: time.Minute},
		"failure-409": page.Failure{Status: 409, Message: "Connect your GitHub account first.", Connect: "http://svc.localhost:8080/api/auth/oauth/github/start?intent=connect&returnTo=%2Faccount"},
		"failure-418": page.Failure{Status: 418},
		"failure-599": page.Failure{Status: 599},
		"waiting":     page.Waiting{},
		"manifest":    page.ManifestPost{Action: "https://github.com/organizations/acme/settings/apps/new?state=s", Manifest: `{"name":"svc"}`, Nonce: "bm9uY2U"},
	}
}

// TestPagesCanBeLookedAt writes every page to the folder that SVC_PAGES names, with what they refer to, for a browser.
func TestPagesCanBeLookedAt(t *testing.T) {
	folder := os.Getenv("SVC_PAGES")
	if folder == "" {
		t.Skip("SVC_PAGES names no folder")
	}
	for name, view := range samples() {
		text := render(t, view)
		for _, address := range references(parse(t, text)) {
			body, _, ok := pages().Asset(address)
			if !ok {
				continue
			}
			text = strings.ReplaceAll(text, `"`+address+`"`, `"`+filepath.Base(address)+`"`)
			write(t, filepath.Join(folder, filepath.Base(address)), body)
		}
		write(t, filepath.Join(folder, name+".html"), []byte(text))
	}
}

func write(t *testing.T, path string, body []byte) {
	t.Helper()
	if err := os.WriteFile(path, body, 0o644); err != nil {
		t.Fatal(err)
	}
}
