package account_test

import (
	"encoding/base64"
	"fmt"
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
	"svc.dev/svc/service/secret"
)

func TestABrowserIsSentAwayWithAStateAndAChallenge(t *testing.T) {
	t.Parallel()
	h := &hub{accounttest.NewHub(t, sqldbtest.SQLite(t), accounttest.Options{})}
	h.Configure(t)
	to, err := h.Identities.StartSignIn(accounttest.From(t), "github", account.SignInRequest{ReturnTo: "/x"})
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(to.URL)
	if err != nil || !strings.HasPrefix(to.URL, h.GitHub.URL+"/login/oauth/authorize?") {
		t.Fatalf("sent to %s", to.URL)
	}
	q := u.Query()
	if len(q.Get("state")) != 43 || len(q.Get("code_challenge")) != 43 || q.Get("code_challenge_method") != "S256" ||
		q.Get("redirect_uri") != accounttest.Platform+"/api/auth/oauth/github/callback" || q.Get("client_id") == "" || q.Has("scope") {
		t.Errorf("sent with %v", q)
	}
	if len(to.Browser) != 43 || to.Life != 10*time.Minute {
		t.Errorf("redirect %+v", to)
	}
	again, err := h.Identities.StartSignIn(accounttest.From(t), "github", account.SignInRequest{Browser: to.Browser})
	if err != nil || again.Browser != to.Browser {
		t.Errorf("a second tab makes the first one useless: %v", err)
	}
	for _, odd := range []string{"short", strings.Repeat("x", 44)} {
		if made, err := h.Identities.StartSignIn(accounttest.From(t), "github", account.SignInRequest{Browser: odd}); err != nil || made.Browser == odd {
			t.Errorf("the browser keeps %q, %v", odd, err)
		}
	}
	if held := h.Dump(t); strings.Contains(held, q.Get("state")) || strings.Contains(held, to.Browser) {
		t.Error("the database holds a state or the value of a browser")
	}
}

func TestIntentsNeedSomebodySignedIn(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		ada := h.Join(t, "ada@example.com")
		start := func(intent string, who *account.Who) error {
			return accounttest.ErrOf(h.Identities.StartSignIn(accounttest.From(t), "github", account.SignInRequest{Intent: intent, Who: who}))
		}
		for _, intent := range []string{account.IntentLink, account.IntentConnect, account.IntentReauth} {
			accounttest.Is(t, start(intent, nil), account.Unauthenticated)
			if err := start(intent, &ada.Who); err != nil {
				t.Errorf("%s: %v", intent, err)
			}
		}
		for _, intent := range []string{"Link", "delete", "signin ", "signin,link"} {
			accounttest.Is(t, start(intent, &ada.Who), fault.InvalidRequest)
		}
		h.Clock.Pass(10*time.Minute + time.Millisecond)
		accounttest.Is(t, start(account.IntentLink, &ada.Who), account.ReauthRequired)
		accounttest.Is(t, start(account.IntentConnect, &ada.Who), account.ReauthRequired)
		if err := start(account.IntentReauth, &ada.Who); err != nil {
			t.Errorf("reauth: %v", err)
		}
	})
}

func TestEveryWayBackFromGitHubEndsAsPromised(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		reset := h.Clock.Now().Add(90 * time.Second)
		for name, c := range map[string]struct {
			route string
			fault githubtest.Fault
			typ   string
			after time.Duration
			calls int // of the token endpoint
		}{
			"token says no":          {accounttest.TokenRoute, githubtest.Raw(200, `{"error":"bad_verification_code","error_description":"x"}`), github.ExchangeFailed, 0, 1},
			"token says who knows":   {accounttest.TokenRoute, githubtest.Raw(200, `{"error":"ghu_surprise"}`), github.ExchangeFailed, 0, 1},
			"wrong secret":           {accounttest.TokenRoute, githubtest.Raw(200, `{"error":"incorrect_client_credentials"}`), github.ExchangeFailed, 0, 1},
			"empty token":            {accounttest.TokenRoute, githubtest.Raw(200, `{"access_token":"","token_type":"bearer"}`), github.ExchangeFailed, 0, 1},
			"no token":               {accounttest.TokenRoute, githubtest.Raw(200, `{"token_type":"bearer"}`), github.ExchangeFailed, 0, 1},
			"token not JSON":         {accounttest.TokenRoute, githubtest.HTML(), github.ExchangeFailed, 0, 1},
			"token 404":              {accounttest.TokenRoute, githubtest.Status(404), github.ExchangeFailed, 0, 1},
			"token 500":              {accounttest.TokenRoute, githubtest.Status(500), github.ExchangeFailed, 0, 1},
			"token moved":            {accounttest.TokenRoute, githubtest.Redirect("https://evil.example.com/steal"), github.ExchangeFailed, 0, 1},
			"token cut off":          {accounttest.TokenRoute, githubtest.Truncated(), github.ExchangeFailed, 0, 1},
			"token too long":         {accounttest.TokenRoute, githubtest.Oversized(), github.ExchangeFailed, 0, 1},
			"token limited":          {accounttest.TokenRoute, githubtest.Slowed(429, 7), github.RateLimited, 7 * time.Second, 1},
			"unverified person":      {accounttest.TokenRoute, githubtest.Raw(200, `{"error":"unverified_user_email"}`), github.EmailUnverified, 0, 1},
			"user 401":               {accounttest.UserRoute, githubtest.Status(401), fault.ProviderUnavailable, 0, 1},
			"user 500":               {accounttest.UserRoute, githubtest.Status(500), fault.ProviderUnavailable, 0, 1},
			"user 503":               {accounttest.UserRoute, githubtest.Status(503), fault.ProviderUnavailable, 0, 1},
			"user page":              {accounttest.UserRoute, githubtest.HTML(), fault.ProviderUnavailable, 0, 1},
			"user cut off":           {accounttest.UserRoute, githubtest.Truncated(), fault.ProviderUnavailable, 0, 1},
			"user limited":           {accounttest.UserRoute, githubtest.Spent(reset), github.RateLimited, 90 * time.Second, 1},
			"user id a text":         {accounttest.UserRoute, githubtest.Raw(200, `{"id":"583231","login":"octocat"}`), fault.ProviderUnavailable, 0, 1},
			"user id 0":              {accounttest.UserRoute, githubtest.Raw(200, `{"id":0,"login":"octocat"}`), fault.ProviderUnavailable, 0, 1},
			"user id negative":       {accounttest.UserRoute, githubtest.Raw(200, `{"id":-583231,"login":"octocat"}`), fault.ProviderUnavailable, 0, 1},
			"user id a fraction":     {accounttest.UserRoute, githubtest.Raw(200, `{"id":583231.5,"login":"octocat"}`), fault.ProviderUnavailable, 0, 1},
			"user id an exponent":    {accounttest.UserRoute, githubtest.Raw(200, `{"id":5e5,"login":"octocat"}`), fault.ProviderUnavailable, 0, 1},
			"user id too long":       {accounttest.UserRoute, githubtest.Raw(200, `{"id":99999999999999999999,"login":"octocat"}`), fault.ProviderUnavailable, 0, 1},
			"user id null":           {accounttest.UserRoute, githubtest.Raw(200, `{"id":null,"login":"octocat"}`), fault.ProviderUnavailable, 0, 1},
			"user id twice":          {accounttest.UserRoute, githubtest.Raw(200, `{"id":583231,"id":480938,"login":"octocat"}`), fault.ProviderUnavailable, 0, 1},
			"user id in capitals":    {accounttest.UserRoute, githubtest.Raw(200, `{"ID":583231,"login":"octocat"}`), fault.ProviderUnavailable, 0, 1},
			"addresses 500":          {accounttest.EmailsRoute, githubtest.Status(500), fault.ProviderUnavailable, 0, 1},
			"addresses 403 for else": {accounttest.EmailsRoute, githubtest.Status(403), fault.ProviderUnavailable, 0, 1},
			"addresses limited":      {accounttest.EmailsRoute, githubtest.Slowed(403, 11), github.RateLimited, 11 * time.Second, 1},
			"addresses spent":        {accounttest.EmailsRoute, githubtest.Spent(reset), github.RateLimited, 90 * time.Second, 1},
		} {
			b := h.Browser("octocat")
			h.GitHub.Heal()
			q := b.Leave(t, account.IntentSignIn)
			h.GitHub.Forget()
			h.GitHub.FailOnce(c.route, c.fault)
			out, err := b.ComeBack(t, q)
			if !fault.Is(err, c.typ) || out != (account.Outcome{}) || (fault.From(err).RetryAfter-c.after).Abs() >= time.Second {
				t.Errorf("%s: %+v, %v after %v", name, out, err, fault.From(err).RetryAfter)
			}
			if n := h.GitHub.Calls(accounttest.TokenRoute); n != c.calls {
				t.Errorf("%s: %d tokens were asked for", name, n)
			}
			h.GitHub.Heal()
			accounttest.Is(t, accounttest.ErrOf(b.ComeBack(t, q)), account.InvalidState)
		}
		if n := h.Count(t, "SELECT count(*) FROM identities"); n != 0 {
			t.Errorf("%d identities", n)
		}
		b := h.Browser("octocat")
		out, err := b.Visit(t, account.IntentSignIn)
		if err != nil || out.SignedIn == nil || out.ReturnTo != "/here" || out.Notice != "" || out.Denied {
			t.Fatalf("sign in: %+v, %v", out, err)
		}
		if in := out.SignedIn; in.Account.Email != "octocat@example.com" || !in.Account.EmailVerified || in.Session.Method != "github" ||
			fmt.Sprint(in.Account.Methods) != "[github]" || len(in.Account.Warnings()) != 0 || in.Account.DisplayName != "Mona Lisa Octocat" {
			t.Errorf("account %+v", in.Account)
		}
		if all := h.Actions(t, "users/octocat/personal"); fmt.Sprint(all) != "[account.created login.github]" {
			t.Errorf("told: %v", all)
		}
	})
}

func TestWhoSaysNoIsNotSignedInAndTheStateIsUsed(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		for _, c := range []struct {
			word   string
			denied bool
		}{{"access_denied", true}, {"application_suspended", false}, {"redirect_uri_mismatch", false}} {
			b := h.Browser("octocat")
			q := b.Leave(t, account.IntentSignIn)
			q.Del("code")
			q.Set("error", c.word)
			h.GitHub.Forget()
			out, err := b.ComeBack(t, q)
			if c.denied && (err != nil || !out.Denied || out.SignedIn != nil) {
				t.Errorf("%s: %+v, %v", c.word, out, err)
			}
			if !c.denied {
				accounttest.Is(t, err, github.ExchangeFailed)
			}
			accounttest.Is(t, accounttest.ErrOf(b.ComeBack(t, q)), account.InvalidState)
			if n := h.GitHub.Calls(); n != 0 {
				t.Errorf("GitHub was asked %d times", n)
			}
		}
	})
}

func TestACodeBesideAnErrorIsNotUsed(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		b := h.Browser("octocat")
		q := b.Leave(t, account.IntentSignIn)
		h.GitHub.Forget()
		q.Set("error", "access_denied")
		if out, err := b.ComeBack(t, q); err != nil || !out.Denied || out.SignedIn != nil {
			t.Errorf("%+v, %v", out, err)
		}
		q.Del("error")
		accounttest.Is(t, accounttest.ErrOf(b.ComeBack(t, q)), account.InvalidState)
		if n := h.GitHub.Calls(); n != 0 {
			t.Errorf("GitHub was asked %d times", n)
		}
	})
}

func TestAStateIsOfOneBrowserOneProviderOneSessionAndOneUse(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		ada, eve := h.Join(t, "ada@example.com"), h.Join(t, "eve@example.com")
		for name, c := range map[string]struct {
			intent string
			spoil  func(q url.Values, back *account.Callback)
		}{
			"missing":        {"", func(_ url.Values, c *account.Callback) { c.State = "" }},
			"unknown":        {"", func(_ url.Values, c *account.Callback) { c.State = strings.Repeat("A", 43) }},
			"its hash":       {"", func(_ url.Values, c *account.Callback) { c.State = secret.Fingerprint(c.State) }},
			"longer":         {"", func(_ url.Values, c *account.Callback) { c.State += "=" }},
			"other browser":  {"", func(_ url.Values, c *account.Callback) { c.Browser = strings.Repeat("B", 43) }},
			"no browser":     {"", func(_ url.Values, c *account.Callback) { c.Browser = "" }},
			"browser's hash": {"", func(_ url.Values, c *account.Callback) { c.Browser = secret.Fingerprint(c.Browser) }},
			"other provider": {"", func(_ url.Values, c *account.Callback) {
				h.Execute(t, `UPDATE tokens SET data = replace(data, '"provider":"github"', '"provider":"gitlab"') WHERE hash = $1`, secret.Fingerprint(c.State))
			}},
			"too old":            {"", func(_ url.Values, c *account.Callback) { h.Clock.Pass(10 * time.Minute) }},
			"link, nobody":       {account.IntentLink, func(_ url.Values, c *account.Callback) { c.Who = nil }},
			"link, other person": {account.IntentLink, func(_ url.Values, c *account.Callback) { c.Who = &eve.Who }},
			"link, other session": {account.IntentLink, func(_ url.Values, c *account.Callback) {
				c.Who = &account.Who{Session: eve.Session, Account: ada.Account}
			}},
			"connect, nobody":      {account.IntentConnect, func(_ url.Values, c *account.Callback) { c.Who = nil }},
			"reauth, nobody":       {account.IntentReauth, func(_ url.Values, c *account.Callback) { c.Who = nil }},
			"reauth, other person": {account.IntentReauth, func(_ url.Values, c *account.Callback) { c.Who = &eve.Who }},
		} {
			b := h.Browser("hubot")
			if c.intent != "" {
				b.Login(t, "ada@example.com")
			}
			q := b.Leave(t, c.intent)
			h.GitHub.Forget()
			back := b.Callback(t, q)
			c.spoil(q, &back)
			if out, err := h.Identities.FinishSignIn(accounttest.From(t), "github", back); !fault.Is(err, account.InvalidState) || out != (account.Outcome{}) {
				t.Errorf("%s: %+v, %v", name, out, err)
			}
			if n := h.GitHub.Calls(); n != 0 {
				t.Errorf("%s: GitHub was asked %d times", name, n)
			}
		}
		b := h.Browser("hubot")
		q := b.Leave(t, "")
		h.Clock.Pass(10*time.Minute - time.Millisecond)
		// GitHub's code is as old, and good for as long.
		if _, err := b.ComeBack(t, q); err != nil {
			t.Errorf("just in time: %v", err)
		}
		accounttest.Is(t, accounttest.ErrOf(b.ComeBack(t, q)), account.InvalidState)
	})
}

func TestAStateThatWasShownInAnotherBrowserIsGone(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		b := h.Browser("octocat")
		q := b.Leave(t, account.IntentSignIn)
		thief := b.Callback(t, q)
		thief.Browser = strings.Repeat("B", 43)
		accounttest.Is(t, accounttest.ErrOf(h.Identities.FinishSignIn(accounttest.From(t), "github", thief)), account.InvalidState)
		accounttest.Is(t, accounttest.ErrOf(b.ComeBack(t, q)), account.InvalidState)
	})
}

func TestACodeOfAnotherJourneyIsRefused(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		eve, victim := h.Browser("hubot"), h.Browser("octocat")
		stolen := eve.Leave(t, account.IntentSignIn)
		q := victim.Leave(t, account.IntentSignIn)
		// Whoever slips in a code of their own consent does not know the verifier.
		q.Set("code", stolen.Get("code"))
		accounttest.Is(t, accounttest.ErrOf(victim.ComeBack(t, q)), github.ExchangeFailed)
		if n := h.Count(t, "SELECT count(*) FROM identities"); n != 0 {
			t.Errorf("%d identities", n)
		}
		q = victim.Leave(t, account.IntentSignIn)
		q.Del("code")
		accounttest.Is(t, accounttest.ErrOf(victim.ComeBack(t, q)), github.ExchangeFailed)
	})
}

func TestOfManyCallbacksWithOneStateOneMakesASession(t *testing.T) {
	t.Parallel()
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		h := &hub{accounttest.NewHub(t, address, accounttest.Options{})}
		h.Configure(t)
		nodes := []*accounttest.World{h.World, h.Beside(t, address)}
		b := h.Browser("octocat")
		back := b.Callback(t, b.Leave(t, account.IntentSignIn))
		h.GitHub.Forget()
		ended := make(chan error, 16)
		for i := range cap(ended) {
			ctx := accounttest.From(t)
			go func() { ended <- accounttest.ErrOf(nodes[i%2].Identities.FinishSignIn(ctx, "github", back)) }()
		}
		won := 0
		for range cap(ended) {
			if err := <-ended; err == nil {
				won++
			} else {
				accounttest.Is(t, err, account.InvalidState)
			}
		}
		sessions := h.Count(t, "SELECT count(*) FROM sessions s JOIN identities i ON i.id = s.identity")
		if won != 1 || sessions != 1 || h.GitHub.Calls(accounttest.TokenRoute) != 1 {
			t.Errorf("%d won, %d sessions, %d tokens", won, sessions, h.GitHub.Calls(accounttest.TokenRoute))
		}
	})
}

func TestSigningInEndsTheSessionThatTheBrowserHad(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		b := h.Browser("octocat")
		first := b.SignIn(t)
		second := b.SignIn(t)
		if h.IsSignedIn(t, first.Token) || !h.IsSignedIn(t, second.Token) || first.Account.ID != second.Account.ID {
			t.Error("the value of before opens something")
		}
	})
}

func TestAddressesThatAreNoneAreNobodys(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		victim := h.Join(t, "victim@example.com")
		for i, address := range []string{
			"victim＠example.com", "victim@example.com\r\nBcc: eve@example.com", strings.Repeat("v", 300) + "@example.com", "victim@@example.com",
			"\"victim\"@example.com", "victim@example.com ", " victim@example.com", "victim@example.com\x00", "<victim@example.com>",
			"victim@example", "victim@", "@example.com", "583231+octocat@users.noreply.github.com", "X@USERS.NOREPLY.GITHUB.COM",
			"vıctim@example.com", "victim\u200b@example.com",
		} {
			b, _ := h.AddPerson(t, fmt.Sprintf("odd-%d", i), address)
			in := b.SignIn(t)
			if in.Account.Email != "" || in.Account.EmailVerified || in.Account.ID == victim.Account.ID || len(in.Account.Warnings()) != 0 {
				t.Errorf("%q: %+v", address, in.Account)
			}
		}
	})
}

func TestAnAddressIsFoundInAllItsForms(t *testing.T) {
	eachHub(t, accounttest.Options{Mail: true}, func(t *testing.T, h *hub) {
		joinByMail(t, h.World, "victim@xn--bcher-kva.example")
		for i, address := range []string{"VICTIM@bücher.example", "victim@xn--bcher-kva.example", "Victim@XN--BCHER-KVA.EXAMPLE", "victim@BÜCHER.example"} {
			b, _ := h.AddPerson(t, fmt.Sprintf("form-%d", i), address)
			if out, err := b.Visit(t, ""); err != nil || out.SignedIn != nil || out.LinkTicket == "" {
				t.Errorf("%s: %+v, %v", address, out, err)
			}
		}
		for i, address := range []string{"vic.tim@xn--bcher-kva.example", "victim+tag@bücher.example", "victim@buecher.example"} {
			b, _ := h.AddPerson(t, fmt.Sprintf("another-%d", i), address)
			if in := b.SignIn(t); in.Account.Email == "" {
				t.Errorf("%s is taken for another", address)
			}
		}
	})
}

func TestLargeNumbersAreTwoPeople(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		ids := map[string]bool{}
		for i, id := range []int64{1 << 53, 1<<53 + 1, 1<<63 - 1} {
			h.GitHub.AddUser(githubtest.User{ID: id, Login: fmt.Sprintf("big-%d", i)})
			in := h.Browser(fmt.Sprintf("big-%d", i)).SignIn(t)
			ids[in.Account.ID] = true
		}
		if len(ids) != 3 {
			t.Errorf("%d accounts", len(ids))
		}
	})
}

func TestAMissingPermissionIsReportedAndNotFatal(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		victim := h.Join(t, "victim@example.com")
		h.GitHub.SetPermission(h.App, "emails", "")
		for _, c := range []struct {
			login, public, email string
			hides                bool // that there are addresses
			inUse                bool
		}{
			{"public", "public@example.com", "public@example.com", false, false},
			{"null", "", "", false, false},
			{"hidden", "1+hidden@users.noreply.github.com", "", true, false},
			{"thief", "Victim@example.com", "", true, true},
		} {
			if c.hides {
				h.GitHub.FailOnce(accounttest.EmailsRoute, githubtest.Missing(404, "emails=read"))
			}
			h.GitHub.AddUser(githubtest.User{Login: c.login, Email: c.public})
			b := h.Browser(c.login)
			out, err := b.Visit(t, account.IntentSignIn)
			if err != nil || out.SignedIn == nil || out.Notice != account.WarnNoEmail {
				t.Fatalf("%s: %+v, %v", c.login, out, err)
			}
			who := b.Who(t)
			if who.Account.Email != c.email || who.Account.EmailVerified || who.Account.ID == victim.Account.ID {
				t.Errorf("%s: %+v", c.login, who.Account)
			}
			if c.email != "" && who.Account.EmailSource != "provider_public_profile" {
				t.Errorf("%s: from %s", c.login, who.Account.EmailSource)
			}
			w := who.Account.Warnings()
			if len(w) == 0 || w[0].Type != account.WarnNoEmail || w[0].Provider != "github" || w[0].Message !=
				"The GitHub app lacks the Email addresses (read) account permission; the public profile address is used and is not verified." {
				t.Errorf("%s: %+v", c.login, w)
			}
			if inUse := len(w) == 2 && w[1].Type == account.WarnEmailInUse; inUse != c.inUse {
				t.Errorf("%s: %+v", c.login, w)
			}
			if all := h.Actions(t, "users/"+who.Account.Username+"/personal"); fmt.Sprint(all) != "[account.created login.github provider_email_permission_missing]" {
				t.Errorf("told: %v", all)
			}
		}
		h.GitHub.SetPermission(h.App, "emails", "read")
		b := h.Browser("public")
		if out, err := b.Visit(t, ""); err != nil || out.Notice != "" || len(b.Who(t).Account.Warnings()) != 0 {
			t.Errorf("the warning stays: %+v, %v", out, err)
		}
	})
}

func TestProvingAgainTakesTheSamePerson(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		b := h.Browser("octocat")
		first := b.SignIn(t)
		h.Clock.Pass(11 * time.Minute)
		accounttest.Is(t, h.Sessions.NeedFresh(*b.Who(t)), account.ReauthRequired)
		b.As = "hubot"
		accounttest.Is(t, accounttest.ErrOf(b.Visit(t, account.IntentReauth)), account.InvalidCredentials)
		if n := h.Count(t, "SELECT count(*) FROM identities"); n != 1 {
			t.Errorf("%d identities", n)
		}
		b.As = "octocat"
		out, err := b.Visit(t, account.IntentReauth)
		if err != nil || out.SignedIn.Session.ID != first.Session.ID || out.SignedIn.Token == first.Token {
			t.Fatalf("%+v, %v", out, err)
		}
		if err := h.Sessions.NeedFresh(*b.Who(t)); err != nil || h.IsSignedIn(t, first.Token) {
			t.Errorf("not proven: %v", err)
		}
		if all := h.Actions(t, "users/octocat/personal"); !slices.Contains(all, "session.confirmed") {
			t.Errorf("told: %v", all)
		}
		// An identity of the account that the session did not come by is another person for it.
		b.As = "hubot"
		if _, err := b.Visit(t, account.IntentLink); err != nil {
			t.Fatal(err)
		}
		accounttest.Is(t, accounttest.ErrOf(b.Visit(t, account.IntentReauth)), account.InvalidCredentials)
	})
}

func TestASessionByPasswordIsProvenByAnIdentityOfItsOwn(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		h.Join(t, "ada@example.com")
		b := h.Browser("hubot")
		b.Login(t, "ada@example.com")
		accounttest.Is(t, accounttest.ErrOf(b.Visit(t, account.IntentReauth)), account.InvalidCredentials)
		if _, err := b.Visit(t, account.IntentLink); err != nil {
			t.Fatal(err)
		}
		if out, err := b.Visit(t, account.IntentReauth); err != nil || out.SignedIn.Session.Method != "github" {
			t.Errorf("%+v, %v", out, err)
		}
	})
}

func TestStatesAreNotStoredWithoutEnd(t *testing.T) {
	t.Parallel()
	h := &hub{accounttest.NewHub(t, sqldbtest.SQLite(t), accounttest.Options{})}
	h.Configure(t)
	ctx, refused := accounttest.Request(t, "192.0.2.1"), 0
	for range 120 {
		if err := accounttest.ErrOf(h.Identities.StartSignIn(ctx, "github", account.SignInRequest{})); fault.Is(err, fault.RateLimited) && fault.From(err).RetryAfter > 0 {
			refused++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if refused != 20 {
		t.Errorf("%d were refused", refused)
	}
	accounttest.Check(t, h.Passwords.Forgot(ctx, "nobody@example.com"))
	for _, c := range []struct {
		pass  time.Duration
		count string
	}{{31 * time.Minute, "SELECT count(*) FROM tokens WHERE account = ''"}, {31 * 24 * time.Hour, "SELECT count(*) FROM tokens"}} {
		h.Clock.Pass(c.pass)
		accounttest.Check(t, accounttest.ErrOf(h.Sweep(t.Context())))
		if n := h.Count(t, c.count); n != 0 {
			t.Errorf("%d tokens are left after %s", n, c.pass)
		}
	}
}

func TestAVerifierIsSealed(t *testing.T) {
	t.Parallel()
	h := &hub{accounttest.NewHub(t, sqldbtest.SQLite(t), accounttest.Options{})}
	h.Configure(t)
	b := h.Browser("octocat")
	q := b.Leave(t, "")
	held := h.Dump(t)
	b.ComeBack(t, q)
	for _, r := range h.GitHub.Journal() {
		form, _ := url.ParseQuery(r.Body)
		v := form.Get("code_verifier")
		if v != "" && (strings.Contains(held, v) || strings.Contains(held, base64.StdEncoding.EncodeToString([]byte(v)))) {
			t.Error("the database holds the verifier")
		}
	}
}

// TestAJourneyIsOfABrowserOrOfASession has one that marks no browser: that of a session comes back in it alone, and nobody's never.
func TestAJourneyIsOfABrowserOrOfASession(t *testing.T) {
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		ada, eve := w.Join(t, "ada@example.com").Who, w.Join(t, "eve@example.com").Who
		for name, c := range map[string]struct {
			left, back *account.Who
			want       string // empty: they are let in
		}{
			"the same": {&ada, &ada, ""}, "another person": {&ada, &eve, account.InvalidState}, "nobody": {&ada, nil, account.InvalidState},
			"nobody's": {nil, nil, account.InvalidState}, "nobody's, by somebody": {nil, &ada, account.InvalidState},
		} {
			state := secret.Random()
			accounttest.Check(t, w.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
				return account.Depart(tx, w.Clock.Now(), account.State{Value: state, Purpose: account.ForMCP, Life: time.Minute, Who: c.left}, &account.Journey{Provider: "mcp"})
			}))
			at := account.Arrival{Provider: "mcp", State: state, Browser: secret.Random(), Who: c.back}
			err := account.ComeBack(t.Context(), w.DB, w.Clock.Now(), account.ForMCP, at, &account.Journey{})
			if c.want == "" && err != nil || c.want != "" && !fault.Is(err, c.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
