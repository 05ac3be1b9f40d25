package account_test

import (
	"testing"

	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/account/githubtest"
)

// The five classes of Sudhodanan and Paverd: somebody prepares an account with an address that is not theirs, and waits for
// its owner to come.

// untouched fails when the account holds anything that its person did not bring.
func untouched(t *testing.T, h *hub, in account.SignedIn) {
	t.Helper()
	p := h.must(t, in.Token)
	ids, err := h.Identities(t.Context(), p)
	if err != nil || len(ids) != 1 {
		t.Errorf("identities: %+v, %v", ids, err)
	}
	sessions, err := h.Sessions(t.Context(), p)
	if err != nil || len(sessions) != 1 {
		t.Errorf("sessions: %+v, %v", sessions, err)
	}
	all, err := h.Workspaces(t.Context(), p.Account.ID)
	if err != nil || len(all) != 1 {
		t.Fatalf("workspaces: %+v, %v", all, err)
	}
	if keys, err := h.Keys(t.Context(), account.KeyQuery{Workspace: all[0].ID}); err != nil || len(keys.Items) != 0 {
		t.Errorf("keys: %+v, %v", keys, err)
	}
	if p.Account.Email != "victim@example.com" || !p.Account.EmailVerified {
		t.Errorf("account: %+v", p.Account)
	}
	is(t, errOf(h.Login(accounttest.From(t), "victim@example.com", password, "")), account.InvalidCredentials)
}

func TestNoPreHijackByAClassicAccount(t *testing.T) {
	eachHub(t, open(), func(t *testing.T, h *hub) {
		join(t, h.World, "victim@example.com")
		victim, _ := h.person(t, "victim", "victim@example.com")
		untouched(t, h, victim.signIn(t))
	})
}

func TestNoPreHijackByASessionThatIsKept(t *testing.T) {
	eachHub(t, open(), func(t *testing.T, h *hub) {
		eve := join(t, h.World, "victim@example.com")
		_, key := makeKey(t, h.World, eve.Who)
		victim, _ := h.person(t, "victim", "victim@example.com")
		in := victim.signIn(t)
		untouched(t, h, in)
		if signedIn(t, h.World, eve.Token) {
			t.Error("the session is alive")
		}
		is(t, errOf(h.Bearer(t.Context(), key)), account.InvalidAPIKey)
	})
}

func TestNoPreHijackByATrojanIdentity(t *testing.T) {
	eachHub(t, open(), func(t *testing.T, h *hub) {
		join(t, h.World, "victim@example.com")
		eve := &browser{h: h, as: "hubot"}
		eve.login(t, "victim@example.com")
		if _, err := eve.visit(t, account.IntentLink); err != nil {
			t.Fatal(err)
		}
		victim, _ := h.person(t, "victim", "victim@example.com")
		in := victim.signIn(t)
		untouched(t, h, in)
		eve.token = ""
		if back := eve.signIn(t); back.Account.ID == in.Account.ID || back.Account.Email != "" {
			t.Errorf("the trojan opens %+v", back.Account)
		}
	})
}

func TestNoTrojanSurvivesTheFirstProofOfAnAddress(t *testing.T) {
	eachHub(t, open(), func(t *testing.T, h *hub) {
		squatted := join(t, h.World, "victim@example.com")
		eve := &browser{h: h, as: "hubot"}
		eve.login(t, "victim@example.com")
		if _, err := eve.visit(t, account.IntentLink); err != nil {
			t.Fatal(err)
		}
		if err := h.Forgot(accounttest.From(t), "victim@example.com"); err != nil {
			t.Fatal(err)
		}
		if err := errOf(h.Reset(accounttest.From(t), mailed(t, h.World, "victim@example.com"), password+"!")); err != nil {
			t.Fatal(err)
		}
		if signedIn(t, h.World, eve.token) {
			t.Error("the session is alive")
		}
		eve.token = ""
		if back := eve.signIn(t); back.Account.ID == squatted.Account.ID {
			t.Errorf("the trojan opens %+v", back.Account)
		}
		if n := h.query(t, "SELECT count(*) FROM secrets WHERE scope = $1", squatted.Account.ID); n != 0 {
			t.Errorf("%d tokens are left", n)
		}
	})
}

func TestTheIdentityThatProvesSurvives(t *testing.T) {
	eachHub(t, open(), func(t *testing.T, h *hub) {
		h.GitHub.SetPermission(h.App, "emails", "")
		h.GitHub.AddUser(githubtest.User{Login: "ada", Email: "ada@example.com"})
		b := &browser{h: h, as: "ada"}
		in := b.signIn(t)
		b.as = "hubot"
		if _, err := b.visit(t, account.IntentLink); err != nil {
			t.Fatal(err)
		}
		who := b.who(t)
		if err := h.SendVerification(t.Context(), *who); err != nil {
			t.Fatal(err)
		}
		if err := h.Verify(t.Context(), mailed(t, h.World, "ada@example.com"), who); err != nil {
			t.Fatal(err)
		}
		left, err := h.Identities(t.Context(), in.Who)
		if err != nil || len(left) != 1 || left[0].Login != "ada" || !signedIn(t, h.World, b.token) {
			t.Errorf("left: %+v, %v", left, err)
		}
	})
}

func TestNoPreHijackByAPendingChangeOfAddress(t *testing.T) {
	eachHub(t, open(), func(t *testing.T, h *hub) {
		eve := join(t, h.World, "victim@example.com")
		if err := h.ChangeEmail(t.Context(), eve.Who, "eve@example.com"); err != nil {
			t.Fatal(err)
		}
		pending := mailed(t, h.World, "eve@example.com")
		// And the other way round: an address of Eve's that is about to become the victim's.
		own := join(t, h.World, "own@example.com")
		if err := h.ChangeEmail(t.Context(), own.Who, "victim@example.com"); err != nil {
			t.Fatal(err)
		}
		victim, _ := h.person(t, "victim", "victim@example.com")
		in := victim.signIn(t)
		is(t, h.Verify(t.Context(), pending, nil), account.InvalidToken)
		untouched(t, h, in)
		if p, _ := h.Account(t.Context(), eve.Account.ID); p.Email != "" {
			t.Errorf("the squatter has %s", p.Email)
		}
	})
}

func TestNoPreHijackByAProviderThatProvesNothing(t *testing.T) {
	eachHub(t, open(), func(t *testing.T, h *hub) {
		// The victim is there first: what a profile claims opens nothing.
		held := join(t, h.World, "held@example.com")
		h.GitHub.SetPermission(h.App, "emails", "")
		h.GitHub.AddUser(githubtest.User{Login: "thief", Email: "held@example.com"})
		if in := (&browser{h: h, as: "thief"}).signIn(t); in.Account.ID == held.Account.ID || in.Account.Email != "" {
			t.Errorf("the profile opens %+v", in.Account)
		}
		// Eve is there first: the victim proves the address, and Eve has it no more.
		h.GitHub.AddUser(githubtest.User{Login: "eve", Email: "victim@example.com"})
		eve := (&browser{h: h, as: "eve"}).signIn(t)
		if eve.Account.Email != "victim@example.com" || eve.Account.EmailVerified {
			t.Fatalf("%+v", eve.Account)
		}
		h.GitHub.SetPermission(h.App, "emails", "read")
		victim, _ := h.person(t, "victim", "victim@example.com")
		in := victim.signIn(t)
		untouched(t, h, in)
		if in.Account.ID == eve.Account.ID || signedIn(t, h.World, eve.Token) {
			t.Error("Eve is inside")
		}
		back := (&browser{h: h, as: "eve"}).signIn(t)
		if back.Account.ID != eve.Account.ID || back.Account.Email != "" {
			t.Errorf("%+v", back.Account)
		}
	})
}

func TestAnAddressThatGitHubDidNotVerifyIsNotUsed(t *testing.T) {
	eachHub(t, open(), func(t *testing.T, h *hub) {
		held := join(t, h.World, "victim@example.com")
		for i, emails := range [][]githubtest.Email{
			{{Email: "victim@example.com", Primary: true}},
			{{Email: "victim@example.com", Primary: true, Verified: false, Visibility: "public"}, {Email: "own@example.com", Verified: true}},
		} {
			login := []string{"one", "two"}[i]
			h.GitHub.AddUser(githubtest.User{Login: login, Email: "victim@example.com", Emails: emails})
			in := (&browser{h: h, as: login}).signIn(t)
			if in.Account.ID == held.Account.ID || in.Account.Email == "victim@example.com" || in.Account.EmailVerified != (i == 1) {
				t.Errorf("%+v", in.Account)
			}
		}
		if !signedIn(t, h.World, held.Token) {
			t.Error("the holder was put out")
		}
	})
}
