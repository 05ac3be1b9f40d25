package account_test

import (
	"context"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/account/github"
	"svc.dev/svc/service/account/githubtest"
)

func TestManyWhoNeedAnExpiredTokenRefreshItOnce(t *testing.T) {
	t.Parallel()
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		h := &hub{accounttest.NewHub(t, address, accounttest.Options{})}
		h.Configure(t)
		nodes := []*accounttest.World{h.World, h.Beside(t, address)}
		in := h.Browser("octocat").SignIn(t)
		for range 3 {
			old, err := h.Identities.Token(t.Context(), in.Account.ID, "github")
			if err != nil {
				t.Fatal(err)
			}
			h.Clock.Pass(8*time.Hour - time.Minute)
			h.GitHub.Forget()
			h.GitHub.FailOnce(accounttest.TokenRoute, githubtest.Slow(50*time.Millisecond))
			tokens := make(chan string, 16)
			for i := range cap(tokens) {
				go func() {
					token, err := nodes[i%2].Identities.Token(t.Context(), in.Account.ID, "github")
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
			if n := h.GitHub.Calls(accounttest.TokenRoute); n != 1 || len(seen) != 1 || seen[old] {
				t.Errorf("refreshed %d times to %d tokens", n, len(seen))
			}
		}
	})
}

func TestATokenThatIsGoodIsNotRefreshed(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		in := h.Browser("octocat").SignIn(t)
		h.GitHub.Forget()
		for range 3 {
			if _, err := h.Identities.Token(t.Context(), in.Account.ID, "github"); err != nil {
				t.Fatal(err)
			}
		}
		h.GitHub.ExpireTokens(false)
		eternal := h.Browser("hubot").SignIn(t)
		h.GitHub.Forget()
		h.Clock.Pass(1000 * time.Hour)
		if _, err := h.Identities.Token(t.Context(), eternal.Account.ID, "github"); err != nil {
			t.Error(err)
		}
		if n := h.GitHub.Calls(); n != 0 {
			t.Errorf("GitHub was asked %d times", n)
		}
	})
}

func TestALeaseThatWasLeftBehindEnds(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		in := h.Browser("octocat").SignIn(t)
		h.Clock.Pass(9 * time.Hour)
		h.Execute(t, "UPDATE identities SET lease = 'of a node that died', refreshing_until = $1", h.Clock.Now().Add(30*time.Second).UnixMilli())
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
		defer cancel()
		if _, err := h.Identities.Token(ctx, in.Account.ID, "github"); err == nil {
			t.Fatal("two refresh at once")
		}
		h.Clock.Pass(30 * time.Second)
		if _, err := h.Identities.Token(t.Context(), in.Account.ID, "github"); err != nil {
			t.Error(err)
		}
	})
}

func TestARefreshThatFailsIsTriedAgainAndOneThatIsRefusedIsTheEnd(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		b := h.Browser("octocat")
		in := b.SignIn(t)
		h.Clock.Pass(9 * time.Hour)
		h.GitHub.FailOnce(accounttest.TokenRoute, githubtest.Status(502))
		accounttest.Is(t, accounttest.ErrOf(h.Identities.Token(t.Context(), in.Account.ID, "github")), github.ExchangeFailed)
		h.GitHub.FailOnce(accounttest.TokenRoute, githubtest.Slowed(429, 5))
		accounttest.Is(t, accounttest.ErrOf(h.Identities.Token(t.Context(), in.Account.ID, "github")), github.RateLimited)
		if _, err := h.Identities.Token(t.Context(), in.Account.ID, "github"); err != nil {
			t.Fatal(err)
		}
		// The answer was lost: the pair is dead at GitHub, and only the person can make another.
		h.Clock.Pass(9 * time.Hour)
		h.GitHub.FailOnce(accounttest.TokenRoute, githubtest.Truncated())
		accounttest.Is(t, accounttest.ErrOf(h.Identities.Token(t.Context(), in.Account.ID, "github")), github.ExchangeFailed)
		_, err := h.Identities.Token(t.Context(), in.Account.ID, "github")
		accounttest.Is(t, err, fault.ProviderConnectionRequired)
		if where, _ := fault.From(err).Meta["connectUrl"].(string); where != accounttest.Platform+"/api/auth/oauth/github/start?intent=connect" {
			t.Errorf("connect at %q", where)
		}
		h.RevokedOnce(t, in)
		b.SignIn(t)
		if _, err := h.Identities.Token(t.Context(), in.Account.ID, "github"); err != nil {
			t.Errorf("signing in does not connect again: %v", err)
		}
	})
}

func TestATokenOfBeforeIsNotPutOverOneThatCameSince(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		b := h.Browser("octocat")
		in := b.SignIn(t)
		h.Clock.Pass(9 * time.Hour)
		h.GitHub.FailOnce(accounttest.TokenRoute, githubtest.Slow(2*time.Second))
		late := make(chan string)
		h.GitHub.Forget()
		go func() {
			token, err := h.Identities.Token(t.Context(), in.Account.ID, "github")
			if err != nil {
				t.Error(err)
			}
			late <- token
		}()
		accounttest.Eventually(t, "the token is asked for", func() bool { return h.GitHub.Calls(accounttest.TokenRoute) > 0 })
		b.SignIn(t)
		now, err := h.Identities.Token(t.Context(), in.Account.ID, "github")
		if got := <-late; err != nil || got != now {
			t.Errorf("two tokens, %v", err)
		}
		if again, err := h.Identities.Token(t.Context(), in.Account.ID, "github"); err != nil || again != now {
			t.Errorf("the token of the sign-in is gone, %v", err)
		}
	})
}

func TestNobodyGetsATokenOfWhoIsOut(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		in := h.Browser("octocat").SignIn(t)
		none := h.Join(t, "ada@example.com")
		accounttest.Is(t, accounttest.ErrOf(h.Identities.Token(t.Context(), none.Account.ID, "github")), fault.ProviderConnectionRequired)
		accounttest.Is(t, accounttest.ErrOf(h.Identities.Token(t.Context(), "acc_nobody", "github")), fault.ProviderConnectionRequired)
		if err := h.Staff.Suspend(t.Context(), in.Account.ID, "test", h.Admin.Account.Actor()); err != nil {
			t.Fatal(err)
		}
		accounttest.Is(t, accounttest.ErrOf(h.Identities.Token(t.Context(), in.Account.ID, "github")), fault.ProviderConnectionRequired)
		if err := h.Staff.Restore(t.Context(), in.Account.ID, h.Admin.Account.Actor()); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Identities.Token(t.Context(), in.Account.ID, "github"); err != nil {
			t.Fatal(err)
		}
		// Tokens that were given to another app are of no use to this one.
		h.Configure(t)
		accounttest.Is(t, accounttest.ErrOf(h.Identities.Token(t.Context(), in.Account.ID, "github")), fault.ProviderConnectionRequired)
		h.Browser("octocat").SignIn(t)
		if _, err := h.Identities.Token(t.Context(), in.Account.ID, "github"); err != nil {
			t.Error(err)
		}
	})
}

func TestARefreshTokenThatHasExpiredIsNotShown(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		in := h.Browser("octocat").SignIn(t)
		h.Clock.Pass(185 * 24 * time.Hour)
		accounttest.Is(t, accounttest.ErrOf(h.Identities.Token(t.Context(), in.Account.ID, "github")), fault.ProviderConnectionRequired)
		h.RevokedOnce(t, in)
	})
}

func TestATokenThatSoonEndsIsUsedAllTheSame(t *testing.T) {
	eachHub(t, accounttest.Options{}, func(t *testing.T, h *hub) {
		in := h.Browser("octocat").SignIn(t)
		h.Clock.Pass(9 * time.Hour)
		h.GitHub.Forget()
		h.GitHub.FailOnce(accounttest.TokenRoute, githubtest.Raw(200, `{"access_token":"ghu_short","expires_in":60,"refresh_token":"ghr_short","refresh_token_expires_in":900,"token_type":"bearer"}`))
		token, err := h.Identities.Token(t.Context(), in.Account.ID, "github")
		if err != nil || token != "ghu_short" || h.GitHub.Calls(accounttest.TokenRoute) != 1 {
			t.Errorf("asked %d times, %v", h.GitHub.Calls(accounttest.TokenRoute), err)
		}
	})
}
