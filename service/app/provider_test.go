package app_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/account/github"
	"svc.dev/svc/service/account/githubtest"
	"svc.dev/svc/service/app"
	"svc.dev/svc/service/secret"
)

func TestUnconfiguredSignInIsClearAndWorksAfterTheManifestWithoutARestart(t *testing.T) {
	t.Parallel()
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		h := &hub{accounttest.NewHub(t, address, accounttest.Options{})}
		node := h.Beside(t, address)
		p, err := node.Apps.Provider(t.Context(), "github")
		if err != nil || p.Configured || p.Login || p.Attempt != (app.Attempt{}) || p.InstallURL != "" || p.MissingPermissions == nil {
			t.Fatalf("provider: %+v, %v", p, err)
		}
		for _, intent := range []string{"", account.IntentSignIn, account.IntentLink, "nonsense"} {
			to, err := node.Identities.StartSignIn(accounttest.From(t), "github", account.SignInRequest{Intent: intent})
			accounttest.Is(t, err, fault.ProviderNotConfigured)
			if to.URL != "" || fault.From(err).Message != "GitHub login is not configured. An administrator must approve the app manifest." {
				t.Errorf("start: %+v, %v", to, err)
			}
		}
		h.Configure(t)
		p, err = node.Apps.Provider(t.Context(), "github")
		if err != nil || !p.Configured || !p.Login || p.Attempt.Outcome != "" || len(p.MissingPermissions) != 0 {
			t.Fatalf("provider: %+v, %v", p, err)
		}
		if p.InstallURL != accounttest.Platform+"/api/auth/oauth/github/install" || p.Owner != "octocat" || p.Slug == "" || p.AppName == "" ||
			p.PageURL != h.GitHub.URL+"/apps/"+p.Slug || !p.ConfiguredAt.Equal(h.Clock.Now()) || p.Attempt != (app.Attempt{}) {
			t.Errorf("provider: %+v", p)
		}
		b := (&accounttest.Hub{World: node, GitHub: h.GitHub}).Browser("octocat")
		if in := b.SignIn(t); in.Account.Username != "octocat" {
			t.Errorf("signed in as %+v", in.Account)
		}
		if all := h.Actions(t, ""); !slices.Contains(all, "provider.exchanging") || !slices.Contains(all, "provider.configured") {
			t.Errorf("told: %v", all)
		}
	})
}

func TestOnlyOneProviderIsKnown(t *testing.T) {
	t.Parallel()
	h := &hub{accounttest.NewHub(t, sqldbtest.SQLite(t), accounttest.Options{})}
	for _, name := range []string{"", "GitHub", "gitlab", "github/", "github\x00", "../github"} {
		_, err := h.Apps.Provider(t.Context(), name)
		accounttest.Is(t, err, fault.UnknownProvider)
		accounttest.Is(t, accounttest.ErrOf(h.Manifests.Start(t.Context(), h.Admin, name, "", false)), fault.UnknownProvider)
		accounttest.Is(t, h.Manifests.Finish(t.Context(), h.Admin, name, "c", "s", "b"), fault.UnknownProvider)
		accounttest.Is(t, accounttest.ErrOf(h.Identities.StartSignIn(t.Context(), name, account.SignInRequest{})), fault.UnknownProvider)
		accounttest.Is(t, accounttest.ErrOf(h.Identities.FinishSignIn(t.Context(), name, account.Callback{})), fault.UnknownProvider)
		accounttest.Is(t, accounttest.ErrOf(h.Identities.Token(t.Context(), "acc_1", name)), fault.UnknownProvider)
		accounttest.Is(t, accounttest.ErrOf(h.Installations.Take(t.Context(), name, nil, nil)), fault.UnknownProvider)
		accounttest.Is(t, accounttest.ErrOf(h.Installations.Finish(t.Context(), h.Admin, name, "1", "install", "s", "b")), fault.UnknownProvider)
	}
}

func TestAManifestIsForFreshAdministratorsAlone(t *testing.T) {
	eachUnconfigured(t, func(t *testing.T, h *hub) {
		customer := h.Join(t, "eve@example.com")
		support := h.Join(t, "sue@example.com")
		if _, err := h.Staff.Grant(t.Context(), support.Account.ID, account.RoleSupport); err != nil {
			t.Fatal(err)
		}
		helper, _, _ := h.Sessions.Who(t.Context(), support.Token)
		for _, who := range []account.Who{customer.Who, helper, {}} {
			accounttest.Is(t, accounttest.ErrOf(h.Manifests.Start(t.Context(), who, "github", "", false)), fault.AdminRequired)
		}
		h.Clock.Pass(10*time.Minute + time.Millisecond)
		for _, replace := range []bool{false, true} {
			accounttest.Is(t, accounttest.ErrOf(h.Manifests.Start(t.Context(), h.Admin, "github", "", replace)), account.ReauthRequired)
		}
		again, err := h.Passwords.Reauth(t.Context(), h.Admin, accounttest.Password)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Manifests.Start(t.Context(), again.Who, "github", "", false); err != nil {
			t.Errorf("start: %v", err)
		}
	})
}

func TestTheOwnerOfAnAppIsANameAndNothingElse(t *testing.T) {
	t.Parallel()
	h := &hub{accounttest.NewHub(t, sqldbtest.SQLite(t), accounttest.Options{})}
	for _, owner := range []string{
		"../settings", "a%2fb", "<script>", "a/b", "-a", "a-", "a--b", "a b", "ä", "a\x00", "a\r\nb", ".", "..", "a.b", "a_b", "@a",
		strings.Repeat("a", 40), "https://github.com/acme", "acme?x=1", "acme#", "acme;", "%61cme",
	} {
		_, err := h.Manifests.Start(t.Context(), h.Admin, "github", owner, false)
		accounttest.Is(t, err, fault.InvalidRequest)
	}
	for _, owner := range []string{"a", "acme", "Acme-Inc", strings.Repeat("a", 39), "0", "a-b-c"} {
		form, err := h.Manifests.Start(t.Context(), h.Admin, "github", owner, false)
		if err != nil || !strings.HasPrefix(form.Action, h.GitHub.URL+"/organizations/"+owner+"/settings/apps/new?state=") {
			t.Errorf("%s: %+v, %v", owner, form, err)
		}
	}
	form, err := h.Manifests.Start(t.Context(), h.Admin, "github", "", false)
	if err != nil || !strings.HasPrefix(form.Action, h.GitHub.URL+"/settings/apps/new?state=") || form.Browser == "" || form.Life != time.Hour {
		t.Errorf("%+v, %v", form, err)
	}
	if n := h.GitHub.Calls(); n != 0 {
		t.Errorf("GitHub was asked %d times", n)
	}
}

// started is a manifest on its way back.
type started struct {
	form app.ManifestForm
	back url.Values
}

func (h *hub) started(t *testing.T, owner string, replace bool) started {
	t.Helper()
	form, err := h.Manifests.Start(t.Context(), h.Admin, "github", owner, replace)
	if err != nil {
		t.Fatalf("start manifest: %v", err)
	}
	return started{form, h.Approve(t, form)}
}

func (h *hub) finish(t *testing.T, who account.Who, s started) error {
	return h.Manifests.Finish(t.Context(), who, "github", s.back.Get("code"), s.back.Get("state"), s.form.Browser)
}

func TestAManifestStateIsOfOneSessionOneBrowserAndOneUse(t *testing.T) {
	eachUnconfigured(t, func(t *testing.T, h *hub) {
		second, err := h.Passwords.Login(accounttest.From(t), "root@svc.example.com", accounttest.Password, "")
		if err != nil {
			t.Fatal(err)
		}
		other, err := h.Staff.CreateAdmin(t.Context(), account.Registration{Email: "two@svc.example.com", Password: accounttest.Password})
		if err != nil {
			t.Fatal(err)
		}
		foreign := h.Admin
		foreign.Account = other
		for name, spoil := range map[string]func(s *started, who *account.Who){
			"missing":               func(s *started, _ *account.Who) { s.back.Del("state") },
			"unknown":               func(s *started, _ *account.Who) { s.back.Set("state", strings.Repeat("A", 43)) },
			"other case":            func(s *started, _ *account.Who) { s.back.Set("state", strings.ToUpper(s.back.Get("state"))) },
			"the hash":              func(s *started, _ *account.Who) { s.back.Set("state", secret.Fingerprint(s.back.Get("state"))) },
			"other session":         func(_ *started, who *account.Who) { *who = second.Who },
			"other account":         func(_ *started, who *account.Who) { *who = foreign },
			"nobody":                func(_ *started, who *account.Who) { *who = account.Who{} },
			"other browser":         func(s *started, _ *account.Who) { s.form.Browser = strings.Repeat("B", 43) },
			"no browser":            func(s *started, _ *account.Who) { s.form.Browser = "" },
			"the browser's hash":    func(s *started, _ *account.Who) { s.form.Browser = secret.Fingerprint(s.form.Browser) },
			"a millisecond too old": func(*started, *account.Who) { h.Clock.Pass(time.Hour) },
		} {
			who := h.fresh(t)
			s := h.started(t, "", false)
			spoil(&s, &who)
			if err := h.finish(t, who, s); !fault.Is(err, account.InvalidState) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if n := h.GitHub.Calls(accounttest.ConvertRoute); n != 0 {
			t.Errorf("GitHub was asked %d times", n)
		}
		who, s := h.fresh(t), h.started(t, "", false)
		h.Clock.Pass(time.Hour - time.Millisecond)
		if err := h.finish(t, who, s); err != nil {
			t.Fatalf("finish: %v", err)
		}
		accounttest.Is(t, h.finish(t, who, s), account.InvalidState)
		if n := h.GitHub.Calls(accounttest.ConvertRoute); n != 1 {
			t.Errorf("GitHub was asked %d times", n)
		}
	})
}

// fresh lets the administrator prove again who they are, in the session that there is.
func (h *hub) fresh(t *testing.T) account.Who {
	t.Helper()
	in, err := h.Passwords.Reauth(accounttest.From(t), h.Admin, accounttest.Password)
	if err != nil {
		t.Fatalf("prove again: %v", err)
	}
	h.Admin = in.Who
	return in.Who
}

func TestAStateOfOneJourneyEndsNoOther(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		b := h.Browser("octocat")
		h.GitHub.Forget()
		signIn := b.Leave(t, account.IntentSignIn)
		err := h.Manifests.Finish(t.Context(), h.Admin, "github", signIn.Get("code"), signIn.Get("state"), b.Value)
		accounttest.Is(t, err, account.InvalidState)
		_, err = h.Installations.Finish(t.Context(), h.Admin, "github", "1", "install", signIn.Get("state"), b.Value)
		accounttest.Is(t, err, account.InvalidState)
		s := h.started(t, "", true)
		_, err = h.Identities.FinishSignIn(accounttest.From(t), "github", account.Callback{
			Code: s.back.Get("code"), State: s.back.Get("state"), Browser: s.form.Browser, Who: &h.Admin,
		})
		accounttest.Is(t, err, account.InvalidState)
		if n := h.GitHub.Calls(); n != 0 {
			t.Errorf("GitHub was asked %d times", n)
		}
		if _, err := b.ComeBack(t, signIn); err != nil {
			t.Errorf("a state that was shown elsewhere is gone: %v", err)
		}
	})
}

func TestAnAppThatIsNotWhatWasAskedForLeavesNothingButAWord(t *testing.T) {
	eachUnconfigured(t, func(t *testing.T, h *hub) {
		good := func(change ...string) githubtest.Fault {
			body := map[string]any{
				"id": 7, "slug": "svc", "name": "svc", "client_id": "Iv1.x", "client_secret": "a secret of the client", "pem": "-----BEGIN", "webhook_secret": nil,
				"html_url": h.GitHub.URL + "/apps/svc", "owner": map[string]any{"login": "octocat", "type": "User"}, "permissions": map[string]string{},
			}
			body[change[0]] = change[1]
			text, _ := json.Marshal(body)
			return githubtest.Raw(201, string(text))
		}
		for name, f := range map[string]struct {
			fault   githubtest.Fault
			outcome string
			typ     string
		}{
			"404":             {githubtest.Status(404), github.ManifestFailed, github.ManifestFailed},
			"422":             {githubtest.Status(422), github.ManifestFailed, github.ManifestFailed},
			"bad key":         {good("pem", "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n"), github.ManifestFailed, github.ManifestFailed},
			"no secret":       {good("client_secret", ""), github.ManifestFailed, github.ManifestFailed},
			"another host":    {good("html_url", "https://evil.example.com/apps/svc"), github.ManifestFailed, github.ManifestFailed},
			"not JSON":        {githubtest.Raw(201, "<html>"), github.ManifestFailed, github.ManifestFailed},
			"page":            {githubtest.HTML(), app.Exchanging, fault.ProviderUnavailable},
			"cut off":         {githubtest.Truncated(), app.Exchanging, fault.ProviderUnavailable},
			"500":             {githubtest.Status(500), app.Exchanging, fault.ProviderUnavailable},
			"moved elsewhere": {githubtest.Redirect("https://evil.example.com/"), app.Exchanging, fault.ProviderUnavailable},
			"rate limited":    {githubtest.Slowed(429, 7), app.Exchanging, github.RateLimited},
		} {
			h.GitHub.FailOnce(accounttest.ConvertRoute, f.fault)
			h.GitHub.Forget()
			if err := h.finish(t, h.Admin, h.started(t, "", false)); !fault.Is(err, f.typ) {
				t.Errorf("%s: %v", name, err)
			}
			p, err := h.Apps.Provider(t.Context(), "github")
			if err != nil || p.Configured || p.Attempt.Outcome != f.outcome || p.Attempt.Name != "svc-svc.localhost" {
				t.Errorf("%s: %+v, %v", name, p, err)
			}
			if n := h.GitHub.Calls(accounttest.ConvertRoute); n != 1 {
				t.Errorf("%s: GitHub was asked %d times", name, n)
			}
		}
		if n := h.Count(t, "SELECT count(*) FROM secrets WHERE owner_kind = 'service'"); n != 0 {
			t.Errorf("%d secrets were kept", n)
		}
		h.Configure(t)
		if p, _ := h.Apps.Provider(t.Context(), "github"); !p.Configured || p.Attempt != (app.Attempt{}) {
			t.Errorf("provider: %+v", p)
		}
	})
}

func TestAnAppOfAnotherOwnerIsRefused(t *testing.T) {
	eachUnconfigured(t, func(t *testing.T, h *hub) {
		for _, c := range []struct{ wanted, got string }{{"acme", "octocat"}, {"acme", "evil"}, {"", "evil"}} {
			h.GitHub.ConvertAs(c.got)
			accounttest.Is(t, h.finish(t, h.Admin, h.started(t, c.wanted, false)), app.OwnerMismatch)
			p, err := h.Apps.Provider(t.Context(), "github")
			if err != nil || p.Configured || p.Attempt.Outcome != app.OwnerMismatch || p.Attempt.Wanted != c.wanted || p.Attempt.Got != c.got {
				t.Errorf("provider: %+v, %v", p, err)
			}
		}
		if n := h.Count(t, "SELECT count(*) FROM secrets WHERE owner_kind = 'service'"); n != 0 {
			t.Errorf("%d secrets were kept", n)
		}
		h.GitHub.ConvertAs("")
		if err := h.finish(t, h.Admin, h.started(t, "ACME", false)); err != nil {
			t.Errorf("an owner in capitals: %v", err)
		}
		if p, _ := h.Apps.Provider(t.Context(), "github"); p.Owner != "acme" || !p.Organization {
			t.Errorf("provider: %+v", p)
		}
	})
}

func TestAnAdministratorWhoIsNoneAnyMoreDoesNotFinish(t *testing.T) {
	eachUnconfigured(t, func(t *testing.T, h *hub) {
		s := h.started(t, "", false)
		if _, err := h.Staff.Grant(t.Context(), h.Admin.Account.ID, account.RoleNone); err != nil {
			t.Fatal(err)
		}
		accounttest.Is(t, h.finish(t, h.Admin, s), fault.AdminRequired)
		if n := h.GitHub.Calls(accounttest.ConvertRoute); n != 0 {
			t.Errorf("GitHub was asked %d times", n)
		}
	})
}

func TestACrashLeavesAnExchangeThatSaysSo(t *testing.T) {
	t.Parallel()
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		h := &hub{accounttest.NewHub(t, address, accounttest.Options{})}
		s := h.started(t, "", false)
		h.GitHub.FailOnce(accounttest.ConvertRoute, githubtest.Slow(2*time.Second))
		done := make(chan error, 1)
		go func() { done <- h.finish(t, h.Admin, s) }()
		accounttest.Eventually(t, "the code is exchanged", func() bool { return h.GitHub.Calls(accounttest.ConvertRoute) > 0 })
		// The node dies between the exchange and the commit.
		if err := h.DB.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err == nil {
			t.Fatal("the node did not die")
		}
		h.World = accounttest.New(t, address, accounttest.Options{After: h.World, GitHub: h.GitHub.URL})
		p, err := h.Apps.Provider(t.Context(), "github")
		if err != nil || p.Configured || p.Attempt.Name != "svc-svc.localhost" || p.Attempt.Outcome != app.Exchanging {
			t.Fatalf("provider: %+v, %v", p, err)
		}
		accounttest.Is(t, accounttest.ErrOf(h.Identities.StartSignIn(accounttest.From(t), "github", account.SignInRequest{})), fault.ProviderNotConfigured)
		accounttest.Is(t, h.finish(t, h.Admin, s), account.InvalidState)
		h.Configure(t)
		if p, _ := h.Apps.Provider(t.Context(), "github"); !p.Configured || p.Attempt.Outcome != "" {
			t.Errorf("provider: %+v", p)
		}
	})
}

func TestAnAppGivesWayOnlyToOneThatIsToReplaceIt(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		first := h.AppID(t)
		accounttest.Is(t, accounttest.ErrOf(h.Manifests.Start(t.Context(), h.Admin, "github", "", false)), app.AlreadyConfigured)
		// Two set out to replace the same app: one does.
		one, two := h.started(t, "", true), h.started(t, "", true)
		if err := h.finish(t, h.Admin, one); err != nil {
			t.Fatal(err)
		}
		second := h.AppID(t)
		h.GitHub.Forget()
		accounttest.Is(t, h.finish(t, h.Admin, two), app.AlreadyConfigured)
		if second == first || h.AppID(t) != second || h.GitHub.Calls(accounttest.ConvertRoute) != 0 {
			t.Errorf("apps %d, %d, %d", first, second, h.AppID(t))
		}
		if got := h.sealed(t); !slices.Equal(got, sealedOf(1, 2)) {
			t.Errorf("secrets: %v", got)
		}
		if err := h.finish(t, h.Admin, h.started(t, "", true)); err != nil {
			t.Fatal(err)
		}
		if got := h.sealed(t); !slices.Equal(got, sealedOf(2, 3)) {
			t.Errorf("secrets: %v", got)
		}
		if all := h.Actions(t, ""); !slices.Contains(all, "provider.replaced") {
			t.Errorf("told: %v", all)
		}
	})
}

// sealed are the names of the service's secrets.
func (h *hub) sealed(t *testing.T) []string {
	t.Helper()
	all, err := h.Store.List(t.Context(), secret.Owner{Kind: secret.Service})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range all {
		names = append(names, e.Name)
	}
	return names
}

func TestAFailedReplacementLeavesTheAppThatWas(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		before := h.AppID(t)
		h.GitHub.FailOnce(accounttest.ConvertRoute, githubtest.Truncated())
		accounttest.Is(t, h.finish(t, h.Admin, h.started(t, "", true)), fault.ProviderUnavailable)
		p, err := h.Apps.Provider(t.Context(), "github")
		if err != nil || !p.Configured || !p.Login || p.Attempt.Outcome != app.Exchanging || h.AppID(t) != before {
			t.Errorf("provider: %+v, %v", p, err)
		}
		h.Browser("octocat").SignIn(t)
	})
}

func TestOfTwoWhoFinishOneManifestOneDoes(t *testing.T) {
	eachUnconfigured(t, func(t *testing.T, h *hub) {
		s := h.started(t, "", false)
		errs := make(chan error, 8)
		for range cap(errs) {
			go func() { errs <- h.finish(t, h.Admin, s) }()
		}
		var done int
		for range cap(errs) {
			if err := <-errs; err == nil {
				done++
			} else {
				accounttest.Is(t, err, account.InvalidState)
			}
		}
		if done != 1 || h.GitHub.Calls(accounttest.ConvertRoute) != 1 {
			t.Errorf("%d finished, GitHub was asked %d times", done, h.GitHub.Calls(accounttest.ConvertRoute))
		}
	})
}

func TestAMissingPermissionIsShownAndHeals(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		missing := func() []string {
			p, err := h.Apps.Provider(t.Context(), "github")
			if err != nil {
				t.Fatal(err)
			}
			return p.MissingPermissions
		}
		h.GitHub.SetPermission(h.App, "emails", "")
		b := h.Browser("octocat")
		b.SignIn(t)
		if got := missing(); !slices.Equal(got, []string{"emails:read"}) {
			t.Errorf("missing: %v", got)
		}
		h.GitHub.SetPermission(h.App, "emails", "read")
		b.SignIn(t)
		if got := missing(); len(got) != 0 {
			t.Errorf("missing: %v", got)
		}
	})
}

func TestAnAppWithoutThePermissionForAddressesIsKept(t *testing.T) {
	eachUnconfigured(t, func(t *testing.T, h *hub) {
		s := h.started(t, "", false)
		h.GitHub.SetPermission(h.lastApp(t), "emails", "")
		if err := h.finish(t, h.Admin, s); err != nil {
			t.Fatal(err)
		}
		p, err := h.Apps.Provider(t.Context(), "github")
		if err != nil || !p.Configured || !slices.Equal(p.MissingPermissions, []string{"emails:read"}) {
			t.Errorf("provider: %+v, %v", p, err)
		}
	})
}

// lastApp is the number of the newest app at GitHub.
func (h *hub) lastApp(t *testing.T) int64 {
	t.Helper()
	// Numbers are given in order, and the next one tells which was the last.
	return h.GitHub.AddOrganization(githubtest.Organization{Login: fmt.Sprintf("probe-%d", time.Now().UnixNano())}) - 1
}

// sealedOf are the names of what is sealed of versions of an app that has no webhook.
func sealedOf(versions ...int) (names []string) {
	for _, v := range versions {
		for _, name := range []string{"client_id", "client_secret", "id", "pem"} {
			names = append(names, fmt.Sprintf("github/%d/%s", v, name))
		}
	}
	return names
}

func TestAnAppWithoutAWebhookHasNoSecretForIt(t *testing.T) {
	t.Parallel()
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		h := &hub{accounttest.NewHub(t, address, accounttest.Options{})} // on an address that GitHub does not reach
		h.Configure(t)
		if got := h.sealed(t); !slices.Equal(got, sealedOf(1)) {
			t.Errorf("secrets: %v", got)
		}
		h.Browser("octocat").SignIn(t)
	})
}

func TestNothingSecretIsWrittenWhereItCanBeRead(t *testing.T) {
	t.Parallel()
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		log := &strings.Builder{}
		h := &hub{accounttest.NewHub(t, address, accounttest.Options{Log: textLog(log)})}
		h.GitHub.FailOnce(accounttest.TokenRoute, githubtest.HTML())
		h.Configure(t)
		b := h.Browser("octocat")
		var told strings.Builder
		for _, f := range []githubtest.Fault{githubtest.HTML(), githubtest.Truncated(), githubtest.Status(500), githubtest.Redirect("https://evil.example.com/?x=1")} {
			for _, route := range []string{accounttest.TokenRoute, accounttest.UserRoute, accounttest.EmailsRoute} {
				h.GitHub.Heal()
				h.GitHub.FailOnce(route, f)
				_, err := b.Visit(t, account.IntentSignIn)
				fmt.Fprintf(&told, "%v %+v\n", err, err)
			}
		}
		h.GitHub.Heal()
		in := b.SignIn(t)
		token, err := h.Identities.Token(t.Context(), in.Account.ID, "github")
		if err != nil || !strings.HasPrefix(token, "ghu_") {
			t.Fatalf("token: %v", err)
		}
		held, _ := h.AddPerson(t, "second", "octocat@example.com")
		if out, err := held.Visit(t, account.IntentSignIn); err != nil || out.LinkTicket == "" {
			t.Fatalf("no ticket: %+v, %v", out, err)
		}
		p, err := h.Apps.Provider(t.Context(), "github")
		fmt.Fprintf(&told, "%+v %v %+v", p, err, in)
		fmt.Fprint(&told, log.String(), h.everything(t))
		for _, secret := range []string{"ghu_", "ghr_", "-----BEGIN", "PRIVATE KEY", "client_secret=", "code_verifier"} {
			if strings.Contains(told.String(), secret) {
				t.Errorf("%q can be read", secret)
			}
		}
		for _, r := range h.GitHub.Journal() {
			if form, _ := url.ParseQuery(r.Body); form.Get("client_secret") != "" && strings.Contains(told.String(), form.Get("client_secret")) {
				t.Error("the client secret can be read")
			}
		}
	})
}

// everything is all text of all tables.
func (h *hub) everything(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	err := h.DB.Snapshot(t.Context(), func(tx *sqldb.Tx) error {
		b.Reset()
		for _, table := range []string{"accounts", "sessions", "tokens", "identities", "providers", "installations", "deliveries", "secrets", "secret_values", "audit_events", "outbox"} {
			rows, err := tx.Query("SELECT * FROM " + table)
			if err != nil {
				return err
			}
			if err := writeRows(&b, rows); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func textLog(to io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// writeRows writes every column of every row.
func writeRows(b *strings.Builder, rows *sql.Rows) error {
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			return err
		}
		for _, v := range values {
			fmt.Fprintf(b, "%s ", *v.(*any))
		}
	}
	return rows.Err()
}

// TestAnAdministratorWhoIsNoneByNowBringsNoApp takes the role, or the session, while GitHub is being asked.
func TestAnAdministratorWhoIsNoneByNowBringsNoApp(t *testing.T) {
	for name, lose := range map[string]string{
		"role":    "UPDATE accounts SET service_role = 'none' WHERE id = $1",
		"session": "UPDATE sessions SET revoked_at = 1 WHERE account = $1",
	} {
		t.Run(name, func(t *testing.T) {
			eachUnconfigured(t, func(t *testing.T, h *hub) {
				form, err := h.Manifests.Start(t.Context(), h.Admin, "github", "", false)
				accounttest.Check(t, err)
				back := h.Approve(t, form)
				h.GitHub.FailOnce(accounttest.ConvertRoute, githubtest.Slow(2*time.Second))
				ended := make(chan error)
				go func() {
					ended <- h.Manifests.Finish(t.Context(), h.Admin, "github", back.Get("code"), back.Get("state"), form.Browser)
				}()
				accounttest.Eventually(t, "the code is exchanged", func() bool {
					return h.Count(t, "SELECT count(*) FROM providers WHERE outcome = $1", app.Exchanging) > 0
				})
				h.Execute(t, lose, h.Admin.Account.ID)
				accounttest.Is(t, <-ended, fault.AdminRequired)
				p, err := h.Apps.Provider(t.Context(), "github")
				if err != nil || p.Configured || p.Attempt.Outcome != app.Exchanging {
					t.Errorf("the app is there: %+v, %v", p, err)
				}
			})
		})
	}
}
