package account_test

import (
	"testing"

	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/account/githubtest"
	"svc.dev/svc/service/apikey"
)

// The five classes of Sudhodanan and Paverd: somebody prepares an account with an address that is not theirs, and waits for
// its owner to come.

// untouched fails when the account holds anything that its person did not bring.
func untouched(t *testing.T, h *hub, in account.SignedIn) {
	t.Helper()
	p := h.must(t, in.Token)
	ids, err := h.Identities.List(t.Context(), p)
	if err != nil || len(ids) != 1 {
		t.Errorf("identities: %+v, %v", ids, err)
	}
	sessions, err := h.Sessions.List(t.Context(), p)
	if err != nil || len(sessions) != 1 {
		t.Errorf("sessions: %+v, %v", sessions, err)
	}
	all, err := h.Workspaces(t.Context(), p.Account.ID)
	if err != nil || len(all) != 1 {
		t.Fatalf("workspaces: %+v, %v", all, err)
	}
	if keys, err := h.Keys.List(t.Context(), apikey.Query{Workspace: all[0].ID}); err != nil || len(keys.Items) != 0 {
		t.Errorf("keys: %+v, %v", keys, err)
	}
	if p.Account.Email != "victim@example.com" || !p.Account.EmailVerified {
		t.Errorf("account: %+v", p.Account)
	}
	accounttest.Is(t, accounttest.ErrOf(h.Passwords.Login(accounttest.From(t), "victim@example.com", password, "")), account.InvalidCredentials)
}

func TestNoPreHijackByAClassicAccount(t *testing.T) {
	eachHub(t, open(), func(t *testing.T, h *hub) {
		h.Join(t, "victim@example.com")
		victim, _ := h.AddPerson(t, "victim", "victim@example.com")
		untouched(t, h, victim.SignIn(t))
	})
}

func TestNoPreHijackByASessionThatIsKept(t *testing.T) {
	eachHub(t, open(), func(t *testing.T, h *hub) {
		eve := h.Join(t, "victim@example.com")
		_, key := h.MakeKey(t, eve.Who)
		victim, _ := h.AddPerson(t, "victim", "victim@example.com")
		in := victim.SignIn(t)
		untouched(t, h, in)
		if h.IsSignedIn(t, eve.Token) {
			t.Error("the session is alive")
		}
		accounttest.Is(t, accounttest.ErrOf(h.Bearer(t.Context(), key)), apikey.Invalid)
	})
}

func TestNoPreHijackByATrojanIdentity(t *testing.T) {
	eachHub(t, open(), func(t *testing.T, h *hub) {
		h.Join(t, "victim@example.com")
		eve := h.Browser("hubot")
		eve.Login(t, "victim@example.com")
		if _, err := eve.Visit(t, account.IntentLink); err != nil {
			t.Fatal(err)
		}
		victim, _ := h.AddPerson(t, "victim", "victim@example.com")
		in := victim.SignIn(t)
		untouched(t, h, in)
		eve.Token = ""
		if back := eve.SignIn(t); back.Account.ID == in.Account.ID || back.Account.Email != "" {
			t.Errorf("the trojan opens %+v", back.Account)
		}
	})
}

func TestNoTrojanSurvivesTheFirstProofOfAnAddress(t *testing.T) {
	eachHub(t, open(), func(t *testing.T, h *hub) {
		squatted := h.Join(t, "victim@example.com")
		eve := h.Browser("hubot")
		eve.Login(t, "victim@example.com")
		if _, err := eve.Visit(t, account.IntentLink); err != nil {
			t.Fatal(err)
		}
		if err := h.Passwords.Forgot(accounttest.From(t), "victim@example.com"); err != nil {
			t.Fatal(err)
		}
		if err := accounttest.ErrOf(h.Passwords.Reset(accounttest.From(t), mailed(t, h.World, "victim@example.com"), password+"!")); err != nil {
			t.Fatal(err)
		}
		if h.IsSignedIn(t, eve.Token) {
			t.Error("the session is alive")
		}
		eve.Token = ""
		if back := eve.SignIn(t); back.Account.ID == squatted.Account.ID {
			t.Errorf("the trojan opens %+v", back.Account)
		}
		if n := h.Count(t, "SELECT count(*) FROM secrets WHERE scope = $1", squatted.Account.ID); n != 0 {
			t.Errorf("%d tokens are left", n)
		}
	})
}

func TestTheIdentityThatProvesSurvives(t *testing.T) {
	eachHub(t, open(), func(t *testing.T, h *hub) {
		h.GitHub.SetPermission(h.App, "emails", "")
		h.GitHub.AddUser(githubtest.User{Login: "ada", Email: "ada@example.com"})
		b := h.Browser("ada")
		in := b.SignIn(t)
		b.As = "hubot"
		if _, err := b.Visit(t, account.IntentLink); err != nil {
			t.Fatal(err)
		}
		who := b.Who(t)
		if err := h.Emails.SendVerification(t.Context(), *who); err != nil {
			t.Fatal(err)
		}
		if err := h.Emails.Verify(t.Context(), mailed(t, h.World, "ada@example.com"), who); err != nil {
			t.Fatal(err)
		}
		left, err := h.Identities.List(t.Context(), in.Who)
		if err != nil || len(left) != 1 || left[0].Login != "ada" || !h.IsSignedIn(t, b.Token) {
			t.Errorf("left: %+v, %v", left, err)
		}
	})
}

func TestNoPreHijackByAPendingChangeOfAddress(t *testing.T) {
	eachHub(t, open(), func(t *testing.T, h *hub) {
		eve := h.Join(t, "victim@example.com")
		if err := h.Emails.Change(t.Context(), eve.Who, "eve@example.com"); err != nil {
			t.Fatal(err)
		}
		pending := mailed(t, h.World, "eve@example.com")
		// And the other way round: an address of Eve's that is about to become the victim's.
		own := h.Join(t, "own@example.com")
		if err := h.Emails.Change(t.Context(), own.Who, "victim@example.com"); err != nil {
			t.Fatal(err)
		}
		victim, _ := h.AddPerson(t, "victim", "victim@example.com")
		in := victim.SignIn(t)
		accounttest.Is(t, h.Emails.Verify(t.Context(), pending, nil), account.InvalidToken)
		untouched(t, h, in)
		if p, _ := h.Account(t.Context(), eve.Account.ID); p.Email != "" {
			t.Errorf("the squatter has %s", p.Email)
		}
	})
}

func TestNoPreHijackByAProviderThatProvesNothing(t *testing.T) {
	eachHub(t, open(), func(t *testing.T, h *hub) {
		// The victim is there first: what a profile claims opens nothing.
		held := h.Join(t, "held@example.com")
		h.GitHub.SetPermission(h.App, "emails", "")
		h.GitHub.AddUser(githubtest.User{Login: "thief", Email: "held@example.com"})
		if in := h.Browser("thief").SignIn(t); in.Account.ID == held.Account.ID || in.Account.Email != "" {
			t.Errorf("the profile opens %+v", in.Account)
		}
		// Eve is there first: the victim proves the address, and Eve has it no more.
		h.GitHub.AddUser(githubtest.User{Login: "eve", Email: "victim@example.com"})
		eve := h.Browser("eve").SignIn(t)
		if eve.Account.Email != "victim@example.com" || eve.Account.EmailVerified {
			t.Fatalf("%+v", eve.Account)
		}
		h.GitHub.SetPermission(h.App, "emails", "read")
		victim, _ := h.AddPerson(t, "victim", "victim@example.com")
		in := victim.SignIn(t)
		untouched(t, h, in)
		if in.Account.ID == eve.Account.ID || h.IsSignedIn(t, eve.Token) {
			t.Error("Eve is inside")
		}
		back := h.Browser("eve").SignIn(t)
		if back.Account.ID != eve.Account.ID || back.Account.Email != "" {
			t.Errorf("%+v", back.Account)
		}
	})
}

func TestAnAddressThatGitHubDidNotVerifyIsNotUsed(t *testing.T) {
	eachHub(t, open(), func(t *testing.T, h *hub) {
		held := h.Join(t, "victim@example.com")
		for i, emails := range [][]githubtest.Email{
			{{Email: "victim@example.com", Primary: true}},
			{{Email: "victim@example.com", Primary: true, Verified: false, Visibility: "public"}, {Email: "own@example.com", Verified: true}},
		} {
			login := []string{"one", "two"}[i]
			h.GitHub.AddUser(githubtest.User{Login: login, Email: "victim@example.com", Emails: emails})
			in := h.Browser(login).SignIn(t)
			if in.Account.ID == held.Account.ID || in.Account.Email == "victim@example.com" || in.Account.EmailVerified != (i == 1) {
				t.Errorf("%+v", in.Account)
			}
		}
		if !h.IsSignedIn(t, held.Token) {
			t.Error("the holder was put out")
		}
	})
}
