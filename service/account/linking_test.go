package account_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/account/githubtest"
)

// open sends mail, and makes accounts before their address is proven.
func open() accounttest.Options {
	return accounttest.Options{Mail: true, Edit: func(c *account.Config) { c.Strict = false }}
}

func TestAnIdentityIsItsNumberWhateverItsLoginAndAddress(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		b := &browser{h: h, as: "octocat"}
		first := b.signIn(t)
		h.GitHub.SetUser(githubtest.Octocat, func(u *githubtest.User) {
			u.Login, u.Emails = "mona", []githubtest.Email{{Email: "new@example.com", Verified: true, Primary: true}}
		})
		b.as = "mona"
		second := b.signIn(t)
		if second.Account.ID != first.Account.ID || second.Account.Email != "octocat@example.com" || second.Account.Username != "octocat" {
			t.Errorf("another account: %+v", second.Account)
		}
		all, err := h.Identities(t.Context(), second.Who)
		if err != nil || len(all) != 1 || all[0].Login != "mona" || all[0].Provider != "github" || "http://"+all[0].Issuer != h.GitHub.URL || all[0].Status != "connected" {
			t.Errorf("identities: %+v, %v", all, err)
		}
		// Somebody else takes the login that was given up.
		heir, _ := h.person(t, "octocat", "")
		if in := heir.signIn(t); in.Account.ID == first.Account.ID || in.Account.Username == "octocat" {
			t.Errorf("the login opens the account: %+v", in.Account)
		}
	})
}

func TestAnIdentityOfAnotherGitHubIsAnother(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		b := &browser{h: h, as: "hubot"}
		first := b.signIn(t)
		execute(t, h.World, "UPDATE identities SET issuer = 'github.example.com'")
		execute(t, h.World, "UPDATE accounts SET email = NULL WHERE id = $1", first.Account.ID)
		if second := b.signIn(t); second.Account.ID == first.Account.ID {
			t.Error("the number alone opens the account")
		}
	})
}

func TestAnIdentityWithoutAnAccountOpensNoneAndFallsBackToNothing(t *testing.T) {
	eachHub(t, open(), func(t *testing.T, h *hub) {
		b := &browser{h: h, as: "octocat"}
		b.signIn(t)
		execute(t, h.World, "UPDATE accounts SET email = NULL")
		holder := join(t, h.World, "octocat@example.com")
		execute(t, h.World, "UPDATE identities SET account = 'acc_nobody'")
		b.token = ""
		out, err := b.visit(t, "")
		is(t, err, account.InvalidCredentials)
		if out != (account.Outcome{}) || !signedIn(t, h.World, holder.Token) {
			t.Errorf("%+v", out)
		}
		b.login(t, "octocat@example.com")
		is(t, errOf(b.visit(t, account.IntentLink)), account.IdentityAlreadyLinked)
	})
}

func TestWhoIsSuspendedOrDeletedStaysOutByGitHubToo(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		b := &browser{h: h, as: "octocat"}
		in := b.signIn(t)
		if err := h.Suspend(t.Context(), in.Account.ID, "test", h.Admin.Account.Actor()); err != nil {
			t.Fatal(err)
		}
		is(t, errOf(b.visit(t, "")), account.Suspended)
		if err := h.Restore(t.Context(), in.Account.ID, h.Admin.Account.Actor()); err != nil {
			t.Fatal(err)
		}
		in = b.signIn(t)
		if _, err := h.Delete(t.Context(), in.Who, in.Account.Username); err != nil {
			t.Fatal(err)
		}
		is(t, errOf(b.visit(t, "")), account.InvalidCredentials)
		h.Clock.Pass(15 * 24 * time.Hour)
		if n, err := h.Erase(t.Context()); n != 1 || err != nil {
			t.Fatalf("erased %d, %v", n, err)
		}
		if again := b.signIn(t); again.Account.ID == in.Account.ID || again.Account.Username == in.Account.Username || again.Account.Email != "octocat@example.com" {
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
		b, _ := h.person(t, "ada-at-github", "ada@example.com")
		in := b.signIn(t)
		if in.Account.Email != "" || in.Account.ID == ada.Account.ID || in.Account.Warnings()[0].Type != account.WarnEmailInUse {
			t.Errorf("%+v", in.Account)
		}
	})
}

func TestAVerifiedAddressIsLinkedOnlyByWhoCanSignInToItsAccount(t *testing.T) {
	eachHub(t, accounttest.Options{Mail: true}, func(t *testing.T, h *hub) {
		ada := joinByMail(t, h.World, "ada@example.com")
		eve := joinByMail(t, h.World, "eve@example.com")
		b, _ := h.person(t, "ada-at-github", "Ada@example.com")
		out, err := b.visit(t, account.IntentSignIn)
		if err != nil || out.SignedIn != nil || out.LinkTicket == "" || out.OfferNew || out.ReturnTo != "/here" {
			t.Fatalf("%+v, %v", out, err)
		}
		shown, err := h.Ticket(t.Context(), out.LinkTicket, b.value)
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
			"another account": {eve.Who, out.LinkTicket, b.value, account.InvalidToken},
			"another browser": {ada.Who, out.LinkTicket, strings.Repeat("B", 43), account.InvalidToken},
			"no browser":      {ada.Who, out.LinkTicket, "", account.InvalidToken},
			"no ticket":       {ada.Who, "", b.value, account.InvalidToken},
			"another ticket":  {ada.Who, strings.Repeat("A", 43), b.value, account.InvalidToken},
			"its hash":        {ada.Who, account.Fingerprint(out.LinkTicket), b.value, account.InvalidToken},
			"not proven anew": {stale, out.LinkTicket, b.value, account.ReauthRequired},
		} {
			if _, err := h.Link(accounttest.From(t), c.who, c.ticket, c.browser); !fault.Is(err, c.typ) {
				t.Errorf("%s: %v", name, err)
			}
		}
		is(t, errOf(h.GoOnNew(accounttest.From(t), out.LinkTicket, b.value)), account.InvalidToken)
		is(t, errOf(h.Ticket(t.Context(), out.LinkTicket, "")), account.InvalidToken)
		in, err := h.Link(accounttest.From(t), ada.Who, out.LinkTicket, b.value)
		if err != nil || in.Session.ID != ada.Session.ID || in.Token == ada.Token || fmt.Sprint(in.Account.Methods) != "[password github]" {
			t.Fatalf("link: %+v, %v", in, err)
		}
		if signedIn(t, h.World, ada.Token) || !signedIn(t, h.World, in.Token) {
			t.Error("the session has the value of before")
		}
		is(t, errOf(h.Link(accounttest.From(t), in.Who, out.LinkTicket, b.value)), account.InvalidToken)
		if m := h.Inbox.Next(t, "ada@example.com"); !strings.Contains(m.Text, "ada-at-github") {
			t.Errorf("mail: %s", m.Text)
		}
		if all := h.actions(t, "users/"+ada.Account.Username+"/personal"); !has(all, "identity.linked") {
			t.Errorf("told: %v", all)
		}
		if again := b.signIn(t); again.Account.ID != ada.Account.ID {
			t.Errorf("signed in to %+v", again.Account)
		}
	})
}

func TestATicketEndsByTimeByLogoutAndByAReset(t *testing.T) {
	eachHub(t, accounttest.Options{Mail: true}, func(t *testing.T, h *hub) {
		joinByMail(t, h.World, "ada@example.com")
		b, _ := h.person(t, "ada-at-github", "ada@example.com")
		ticket := func() string {
			out, err := b.visit(t, "")
			if err != nil || out.LinkTicket == "" {
				t.Fatalf("%+v, %v", out, err)
			}
			return out.LinkTicket
		}
		value := ticket()
		h.Clock.Pass(10 * time.Minute)
		b.login(t, "ada@example.com")
		is(t, errOf(h.Link(accounttest.From(t), *b.who(t), value, b.value)), account.InvalidToken)

		value = ticket()
		who := *b.who(t)
		if err := h.Logout(t.Context(), b.token); err != nil {
			t.Fatal(err)
		}
		is(t, errOf(h.Link(accounttest.From(t), who, value, b.value)), account.Unauthenticated)

		value = ticket()
		if err := h.Forgot(accounttest.From(t), "ada@example.com"); err != nil {
			t.Fatal(err)
		}
		if err := errOf(h.Reset(accounttest.From(t), mailed(t, h.World, "ada@example.com"), password+"!")); err != nil {
			t.Fatal(err)
		}
		in, err := h.Login(accounttest.From(t), "ada@example.com", password+"!", "")
		if err != nil {
			t.Fatal(err)
		}
		is(t, errOf(h.Link(accounttest.From(t), in.Who, value, b.value)), account.InvalidToken)
		if n := h.query(t, "SELECT count(*) FROM identities"); n != 0 {
			t.Errorf("%d identities", n)
		}
	})
}

func TestOfManyWhoLinkOneTicketOneDoesAndTwoTabsLinkOnce(t *testing.T) {
	t.Parallel()
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		h := newHub(t, address, accounttest.Options{Mail: true})
		h.configure(t)
		nodes := []*accounttest.World{h.World, h.beside(t, address)}
		ada := joinByMail(t, h.World, "ada@example.com")
		b, _ := h.person(t, "ada-at-github", "ada@example.com")
		var tickets []string
		for range 2 {
			out, err := b.visit(t, "")
			if err != nil {
				t.Fatal(err)
			}
			tickets = append(tickets, out.LinkTicket)
		}
		done := make(chan string, 16)
		for i := range cap(done) {
			ctx, ticket := accounttest.From(t), tickets[i/2%2]
			go func() {
				if _, err := nodes[i%2].Link(ctx, ada.Who, ticket, b.value); err != nil {
					is(t, err, account.InvalidToken)
					ticket = ""
				}
				done <- ticket
			}()
		}
		won := map[string]int{}
		for range cap(done) {
			won[<-done]++
		}
		if won[tickets[0]] != 1 || won[tickets[1]] != 1 || h.query(t, "SELECT count(*) FROM identities") != 1 {
			t.Errorf("%v", won)
		}
	})
}

func TestAnAddressThatItsHolderNeverProvedGoesToWhoDid(t *testing.T) {
	eachHub(t, open(), func(t *testing.T, h *hub) {
		squatter := join(t, h.World, "victim@example.com")
		_, key := makeKey(t, h.World, squatter.Who)
		b, _ := h.person(t, "victim", "victim@example.com")
		in := b.signIn(t)
		if in.Account.ID == squatter.Account.ID || in.Account.Email != "victim@example.com" || !in.Account.EmailVerified || len(in.Account.Warnings()) != 0 {
			t.Fatalf("%+v", in.Account)
		}
		left, err := h.Account(t.Context(), squatter.Account.ID)
		if err != nil || left.Email != "" || left.EmailVerified || left.Username != squatter.Account.Username {
			t.Errorf("what is left: %+v, %v", left, err)
		}
		if signedIn(t, h.World, squatter.Token) {
			t.Error("the squatter is signed in")
		}
		is(t, errOf(h.Bearer(t.Context(), key)), account.InvalidAPIKey)
		is(t, errOf(h.Login(accounttest.From(t), "victim@example.com", password, squatter.Device)), account.InvalidCredentials)
		if all, err := h.Workspaces(t.Context(), squatter.Account.ID); err != nil || len(all) != 1 {
			t.Errorf("the squatter's data is gone: %v, %v", all, err)
		}
		if all := h.actions(t, "users/"+left.Username+"/personal"); !has(all, "email.released") {
			t.Errorf("told: %v", all)
		}
	})
}

func TestWithoutMailNobodyLosesAnAddressAndTheNewcomerIsAsked(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		holder := join(t, h.World, "ada@example.com")
		b, _ := h.person(t, "ada-at-github", "ada@example.com")
		out, err := b.visit(t, "")
		if err != nil || out.SignedIn != nil || !out.OfferNew || out.LinkTicket == "" {
			t.Fatalf("%+v, %v", out, err)
		}
		for _, browser := range []string{"", strings.Repeat("B", 43)} {
			is(t, errOf(h.GoOnNew(accounttest.From(t), out.LinkTicket, browser)), account.InvalidToken)
		}
		in, err := h.GoOnNew(accounttest.From(t), out.LinkTicket, b.value)
		if err != nil || in.Account.ID == holder.Account.ID || in.Account.Email != "" || len(in.Account.Warnings()) != 1 || in.Account.Warnings()[0].Type != account.WarnEmailInUse {
			t.Fatalf("%+v, %v", in.Account, err)
		}
		is(t, errOf(h.GoOnNew(accounttest.From(t), out.LinkTicket, b.value)), account.InvalidToken)
		if !signedIn(t, h.World, holder.Token) {
			t.Error("the holder was put out")
		}
		if _, err := h.Login(accounttest.From(t), "ada@example.com", password, ""); err != nil {
			t.Errorf("the holder lost the password: %v", err)
		}
		// Another newcomer is the holder, and links.
		c, _ := h.person(t, "ada-two", "ada@example.com")
		if out, err = c.visit(t, ""); err != nil || !out.OfferNew {
			t.Fatalf("%+v, %v", out, err)
		}
		c.login(t, "ada@example.com")
		if linked, err := h.Link(accounttest.From(t), *c.who(t), out.LinkTicket, c.value); err != nil || linked.Account.ID != holder.Account.ID || linked.Account.EmailVerified {
			t.Errorf("%+v, %v", linked, err)
		}
	})
}

func TestAProviderIsAddedOnlyByWhoIsIn(t *testing.T) {
	eachHub(t, open(), func(t *testing.T, h *hub) {
		for _, intent := range []string{account.IntentLink, account.IntentConnect} {
			email := intent + "@example.com"
			ada := join(t, h.World, email)
			b, _ := h.person(t, intent+"-at-github", "")
			b.login(t, email)
			old := b.token
			out, err := b.visit(t, intent)
			if err != nil || out.SignedIn == nil || out.SignedIn.Account.ID != ada.Account.ID || out.ReturnTo != "/here" {
				t.Fatalf("%+v, %v", out, err)
			}
			if signedIn(t, h.World, old) || !signedIn(t, h.World, b.token) {
				t.Error("the session has the value of before")
			}
			if m := h.Inbox.Next(t, email); !strings.Contains(m.Text, intent+"-at-github") {
				t.Errorf("mail: %s", m.Text)
			}
			// The same again changes nothing.
			if _, err := b.visit(t, intent); err != nil {
				t.Error(err)
			}
			join(t, h.World, "eve-"+email)
			eve := &browser{h: h, as: b.as}
			eve.login(t, "eve-"+email)
			is(t, errOf(eve.visit(t, intent)), account.IdentityAlreadyLinked)
			if all, err := h.Identities(t.Context(), ada.Who); err != nil || len(all) != 1 {
				t.Errorf("identities: %+v, %v", all, err)
			}
			if all := h.actions(t, "users/"+ada.Account.Username+"/personal"); !has(all, "identity.linked") {
				t.Errorf("told: %v", all)
			}
		}
	})
}

func TestLinkingDoesNotProveAgainWhoSomebodyIs(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		join(t, h.World, "ada@example.com")
		b := &browser{h: h, as: "hubot"}
		b.login(t, "ada@example.com")
		h.Clock.Pass(9 * time.Minute)
		if _, err := b.visit(t, account.IntentLink); err != nil {
			t.Fatal(err)
		}
		h.Clock.Pass(2 * time.Minute)
		is(t, h.NeedFresh(*b.who(t)), account.ReauthRequired)
	})
}

func TestAPasswordIsAddedOnlyWithAProvenAddress(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		b := &browser{h: h, as: "octocat"}
		in := b.signIn(t)
		set, err := h.SetPassword(t.Context(), in.Who, password)
		if err != nil || fmt.Sprint(b.h.must(t, set.Token).Account.Methods) != "[password github]" {
			t.Fatalf("set password: %v", err)
		}
		if _, err := h.Login(accounttest.From(t), "octocat@example.com", password, ""); err != nil {
			t.Error(err)
		}
		h.GitHub.SetPermission(h.App, "emails", "")
		h.GitHub.AddUser(githubtest.User{Login: "unproven", Email: "unproven@example.com"})
		c := (&browser{h: h, as: "unproven"}).signIn(t)
		is(t, errOf(h.SetPassword(t.Context(), c.Who, password)), account.EmailVerificationRequired)
	})
}

// must is who a session's value opens.
func (h *hub) must(t *testing.T, token string) account.Who {
	t.Helper()
	who, found, err := h.Who(t.Context(), token)
	if err != nil || !found {
		t.Fatalf("not signed in: %v", err)
	}
	return who
}

func TestTheLastWayInStays(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		b := &browser{h: h, as: "octocat"}
		in := b.signIn(t)
		all, err := h.Identities(t.Context(), in.Who)
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		is(t, h.Unlink(t.Context(), in.Who, all[0].ID), account.LastCredential)
		is(t, h.Unlink(t.Context(), h.Admin, all[0].ID), account.ItemNotFound)
		is(t, h.Unlink(t.Context(), in.Who, "idn_unknown"), account.ItemNotFound)
		stale := in.Who
		stale.Session.AuthTime = h.Clock.Now().Add(-11 * time.Minute)
		is(t, h.Unlink(t.Context(), stale, all[0].ID), account.ReauthRequired)
		// A password counts only with a proven address.
		set, err := h.SetPassword(t.Context(), in.Who, password)
		if err != nil {
			t.Fatal(err)
		}
		execute(t, h.World, "UPDATE accounts SET email_verified = 0 WHERE id = $1", in.Account.ID)
		is(t, h.Unlink(t.Context(), set.Who, all[0].ID), account.LastCredential)
		execute(t, h.World, "UPDATE accounts SET email_verified = 1 WHERE id = $1", in.Account.ID)
		elsewhere := (&browser{h: h, as: "octocat"}).signIn(t)
		h.GitHub.Forget()
		if err := h.Unlink(t.Context(), set.Who, all[0].ID); err != nil {
			t.Fatal(err)
		}
		if signedIn(t, h.World, elsewhere.Token) || !signedIn(t, h.World, set.Token) {
			t.Error("sessions that came by the identity go on, or the one that asked does not")
		}
		if n := h.query(t, "SELECT count(*) FROM secrets WHERE scope = $1", in.Account.ID); n != 0 {
			t.Errorf("%d secrets are left", n)
		}
		if n := h.GitHub.Calls("DELETE /applications/{client_id}/token"); n != 1 {
			t.Errorf("the token was given back %d times", n)
		}
		if told := h.actions(t, "users/octocat/personal"); !has(told, "identity.unlinked") {
			t.Errorf("told: %v", told)
		}
		// The identity is free again, and its address still leads to a ticket.
		b.token = ""
		if out, err := b.visit(t, ""); err != nil || out.LinkTicket == "" {
			t.Errorf("%+v, %v", out, err)
		}
	})
}

func TestOneOfTwoIdentitiesCanGo(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		b := &browser{h: h, as: "octocat"}
		in := b.signIn(t)
		b.as = "hubot"
		if _, err := b.visit(t, account.IntentLink); err != nil {
			t.Fatal(err)
		}
		all, err := h.Identities(t.Context(), in.Who)
		if err != nil || len(all) != 2 {
			t.Fatal(all, err)
		}
		errs := make(chan error, 2)
		for _, i := range all {
			go func() { errs <- h.Unlink(t.Context(), *b.who(t), i.ID) }()
		}
		one, two := <-errs, <-errs
		if (one == nil) == (two == nil) {
			t.Errorf("both went, or none: %v, %v", one, two)
		}
		if left, _ := h.Identities(t.Context(), in.Who); len(left) != 1 {
			t.Errorf("left: %+v", left)
		}
	})
}

func TestUnlinkingDoesNotWaitForGitHubToAgree(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		b := &browser{h: h, as: "octocat"}
		in := b.signIn(t)
		if _, err := h.SetPassword(t.Context(), in.Who, password); err != nil {
			t.Fatal(err)
		}
		h.GitHub.Fail("DELETE /applications/{client_id}/token", githubtest.Status(500))
		all, _ := h.Identities(t.Context(), in.Who)
		if err := h.Unlink(t.Context(), in.Who, all[0].ID); err != nil {
			t.Error(err)
		}
	})
}

func TestAPasswordDoesNotGetIntoAnAccountOfAProvider(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		in := (&browser{h: h, as: "octocat"}).signIn(t)
		_, err := h.Register(accounttest.From(t), account.Registration{Email: "octocat@example.com", Password: password})
		is(t, err, account.InvalidCredentials)
		is(t, errOf(h.Login(accounttest.From(t), "octocat@example.com", password, "")), account.InvalidCredentials)
		if p, _ := h.Account(t.Context(), in.Account.ID); fmt.Sprint(p.Methods) != "[github]" {
			t.Errorf("methods: %v", p.Methods)
		}
	})
}

func TestManyFirstSignInsOfOnePersonMakeOneAccount(t *testing.T) {
	t.Parallel()
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		h := newHub(t, address, accounttest.Options{})
		h.configure(t)
		nodes := []*accounttest.World{h.World, h.beside(t, address)}
		for login, email := range map[string]string{"known": "known@example.com", "nameless": ""} {
			b, _ := h.person(t, login, email)
			backs := make([]account.Callback, 12)
			for i := range backs {
				backs[i] = b.callback(t, b.leave(t, ""))
			}
			ids := make(chan string, len(backs))
			for i, back := range backs {
				ctx := accounttest.From(t)
				go func() {
					out, err := nodes[i%2].FinishSignIn(ctx, "github", back)
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
		if n := h.query(t, "SELECT count(*) FROM accounts"); n != 3 {
			t.Errorf("%d accounts", n)
		}
	})
}

func TestTwoIdentitiesWithOneAddressAreTwoPeople(t *testing.T) {
	eachHub(t, accounttest.Options{Mail: true}, func(t *testing.T, h *hub) {
		first, _ := h.person(t, "first", "shared@example.com")
		second, _ := h.person(t, "second", "shared@example.com")
		in := first.signIn(t)
		out, err := second.visit(t, "")
		if err != nil || out.SignedIn != nil || out.LinkTicket == "" || out.OfferNew {
			t.Fatalf("%+v, %v", out, err)
		}
		// The holder can be signed in to by what it has: the first identity.
		second.as = "first"
		second.signIn(t)
		if linked, err := h.Link(accounttest.From(t), *second.who(t), out.LinkTicket, second.value); err != nil || linked.Account.ID != in.Account.ID {
			t.Errorf("%+v, %v", linked, err)
		}
	})
}
