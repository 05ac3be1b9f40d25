package account_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/account/github"
	"svc.dev/svc/service/account/githubtest"
)

func TestManyWhoNeedAnExpiredTokenRefreshItOnce(t *testing.T) {
	t.Parallel()
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		h := newHub(t, address, accounttest.Options{})
		h.configure(t)
		nodes := []*accounttest.World{h.World, h.beside(t, address)}
		in := (&browser{h: h, as: "octocat"}).signIn(t)
		for range 3 {
			old, err := h.ProviderToken(t.Context(), in.Account.ID, "github")
			if err != nil {
				t.Fatal(err)
			}
			h.Clock.Pass(8*time.Hour - time.Minute)
			h.GitHub.Forget()
			h.GitHub.FailOnce(tokenRoute, githubtest.Slow(50*time.Millisecond))
			tokens := make(chan string, 16)
			for i := range cap(tokens) {
				go func() {
					token, err := nodes[i%2].ProviderToken(t.Context(), in.Account.ID, "github")
					if err != nil {
						t.Error(err)
					}
					tokens <- token
				}()
			}
			seen := map[string]bool{}
			for range cap(tokens) {
				seen[<-tokens] = true
			}
			if n := h.GitHub.Calls(tokenRoute); n != 1 || len(seen) != 1 || seen[old] {
				t.Errorf("refreshed %d times to %d tokens", n, len(seen))
			}
		}
	})
}

func TestATokenThatIsGoodIsNotRefreshed(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		in := (&browser{h: h, as: "octocat"}).signIn(t)
		h.GitHub.Forget()
		for range 3 {
			if _, err := h.ProviderToken(t.Context(), in.Account.ID, "github"); err != nil {
				t.Fatal(err)
			}
		}
		h.GitHub.ExpireTokens(false)
		eternal := (&browser{h: h, as: "hubot"}).signIn(t)
		h.GitHub.Forget()
		h.Clock.Pass(1000 * time.Hour)
		if _, err := h.ProviderToken(t.Context(), eternal.Account.ID, "github"); err != nil {
			t.Error(err)
		}
		if n := h.GitHub.Calls(); n != 0 {
			t.Errorf("GitHub was asked %d times", n)
		}
	})
}

func TestALeaseThatWasLeftBehindEnds(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		in := (&browser{h: h, as: "octocat"}).signIn(t)
		h.Clock.Pass(9 * time.Hour)
		execute(t, h.World, "UPDATE identities SET lease = 'of a node that died', refreshing_until = $1", h.Clock.Now().Add(30*time.Second).UnixMilli())
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
		defer cancel()
		if _, err := h.ProviderToken(ctx, in.Account.ID, "github"); err == nil {
			t.Fatal("two refresh at once")
		}
		h.Clock.Pass(30 * time.Second)
		if _, err := h.ProviderToken(t.Context(), in.Account.ID, "github"); err != nil {
			t.Error(err)
		}
	})
}

func TestARefreshThatFailsIsTriedAgainAndOneThatIsRefusedIsTheEnd(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		b := &browser{h: h, as: "octocat"}
		in := b.signIn(t)
		h.Clock.Pass(9 * time.Hour)
		h.GitHub.FailOnce(tokenRoute, githubtest.Status(502))
		is(t, errOf(h.ProviderToken(t.Context(), in.Account.ID, "github")), github.ExchangeFailed)
		h.GitHub.FailOnce(tokenRoute, githubtest.Slowed(429, 5))
		is(t, errOf(h.ProviderToken(t.Context(), in.Account.ID, "github")), github.RateLimited)
		if _, err := h.ProviderToken(t.Context(), in.Account.ID, "github"); err != nil {
			t.Fatal(err)
		}
		// The answer was lost: the pair is dead at GitHub, and only the person can make another.
		h.Clock.Pass(9 * time.Hour)
		h.GitHub.FailOnce(tokenRoute, githubtest.Truncated())
		is(t, errOf(h.ProviderToken(t.Context(), in.Account.ID, "github")), github.ExchangeFailed)
		_, err := h.ProviderToken(t.Context(), in.Account.ID, "github")
		is(t, err, account.ProviderConnectionRequired)
		if where, _ := fault.From(err).Meta["connectUrl"].(string); where != accounttest.Platform+"/api/auth/oauth/github/start?intent=connect" {
			t.Errorf("connect at %q", where)
		}
		h.revokedOnce(t, in)
		b.signIn(t)
		if _, err := h.ProviderToken(t.Context(), in.Account.ID, "github"); err != nil {
			t.Errorf("signing in does not connect again: %v", err)
		}
	})
}

// revokedOnce fails unless the only identity is revoked, without tokens, and that was told once.
func (h *hub) revokedOnce(t *testing.T, in account.SignedIn) {
	t.Helper()
	all, err := h.Identities(t.Context(), in.Who)
	if err != nil || len(all) != 1 || all[0].Status != "revoked" {
		t.Errorf("identities: %+v, %v", all, err)
	}
	if n := h.query(t, "SELECT count(*) FROM secrets WHERE scope = $1", in.Account.ID); n != 0 {
		t.Errorf("%d tokens are left", n)
	}
	told := strings.Join(h.actions(t, "users/"+in.Account.Username+"/personal"), " ")
	if strings.Count(told, "identity.revoked") != 1 {
		t.Errorf("told: %v", told)
	}
}

func TestATokenOfBeforeIsNotPutOverOneThatCameSince(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		b := &browser{h: h, as: "octocat"}
		in := b.signIn(t)
		h.Clock.Pass(9 * time.Hour)
		h.GitHub.FailOnce(tokenRoute, githubtest.Slow(200*time.Millisecond))
		late := make(chan string)
		h.GitHub.Forget()
		go func() {
			token, err := h.ProviderToken(t.Context(), in.Account.ID, "github")
			if err != nil {
				t.Error(err)
			}
			late <- token
		}()
		for h.GitHub.Calls(tokenRoute) == 0 {
			time.Sleep(time.Millisecond)
		}
		b.signIn(t)
		now, err := h.ProviderToken(t.Context(), in.Account.ID, "github")
		if got := <-late; err != nil || got != now {
			t.Errorf("two tokens, %v", err)
		}
		if again, err := h.ProviderToken(t.Context(), in.Account.ID, "github"); err != nil || again != now {
			t.Errorf("the token of the sign-in is gone, %v", err)
		}
	})
}

func TestNobodyGetsATokenOfWhoIsOut(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		in := (&browser{h: h, as: "octocat"}).signIn(t)
		none := join(t, h.World, "ada@example.com")
		is(t, errOf(h.ProviderToken(t.Context(), none.Account.ID, "github")), account.ProviderConnectionRequired)
		is(t, errOf(h.ProviderToken(t.Context(), "acc_nobody", "github")), account.ProviderConnectionRequired)
		if err := h.Suspend(t.Context(), in.Account.ID, "test", h.Admin.Account.Actor()); err != nil {
			t.Fatal(err)
		}
		is(t, errOf(h.ProviderToken(t.Context(), in.Account.ID, "github")), account.ProviderConnectionRequired)
		if err := h.Restore(t.Context(), in.Account.ID, h.Admin.Account.Actor()); err != nil {
			t.Fatal(err)
		}
		if _, err := h.ProviderToken(t.Context(), in.Account.ID, "github"); err != nil {
			t.Fatal(err)
		}
		// Tokens that were given to another app are of no use to this one.
		if err := h.finish(t, h.Admin, h.started(t, "", true)); err != nil {
			t.Fatal(err)
		}
		is(t, errOf(h.ProviderToken(t.Context(), in.Account.ID, "github")), account.ProviderConnectionRequired)
		(&browser{h: h, as: "octocat"}).signIn(t)
		if _, err := h.ProviderToken(t.Context(), in.Account.ID, "github"); err != nil {
			t.Error(err)
		}
	})
}

func TestARefreshTokenThatHasExpiredIsNotShown(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		in := (&browser{h: h, as: "octocat"}).signIn(t)
		h.Clock.Pass(185 * 24 * time.Hour)
		is(t, errOf(h.ProviderToken(t.Context(), in.Account.ID, "github")), account.ProviderConnectionRequired)
		h.revokedOnce(t, in)
	})
}

func TestATokenThatSoonEndsIsUsedAllTheSame(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		in := (&browser{h: h, as: "octocat"}).signIn(t)
		h.Clock.Pass(9 * time.Hour)
		h.GitHub.Forget()
		h.GitHub.FailOnce(tokenRoute, githubtest.Raw(200, `{"access_token":"ghu_short","expires_in":60,"refresh_token":"ghr_short","refresh_token_expires_in":900,"token_type":"bearer"}`))
		token, err := h.ProviderToken(t.Context(), in.Account.ID, "github")
		if err != nil || token != "ghu_short" || h.GitHub.Calls(tokenRoute) != 1 {
			t.Errorf("asked %d times, %v", h.GitHub.Calls(tokenRoute), err)
		}
	})
}
