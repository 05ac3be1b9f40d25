package account_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/account/githubtest"
	"svc.dev/svc/service/apikey"
	"svc.dev/svc/service/secret"
)

// open sends mail, and makes accounts before their address is proven.
func open() accounttest.Options {
	return accounttest.Options{Mail: true, Edit: func(c *account.Config) { c.Strict = false }}
}

func TestAnIdentityIsItsNumberWhateverItsLoginAndAddress(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		b := h.Browser("octocat")
		first := b.SignIn(t)
		h.GitHub.SetUser(githubtest.Octocat, func(u *githubtest.User) {
			u.Login, u.Emails = "mona", []githubtest.Email{{Email: "new@example.com", Verified: true, Primary: true}}
		})
		b.As = "mona"
		second := b.SignIn(t)
		if second.Account.ID != first.Account.ID || second.Account.Email != "octocat@example.com" || second.Account.Username != "octocat" {
			t.Errorf("another account: %+v", second.Account)
		}
		all, err := h.Identities.List(t.Context(), second.Who)
		if err != nil || len(all) != 1 || all[0].Login != "mona" || all[0].Provider != "github" || "http://"+all[0].Issuer != h.GitHub.URL || all[0].Status != "connected" {
			t.Errorf("identities: %+v, %v", all, err)
		}
		// Somebody else takes the login that was given up.
		heir, _ := h.AddPerson(t, "octocat", "")
		if in := heir.SignIn(t); in.Account.ID == first.Account.ID || in.Account.Username == "octocat" {
			t.Errorf("the login opens the account: %+v", in.Account)
		}
	})
}

func TestAnIdentityOfAnotherGitHubIsAnother(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		b := h.Browser("hubot")
		first := b.SignIn(t)
		h.Execute(t, "UPDATE identities SET issuer = 'github.example.com'")
		h.Execute(t, "UPDATE accounts SET email = NULL WHERE id = $1", first.Account.ID)
		if second := b.SignIn(t); second.Account.ID == first.Account.ID {
			t.Error("the number alone opens the account")
		}
	})
}

func TestAnIdentityWithoutAnAccountOpensNoneAndFallsBackToNothing(t *testing.T) {
	eachHub(t, open(), func(t *testing.T, h *hub) {
		b := h.Browser("octocat")
		b.SignIn(t)
		h.Execute(t, "UPDATE accounts SET email = NULL")
		holder := h.Join(t, "octocat@example.com")
		h.Execute(t, "UPDATE identities SET account = 'acc_nobody'")
		b.Token = ""
		out, err := b.Visit(t, "")
		accounttest.Is(t, err, account.InvalidCredentials)
		if out != (account.Outcome{}) || !h.IsSignedIn(t, holder.Token) {
			t.Errorf("%+v", out)
		}
		b.Login(t, "octocat@example.com")
		accounttest.Is(t, accounttest.ErrOf(b.Visit(t, account.IntentLink)), account.IdentityAlreadyLinked)
	})
}

func TestWhoIsSuspendedOrDeletedStaysOutByGitHubToo(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		b := h.Browser("octocat")
		in := b.SignIn(t)
		if err := h.Staff.Suspend(t.Context(), in.Account.ID, "test", h.Admin.Account.Actor()); err != nil {
			t.Fatal(err)
		}
		accounttest.Is(t, accounttest.ErrOf(b.Visit(t, "")), account.Suspended)
		if err := h.Staff.Restore(t.Context(), in.Account.ID, h.Admin.Account.Actor()); err != nil {
			t.Fatal(err)
		}
		in = b.SignIn(t)
		if _, err := h.Delete(t.Context(), in.Who, in.Account.Username); err != nil {
			t.Fatal(err)
		}
		accounttest.Is(t, accounttest.ErrOf(b.Visit(t, "")), account.InvalidCredentials)
		h.Clock.Pass(15 * 24 * time.Hour)
		if n, err := h.Erase(t.Context()); n != 1 || err != nil {
			t.Fatalf("erased %d, %v", n, err)
		}
		if again := b.SignIn(t); again.Account.ID == in.Account.ID || again.Account.Username == in.Account.Username || again.Account.Email != "octocat@example.com" {
			t.Errorf("%+v", again.Account)
		}
	})
}

func TestTheAddressOfADeletedAccountIsNotGivenAway(t *testing.T) {
	eachHub(t, accounttest.Options{Mail: true}, func(t *testing.T, h *hub) {
		ada := joinByMail(t, h.World, "ada@example.com")
		if _, err := h.Delete(t.Context(), ada.Who, ada.Account.Username); err != nil {
			t.Fatal(err)
		}
		b, _ := h.AddPerson(t, "ada-at-github", "ada@example.com")
		in := b.SignIn(t)
		if in.Account.Email != "" || in.Account.ID == ada.Account.ID || in.Account.Warnings()[0].Type != account.WarnEmailInUse {
			t.Errorf("%+v", in.Account)
		}
	})
}

func TestAVerifiedAddressIsLinkedOnlyByWhoCanSignInToItsAccount(t *testing.T) {
	eachHub(t, accounttest.Options{Mail: true}, func(t *testing.T, h *hub) {
		ada := joinByMail(t, h.World, "ada@example.com")
		eve := joinByMail(t, h.World, "eve@example.com")
		b, _ := h.AddPerson(t, "ada-at-github", "Ada@example.com")
		out, err := b.Visit(t, account.IntentSignIn)
		if err != nil || out.SignedIn != nil || out.LinkTicket == "" || out.OfferNew || out.ReturnTo != "/here" {
			t.Fatalf("%+v, %v", out, err)
		}
		shown, err := h.Identities.Ticket(t.Context(), out.LinkTicket, b.Value)
		if err != nil || shown != (account.Ticket{Email: "ada@example.com", Login: "ada-at-github"}) {
			t.Errorf("ticket %+v, %v", shown, err)
		}
		stale := ada.Who
		stale.Session.AuthTime = h.Clock.Now().Add(-11 * time.Minute)
		for name, c := range map[string]struct {
			who     account.Who
			ticket  string
			browser string
			typ     string
		}{
			"another account": {eve.Who, out.LinkTicket, b.Value, account.InvalidToken},
			"another browser": {ada.Who, out.LinkTicket, strings.Repeat("B", 43), account.InvalidToken},
			"no browser":      {ada.Who, out.LinkTicket, "", account.InvalidToken},
			"no ticket":       {ada.Who, "", b.Value, account.InvalidToken},
			"another ticket":  {ada.Who, strings.Repeat("A", 43), b.Value, account.InvalidToken},
			"its hash":        {ada.Who, secret.Fingerprint(out.LinkTicket), b.Value, account.InvalidToken},
			"not proven anew": {stale, out.LinkTicket, b.Value, account.ReauthRequired},
		} {
			if _, err := h.Identities.Link(accounttest.From(t), c.who, c.ticket, c.browser); !fault.Is(err, c.typ) {
				t.Errorf("%s: %v", name, err)
			}
		}
		accounttest.Is(t, accounttest.ErrOf(h.Identities.GoOnNew(accounttest.From(t), out.LinkTicket, b.Value)), account.InvalidToken)
		accounttest.Is(t, accounttest.ErrOf(h.Identities.Ticket(t.Context(), out.LinkTicket, "")), account.InvalidToken)
		in, err := h.Identities.Link(accounttest.From(t), ada.Who, out.LinkTicket, b.Value)
		if err != nil || in.Session.ID != ada.Session.ID || in.Token == ada.Token || fmt.Sprint(in.Account.Methods) != "[password github]" {
			t.Fatalf("link: %+v, %v", in, err)
		}
		if h.IsSignedIn(t, ada.Token) || !h.IsSignedIn(t, in.Token) {
			t.Error("the session has the value of before")
		}
		accounttest.Is(t, accounttest.ErrOf(h.Identities.Link(accounttest.From(t), in.Who, out.LinkTicket, b.Value)), account.InvalidToken)
		if m := h.Inbox.Next(t, "ada@example.com"); !strings.Contains(m.Text, "ada-at-github") {
			t.Errorf("mail: %s", m.Text)
		}
		if all := h.Actions(t, "users/"+ada.Account.Username+"/personal"); !slices.Contains(all, "identity.linked") {
			t.Errorf("told: %v", all)
		}
		if again := b.SignIn(t); again.Account.ID != ada.Account.ID {
			t.Errorf("signed in to %+v", again.Account)
		}
	})
}

func TestATicketEndsByTimeByLogoutAndByAReset(t *testing.T) {
	eachHub(t, accounttest.Options{Mail: true}, func(t *testing.T, h *hub) {
		joinByMail(t, h.World, "ada@example.com")
		b, _ := h.AddPerson(t, "ada-at-github", "ada@example.com")
		ticket := func() string {
			out, err := b.Visit(t, "")
			if err != nil || out.LinkTicket == "" {
				t.Fatalf("%+v, %v", out, err)
			}
			return out.LinkTicket
		}
		value := ticket()
		h.Clock.Pass(10 * time.Minute)
		b.Login(t, "ada@example.com")
		accounttest.Is(t, accounttest.ErrOf(h.Identities.Link(accounttest.From(t), *b.Who(t), value, b.Value)), account.InvalidToken)

		value = ticket()
		who := *b.Who(t)
		if err := h.Sessions.Logout(t.Context(), b.Token); err != nil {
			t.Fatal(err)
		}
		accounttest.Is(t, accounttest.ErrOf(h.Identities.Link(accounttest.From(t), who, value, b.Value)), account.Unauthenticated)

		value = ticket()
		if err := h.Passwords.Forgot(accounttest.From(t), "ada@example.com"); err != nil {
			t.Fatal(err)
		}
		if err := accounttest.ErrOf(h.Passwords.Reset(accounttest.From(t), mailed(t, h.World, "ada@example.com"), password+"!")); err != nil {
			t.Fatal(err)
		}
		in, err := h.Passwords.Login(accounttest.From(t), "ada@example.com", password+"!", "")
		if err != nil {
			t.Fatal(err)
		}
		accounttest.Is(t, accounttest.ErrOf(h.Identities.Link(accounttest.From(t), in.Who, value, b.Value)), account.InvalidToken)
		if n := h.Count(t, "SELECT count(*) FROM identities"); n != 0 {
			t.Errorf("%d identities", n)
		}
	})
}

func TestOfManyWhoLinkOneTicketOneDoesAndTwoTabsLinkOnce(t *testing.T) {
	t.Parallel()
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		h := &hub{accounttest.NewHub(t, address, accounttest.Options{Mail: true})}
		h.Configure(t)
		nodes := []*accounttest.World{h.World, h.Beside(t, address)}
		ada := joinByMail(t, h.World, "ada@example.com")
		b, _ := h.AddPerson(t, "ada-at-github", "ada@example.com")
		var tickets []string
		for range 2 {
			out, err := b.Visit(t, "")
			if err != nil {
				t.Fatal(err)
			}
			tickets = append(tickets, out.LinkTicket)
		}
		done := make(chan string, 16)
		for i := range cap(done) {
			ctx, ticket := accounttest.From(t), tickets[i/2%2]
			go func() {
				if _, err := nodes[i%2].Identities.Link(ctx, ada.Who, ticket, b.Value); err != nil {
					accounttest.Is(t, err, account.InvalidToken)
					ticket = ""
				}
				done <- ticket
			}()
		}
		won := map[string]int{}
		for range cap(done) {
			won[<-done]++
		}
		if won[tickets[0]] != 1 || won[tickets[1]] != 1 || h.Count(t, "SELECT count(*) FROM identities") != 1 {
			t.Errorf("%v", won)
		}
	})
}

func TestAnAddressThatItsHolderNeverProvedGoesToWhoDid(t *testing.T) {
	eachHub(t, open(), func(t *testing.T, h *hub) {
		squatter := h.Join(t, "victim@example.com")
		_, key := h.MakeKey(t, squatter.Who)
		b, _ := h.AddPerson(t, "victim", "victim@example.com")
		in := b.SignIn(t)
		if in.Account.ID == squatter.Account.ID || in.Account.Email != "victim@example.com" || !in.Account.EmailVerified || len(in.Account.Warnings()) != 0 {
			t.Fatalf("%+v", in.Account)
		}
		left, err := h.Account(t.Context(), squatter.Account.ID)
		if err != nil || left.Email != "" || left.EmailVerified || left.Username != squatter.Account.Username {
			t.Errorf("what is left: %+v, %v", left, err)
		}
		if h.IsSignedIn(t, squatter.Token) {
			t.Error("the squatter is signed in")
		}
		accounttest.Is(t, accounttest.ErrOf(h.Bearer(t.Context(), key)), apikey.Invalid)
		accounttest.Is(t, accounttest.ErrOf(h.Passwords.Login(accounttest.From(t), "victim@example.com", password, squatter.Device)), account.InvalidCredentials)
		if all, err := h.Workspaces(t.Context(), squatter.Account.ID); err != nil || len(all) != 1 {
			t.Errorf("the squatter's data is gone: %v, %v", all, err)
		}
		if all := h.Actions(t, "users/"+left.Username+"/personal"); !slices.Contains(all, "email.released") {
			t.Errorf("told: %v", all)
		}
	})
}

func TestWithoutMailNobodyLosesAnAddressAndTheNewcomerIsAsked(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		holder := h.Join(t, "ada@example.com")
		b, _ := h.AddPerson(t, "ada-at-github", "ada@example.com")
		out, err := b.Visit(t, "")
		if err != nil || out.SignedIn != nil || !out.OfferNew || out.LinkTicket == "" {
			t.Fatalf("%+v, %v", out, err)
		}
		for _, browser := range []string{"", strings.Repeat("B", 43)} {
			accounttest.Is(t, accounttest.ErrOf(h.Identities.GoOnNew(accounttest.From(t), out.LinkTicket, browser)), account.InvalidToken)
		}
		in, err := h.Identities.GoOnNew(accounttest.From(t), out.LinkTicket, b.Value)
		if err != nil || in.Account.ID == holder.Account.ID || in.Account.Email != "" || len(in.Account.Warnings()) != 1 || in.Account.Warnings()[0].Type != account.WarnEmailInUse {
			t.Fatalf("%+v, %v", in.Account, err)
		}
		accounttest.Is(t, accounttest.ErrOf(h.Identities.GoOnNew(accounttest.From(t), out.LinkTicket, b.Value)), account.InvalidToken)
		if !h.IsSignedIn(t, holder.Token) {
			t.Error("the holder was put out")
		}
		if _, err := h.Passwords.Login(accounttest.From(t), "ada@example.com", password, ""); err != nil {
			t.Errorf("the holder lost the password: %v", err)
		}
		// Another newcomer is the holder, and links.
		c, _ := h.AddPerson(t, "ada-two", "ada@example.com")
		if out, err = c.Visit(t, ""); err != nil || !out.OfferNew {
			t.Fatalf("%+v, %v", out, err)
		}
		c.Login(t, "ada@example.com")
		if linked, err := h.Identities.Link(accounttest.From(t), *c.Who(t), out.LinkTicket, c.Value); err != nil || linked.Account.ID != holder.Account.ID || linked.Account.EmailVerified {
			t.Errorf("%+v, %v", linked, err)
		}
	})
}

func TestAProviderIsAddedOnlyByWhoIsIn(t *testing.T) {
	eachHub(t, open(), func(t *testing.T, h *hub) {
		for _, intent := range []string{account.IntentLink, account.IntentConnect} {
			email := intent + "@example.com"
			ada := h.Join(t, email)
			b, _ := h.AddPerson(t, intent+"-at-github", "")
			b.Login(t, email)
			old := b.Token
			out, err := b.Visit(t, intent)
			if err != nil || out.SignedIn == nil || out.SignedIn.Account.ID != ada.Account.ID || out.ReturnTo != "/here" {
				t.Fatalf("%+v, %v", out, err)
			}
			if h.IsSignedIn(t, old) || !h.IsSignedIn(t, b.Token) {
				t.Error("the session has the value of before")
			}
			if m := h.Inbox.Next(t, email); !strings.Contains(m.Text, intent+"-at-github") {
				t.Errorf("mail: %s", m.Text)
			}
			// The same again changes nothing.
			if _, err := b.Visit(t, intent); err != nil {
				t.Error(err)
			}
			h.Join(t, "eve-"+email)
			eve := h.Browser(b.As)
			eve.Login(t, "eve-"+email)
			accounttest.Is(t, accounttest.ErrOf(eve.Visit(t, intent)), account.IdentityAlreadyLinked)
			if all, err := h.Identities.List(t.Context(), ada.Who); err != nil || len(all) != 1 {
				t.Errorf("identities: %+v, %v", all, err)
			}
			if all := h.Actions(t, "users/"+ada.Account.Username+"/personal"); !slices.Contains(all, "identity.linked") {
				t.Errorf("told: %v", all)
			}
		}
	})
}

func TestLinkingDoesNotProveAgainWhoSomebodyIs(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		h.Join(t, "ada@example.com")
		b := h.Browser("hubot")
		b.Login(t, "ada@example.com")
		h.Clock.Pass(9 * time.Minute)
		if _, err := b.Visit(t, account.IntentLink); err != nil {
			t.Fatal(err)
		}
		h.Clock.Pass(2 * time.Minute)
		accounttest.Is(t, h.Sessions.NeedFresh(*b.Who(t)), account.ReauthRequired)
	})
}

func TestAPasswordIsAddedOnlyWithAProvenAddress(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		b := h.Browser("octocat")
		in := b.SignIn(t)
		set, err := h.Passwords.Set(t.Context(), in.Who, password)
		if err != nil || fmt.Sprint(h.must(t, set.Token).Account.Methods) != "[password github]" {
			t.Fatalf("set password: %v", err)
		}
		if _, err := h.Passwords.Login(accounttest.From(t), "octocat@example.com", password, ""); err != nil {
			t.Error(err)
		}
		h.GitHub.SetPermission(h.App, "emails", "")
		h.GitHub.AddUser(githubtest.User{Login: "unproven", Email: "unproven@example.com"})
		c := h.Browser("unproven").SignIn(t)
		accounttest.Is(t, accounttest.ErrOf(h.Passwords.Set(t.Context(), c.Who, password)), account.EmailVerificationRequired)
	})
}

// must is who a session's value opens.
func (h *hub) must(t *testing.T, token string) account.Who {
	t.Helper()
	who, found, err := h.Sessions.Who(t.Context(), token)
	if err != nil || !found {
		t.Fatalf("not signed in: %v", err)
	}
	return who
}

func TestTheLastWayInStays(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		b := h.Browser("octocat")
		in := b.SignIn(t)
		all, err := h.Identities.List(t.Context(), in.Who)
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		accounttest.Is(t, h.Identities.Unlink(t.Context(), in.Who, all[0].ID), account.LastCredential)
		accounttest.Is(t, h.Identities.Unlink(t.Context(), h.Admin, all[0].ID), fault.ItemNotFound)
		accounttest.Is(t, h.Identities.Unlink(t.Context(), in.Who, "idn_unknown"), fault.ItemNotFound)
		stale := in.Who
		stale.Session.AuthTime = h.Clock.Now().Add(-11 * time.Minute)
		accounttest.Is(t, h.Identities.Unlink(t.Context(), stale, all[0].ID), account.ReauthRequired)
		// A password counts only with a proven address.
		set, err := h.Passwords.Set(t.Context(), in.Who, password)
		if err != nil {
			t.Fatal(err)
		}
		h.Execute(t, "UPDATE accounts SET email_verified = 0 WHERE id = $1", in.Account.ID)
		accounttest.Is(t, h.Identities.Unlink(t.Context(), set.Who, all[0].ID), account.LastCredential)
		h.Execute(t, "UPDATE accounts SET email_verified = 1 WHERE id = $1", in.Account.ID)
		elsewhere := h.Browser("octocat").SignIn(t)
		h.GitHub.Forget()
		if err := h.Identities.Unlink(t.Context(), set.Who, all[0].ID); err != nil {
			t.Fatal(err)
		}
		if h.IsSignedIn(t, elsewhere.Token) || !h.IsSignedIn(t, set.Token) {
			t.Error("sessions that came by the identity go on, or the one that asked does not")
		}
		if n := h.Count(t, "SELECT count(*) FROM secrets WHERE scope = $1", in.Account.ID); n != 0 {
			t.Errorf("%d secrets are left", n)
		}
		if n := h.GitHub.Calls("DELETE /applications/{client_id}/token"); n != 1 {
			t.Errorf("the token was given back %d times", n)
		}
		if told := h.Actions(t, "users/octocat/personal"); !slices.Contains(told, "identity.unlinked") {
			t.Errorf("told: %v", told)
		}
		// The identity is free again, and its address still leads to a ticket.
		b.Token = ""
		if out, err := b.Visit(t, ""); err != nil || out.LinkTicket == "" {
			t.Errorf("%+v, %v", out, err)
		}
	})
}

func TestOneOfTwoIdentitiesCanGo(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		b := h.Browser("octocat")
		in := b.SignIn(t)
		b.As = "hubot"
		if _, err := b.Visit(t, account.IntentLink); err != nil {
			t.Fatal(err)
		}
		all, err := h.Identities.List(t.Context(), in.Who)
		if err != nil || len(all) != 2 {
			t.Fatal(all, err)
		}
		errs := make(chan error, 2)
		for _, i := range all {
			go func() { errs <- h.Identities.Unlink(t.Context(), *b.Who(t), i.ID) }()
		}
		one, two := <-errs, <-errs
		if (one == nil) == (two == nil) {
			t.Errorf("both went, or none: %v, %v", one, two)
		}
		if left, _ := h.Identities.List(t.Context(), in.Who); len(left) != 1 {
			t.Errorf("left: %+v", left)
		}
	})
}

func TestUnlinkingDoesNotWaitForGitHubToAgree(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		b := h.Browser("octocat")
		in := b.SignIn(t)
		if _, err := h.Passwords.Set(t.Context(), in.Who, password); err != nil {
			t.Fatal(err)
		}
		h.GitHub.Fail("DELETE /applications/{client_id}/token", githubtest.Status(500))
		all, _ := h.Identities.List(t.Context(), in.Who)
		if err := h.Identities.Unlink(t.Context(), in.Who, all[0].ID); err != nil {
			t.Error(err)
		}
	})
}

func TestAPasswordDoesNotGetIntoAnAccountOfAProvider(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		in := h.Browser("octocat").SignIn(t)
		_, err := h.Registrations.Register(accounttest.From(t), account.Registration{Email: "octocat@example.com", Password: password})
		accounttest.Is(t, err, account.InvalidCredentials)
		accounttest.Is(t, accounttest.ErrOf(h.Passwords.Login(accounttest.From(t), "octocat@example.com", password, "")), account.InvalidCredentials)
		if p, _ := h.Account(t.Context(), in.Account.ID); fmt.Sprint(p.Methods) != "[github]" {
			t.Errorf("methods: %v", p.Methods)
		}
	})
}

func TestManyFirstSignInsOfOnePersonMakeOneAccount(t *testing.T) {
	t.Parallel()
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		h := &hub{accounttest.NewHub(t, address, accounttest.Options{})}
		h.Configure(t)
		nodes := []*accounttest.World{h.World, h.Beside(t, address)}
		for login, email := range map[string]string{"known": "known@example.com", "nameless": ""} {
			b, _ := h.AddPerson(t, login, email)
			backs := make([]account.Callback, 12)
			for i := range backs {
				backs[i] = b.Callback(t, b.Leave(t, ""))
			}
			ids := make(chan string, len(backs))
			for i, back := range backs {
				ctx := accounttest.From(t)
				go func() {
					out, err := nodes[i%2].Identities.FinishSignIn(ctx, "github", back)
					if err != nil || out.SignedIn == nil {
						t.Errorf("%+v, %v", out, err)
						ids <- ""
						return
					}
					ids <- out.SignedIn.Account.ID
				}()
			}
			seen := map[string]bool{}
			for range backs {
				seen[<-ids] = true
			}
			if len(seen) != 1 {
				t.Errorf("accounts: %v", seen)
			}
		}
		if n := h.Count(t, "SELECT count(*) FROM accounts"); n != 3 {
			t.Errorf("%d accounts", n)
		}
	})
}

func TestTwoIdentitiesWithOneAddressAreTwoPeople(t *testing.T) {
	eachHub(t, accounttest.Options{Mail: true}, func(t *testing.T, h *hub) {
		first, _ := h.AddPerson(t, "first", "shared@example.com")
		second, _ := h.AddPerson(t, "second", "shared@example.com")
		in := first.SignIn(t)
		out, err := second.Visit(t, "")
		if err != nil || out.SignedIn != nil || out.LinkTicket == "" || out.OfferNew {
			t.Fatalf("%+v, %v", out, err)
		}
		// The holder can be signed in to by what it has: the first identity.
		second.As = "first"
		second.SignIn(t)
		if linked, err := h.Identities.Link(accounttest.From(t), *second.Who(t), out.LinkTicket, second.Value); err != nil || linked.Account.ID != in.Account.ID {
			t.Errorf("%+v, %v", linked, err)
		}
	})
}
