package installation_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/account/github"
	"svc.dev/svc/service/account/githubtest"
	"svc.dev/svc/service/installation"
	"svc.dev/svc/service/secret"
	"svc.dev/svc/service/workspace"
)

// installer is somebody signed in by GitHub, on their way to install the app.
type installer struct {
	*accounttest.Browser
	in workspace.Membership
}

func (h *hub) installer(t *testing.T, login string) installer {
	t.Helper()
	b := h.Browser(login)
	b.SignIn(t)
	return installer{b, h.Personal(t, *b.Who(t))}
}

// leave goes to the installation page, and returns what GitHub sends back.
func (i *installer) leave(t *testing.T) url.Values {
	t.Helper()
	return i.leaveFor(t, i.As)
}

// leaveFor installs the app on another account.
func (i *installer) leaveFor(t *testing.T, target string) url.Values {
	t.Helper()
	to, err := i.Hub.Installations.Start(t.Context(), *i.Who(t), "github", i.in, "/connectors")
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	i.Value = to.Browser
	return i.Hub.Visit(t, "GET", to.URL+"&target="+target, i.As, nil)
}

func (i *installer) comeBack(t *testing.T, q url.Values) (installation.Installed, error) {
	t.Helper()
	return i.Hub.Installations.Finish(t.Context(), *i.Who(t), "github", q.Get("installation_id"), q.Get("setup_action"), q.Get("state"), i.Value)
}

// bound lists what the workspace works with.
func (i *installer) bound(t *testing.T) []installation.Bound {
	t.Helper()
	all, err := i.Hub.Installations.List(t.Context(), i.in.ID)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestAnInstallationIsBoundToTheWorkspaceThatAskedForIt(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		i := h.installer(t, "octocat")
		done, err := i.comeBack(t, i.leave(t))
		if err != nil || done != (installation.Installed{Scope: "users/octocat/personal", ReturnTo: "/connectors"}) {
			t.Fatalf("%+v, %v", done, err)
		}
		all := i.bound(t)
		if len(all) != 1 || all[0].ID == 0 || all[0].Account != "octocat" || all[0].Suspended || all[0].Selection != "all" || all[0].By != i.Who(t).Account.ID {
			t.Errorf("bound: %+v", all)
		}
		// The second time GitHub calls it an update.
		if _, err := i.comeBack(t, i.leave(t)); err != nil || len(i.bound(t)) != 1 {
			t.Errorf("bound: %+v, %v", i.bound(t), err)
		}
		// A workspace can work with more than one.
		if _, err := i.comeBack(t, i.leaveFor(t, "acme")); err != nil || len(i.bound(t)) != 2 {
			t.Errorf("bound: %+v, %v", i.bound(t), err)
		}
		if told := h.Actions(t, "users/octocat/personal"); !slices.Contains(told, "installation.bound") {
			t.Errorf("told: %v", told)
		}
	})
}

func TestAnInstallationThatOnlyAnOwnerCanMakeIsWaitedFor(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		i := h.installer(t, "octocat")
		h.GitHub.RequestInstall(true)
		done, err := i.comeBack(t, i.leave(t))
		if err != nil || !done.Pending || done.Scope == "" {
			t.Fatalf("%+v, %v", done, err)
		}
		if all := i.bound(t); len(all) != 1 || all[0].ID != 0 {
			t.Errorf("bound: %+v", all)
		}
		if all, err := i.Hub.Installations.Of(t.Context(), i.in.Scope); err != nil || len(all) != 1 || all[0].State != installation.Pending || all[0].ID != 0 {
			t.Errorf("told: %+v, %v", all, err)
		}
		h.GitHub.RequestInstall(false)
		if done, err = i.comeBack(t, i.leave(t)); err != nil || done.Pending {
			t.Fatalf("%+v, %v", done, err)
		}
		if all := i.bound(t); len(all) != 1 || all[0].ID == 0 {
			t.Errorf("bound: %+v", all)
		}
	})
}

func TestAnInstallationIdIsWorthNothingByItself(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		eve := h.installer(t, "hubot")
		foreign := h.GitHub.AddInstallation(githubtest.Installation{App: h.App, Account: githubtest.Octocat})
		asleep := h.GitHub.AddInstallation(githubtest.Installation{App: h.App, Account: githubtest.Hubot, Suspended: true})
		manifest, err := github.Manifest("other", accounttest.Platform)
		if err != nil {
			t.Fatal(err)
		}
		other, err := h.GitHub.AddApp(manifest)
		if err != nil {
			t.Fatal(err)
		}
		elsewhere := h.GitHub.AddInstallation(githubtest.Installation{App: other.ID, Account: githubtest.Hubot})
		for id, typ := range map[string]string{
			fmt.Sprint(foreign): github.NotYours, fmt.Sprint(asleep): github.NotYours, fmt.Sprint(elsewhere): github.NotYours, "1": github.NotYours,
			"999999999999999999": github.NotYours, "-1": fault.InvalidRequest, "0": fault.InvalidRequest, "1e9": fault.InvalidRequest, "01": fault.InvalidRequest,
			"": fault.InvalidRequest, "+1": fault.InvalidRequest, "0x10": fault.InvalidRequest, " 1": fault.InvalidRequest, "１": fault.InvalidRequest,
			"99999999999999999999": fault.InvalidRequest, "1/../2": fault.InvalidRequest, "1?x": fault.InvalidRequest, "1%2f2": fault.InvalidRequest,
		} {
			for _, action := range []string{"install", "update"} {
				h.GitHub.RequestInstall(true)
				q := eve.leave(t)
				h.GitHub.RequestInstall(false)
				q.Set("installation_id", id)
				q.Set("setup_action", action)
				if done, err := eve.comeBack(t, q); !fault.Is(err, typ) || done != (installation.Installed{}) {
					t.Errorf("%q: %+v, %v", id, done, err)
				}
				accounttest.Is(t, accounttest.ErrOf(eve.comeBack(t, q)), account.InvalidState)
			}
			// Without a state nothing is bound, and nothing else is told either.
			accounttest.Is(t, accounttest.ErrOf(eve.comeBack(t, url.Values{"setup_action": {"update"}, "installation_id": {id}})), typ)
		}
		if all := eve.bound(t); len(all) != 0 {
			t.Errorf("bound: %+v", all)
		}
		if n := h.Count(t, "SELECT count(*) FROM installations"); n != 0 {
			t.Errorf("%d installations are known", n)
		}
	})
}

func TestAnInstallationIsFoundAmongMany(t *testing.T) {
	t.Parallel()
	h := &hub{accounttest.NewHub(t, sqldbtest.SQLite(t), accounttest.Options{})}
	h.Configure(t)
	i := h.installer(t, "octocat")
	ids := h.GitHub.AddInstallations(h.App, githubtest.Octocat, 101)
	q := i.leave(t)
	q.Set("installation_id", fmt.Sprint(ids[100]))
	q.Set("setup_action", "install")
	if _, err := i.comeBack(t, q); err != nil {
		t.Error(err)
	}
}

func TestAStateOfAnInstallationIsOfOneSessionOneBrowserAndOneUse(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		i := h.installer(t, "octocat")
		eve := h.installer(t, "hubot")
		for name, c := range map[string]struct {
			who   *account.Who
			spoil func(q url.Values, browser *string)
		}{
			"missing":       {nil, func(q url.Values, _ *string) { q.Del("state") }},
			"unknown":       {nil, func(q url.Values, _ *string) { q.Set("state", strings.Repeat("A", 43)) }},
			"other browser": {nil, func(_ url.Values, b *string) { *b = strings.Repeat("B", 43) }},
			"no browser":    {nil, func(_ url.Values, b *string) { *b = "" }},
			"other person":  {eve.Who(t), func(url.Values, *string) {}},
			"too old":       {nil, func(url.Values, *string) { h.Clock.Pass(time.Hour) }},
			"other provider": {nil, func(q url.Values, _ *string) {
				h.Execute(t, `UPDATE tokens SET data = replace(data, '"provider":"github"', '"provider":"gitlab"') WHERE hash = $1`, secret.Fingerprint(q.Get("state")))
			}},
		} {
			i.Browser.SignIn(t)
			q := i.leave(t)
			q.Set("setup_action", "install")
			who, browser := i.Who(t), i.Value
			if c.who != nil {
				who = c.who
			}
			c.spoil(q, &browser)
			h.GitHub.Forget()
			done, err := h.Installations.Finish(t.Context(), *who, "github", q.Get("installation_id"), q.Get("setup_action"), q.Get("state"), browser)
			if !fault.Is(err, account.InvalidState) || done != (installation.Installed{}) || h.GitHub.Calls() != 0 {
				t.Errorf("%s: %+v, %v, %d calls", name, done, err, h.GitHub.Calls())
			}
		}
		i.Browser.SignIn(t)
		q := i.leave(t)
		for _, action := range []string{"", "Install", "delete", "install,request"} {
			q.Set("setup_action", action)
			accounttest.Is(t, accounttest.ErrOf(i.comeBack(t, q)), fault.InvalidRequest)
		}
	})
}

func TestOnlyAdministratorsOfAWorkspaceInstall(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		owner, guest := h.installer(t, "octocat"), h.installer(t, "hubot")
		start := func(who account.Who, m workspace.Membership) error {
			return accounttest.ErrOf(h.Installations.Start(t.Context(), who, "github", m, ""))
		}
		accounttest.Is(t, start(*guest.Who(t), owner.in), fault.WorkspaceNotFound)
		for role, may := range map[string]bool{workspace.Viewer: false, workspace.Builder: false, workspace.Billing: false, workspace.Admin: true, workspace.Owner: true} {
			h.Execute(t, "DELETE FROM members WHERE account = $1 AND workspace = $2", guest.Who(t).Account.ID, owner.in.ID)
			h.Execute(t, "INSERT INTO members (workspace, account, role, created_at) VALUES ($1, $2, $3, 0)", owner.in.ID, guest.Who(t).Account.ID, role)
			if err := start(*guest.Who(t), owner.in); may != (err == nil) || !may && !fault.Is(err, fault.Forbidden) {
				t.Errorf("%s: %v", role, err)
			}
		}
		stale := *owner.Who(t)
		stale.Session.AuthTime = h.Clock.Now().Add(-11 * time.Minute)
		accounttest.Is(t, start(stale, owner.in), account.ReauthRequired)
		// Somebody who loses the role on the way binds nothing.
		q := guest.leave(t)
		h.Execute(t, "UPDATE members SET role = 'viewer' WHERE account = $1", guest.Who(t).Account.ID)
		accounttest.Is(t, accounttest.ErrOf(guest.comeBack(t, q)), fault.Forbidden)
		h.Execute(t, "UPDATE workspaces SET suspended_at = 1")
		accounttest.Is(t, start(*owner.Who(t), owner.in), fault.WorkspaceSuspended)
	})
}

func TestWhoHasNoConnectionIsToldWhereToMakeOne(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		ada := h.Join(t, "ada@example.com")
		_, err := h.Installations.Start(t.Context(), ada.Who, "github", h.Personal(t, ada.Who), "")
		accounttest.Is(t, err, fault.ProviderConnectionRequired)
		want := accounttest.Platform + "/api/auth/oauth/github/start?intent=connect&returnTo=%2Fapi%2Fauth%2Foauth%2Fgithub%2Finstall%3Fworkspace%3Dada%2Fpersonal"
		if got := fault.From(err).Meta["connectUrl"]; got != want {
			t.Errorf("connect at %v", got)
		}
		// A connection that the person took back at GitHub is found out on the way.
		i := h.installer(t, "octocat")
		q := i.leave(t)
		h.GitHub.Revoke(h.App, githubtest.Octocat)
		accounttest.Is(t, accounttest.ErrOf(i.comeBack(t, q)), fault.ProviderConnectionRequired)
		h.RevokedOnce(t, account.SignedIn{Who: *i.Who(t)})
	})
}

func TestAChangeThatBeganAtGitHubComesWithoutAStateAndBindsNothing(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		i := h.installer(t, "octocat")
		id := h.GitHub.AddInstallation(githubtest.Installation{App: h.App, Account: githubtest.Octocat})
		done, err := i.comeBack(t, url.Values{"setup_action": {"update"}, "installation_id": {fmt.Sprint(id)}})
		if err != nil || done != (installation.Installed{}) || len(i.bound(t)) != 0 {
			t.Errorf("%+v, %v, bound %+v", done, err, i.bound(t))
		}
		for _, action := range []string{"install", "request"} {
			accounttest.Is(t, accounttest.ErrOf(i.comeBack(t, url.Values{"setup_action": {action}, "installation_id": {fmt.Sprint(id)}})), account.InvalidState)
		}
	})
}
