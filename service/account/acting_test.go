package account_test

import (
	"testing"
	"time"

	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/account/githubtest"
)

// TestWhoWasPutOutDoesNothingMore is an intruder whose requests were let in a moment before the owner ended all sessions:
// none of them changes anything, by whichever verb.
func TestWhoWasPutOutDoesNothingMore(t *testing.T) {
	for name, verb := range map[string]func(t *testing.T, h *hub, who account.Who, k account.Key) error{
		"email": func(t *testing.T, h *hub, who account.Who, _ account.Key) error {
			return h.ChangeEmail(t.Context(), who, "eve@example.com")
		},
		"verification": func(t *testing.T, h *hub, who account.Who, _ account.Key) error {
			return h.SendVerification(t.Context(), who)
		},
		"name": func(t *testing.T, h *hub, who account.Who, _ account.Key) error {
			return errOf(h.Rename(t.Context(), who, "Eve", 0))
		},
		"password": func(t *testing.T, h *hub, who account.Who, _ account.Key) error {
			return errOf(h.ChangePassword(accounttest.From(t), who, password, other))
		},
		"reauth": func(t *testing.T, h *hub, who account.Who, _ account.Key) error {
			return errOf(h.Reauth(accounttest.From(t), who, password))
		},
		"elevate": func(t *testing.T, h *hub, who account.Who, _ account.Key) error {
			return errOf(h.Elevate(accounttest.From(t), who, password))
		},
		"delete": func(t *testing.T, h *hub, who account.Who, _ account.Key) error {
			return errOf(h.Delete(t.Context(), who, who.Account.Username))
		},
		"session": func(t *testing.T, h *hub, who account.Who, _ account.Key) error {
			return h.EndSession(t.Context(), who, who.Session.ID)
		},
		"sessions": func(t *testing.T, h *hub, who account.Who, _ account.Key) error {
			return errOf(h.EndOthers(t.Context(), who))
		},
		"unlink": func(t *testing.T, h *hub, who account.Who, _ account.Key) error {
			linked, err := h.Identities(t.Context(), who)
			check(t, err)
			return h.Unlink(t.Context(), who, linked[0].ID)
		},
		"key": func(t *testing.T, h *hub, who account.Who, _ account.Key) error {
			_, _, err := h.CreateKey(t.Context(), who, personal(t, h.World, who), account.NewKey{Name: "k", Scopes: []string{"agents:read"}})
			return err
		},
		"rotate": func(t *testing.T, h *hub, who account.Who, k account.Key) error {
			_, _, err := h.RotateKey(t.Context(), who, personal(t, h.World, who), k.ID, time.Minute, false)
			return err
		},
		"revoke": func(t *testing.T, h *hub, who account.Who, k account.Key) error {
			return h.RevokeKey(t.Context(), who, personal(t, h.World, who), k.ID)
		},
		"suspend": func(t *testing.T, h *hub, who account.Who, _ account.Key) error {
			return errOf(h.SuspendPerson(t.Context(), who, h.Admin.Account.ID, "no reason at all"))
		},
		"impersonate": func(t *testing.T, h *hub, who account.Who, _ account.Key) error {
			return errOf(h.Impersonate(t.Context(), who, h.Admin.Account.ID, "no reason at all"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachHub(t, byMail, func(t *testing.T, h *hub) {
				in := joinByMail(t, h.World, "ada@example.com")
				b := &browser{h: h, as: "octocat", token: in.Token}
				if _, err := b.visit(t, account.IntentLink); err != nil {
					t.Fatal(err)
				}
				execute(t, h.World, "UPDATE accounts SET service_role = 'admin' WHERE id = $1", in.Account.ID)
				intruder := *b.who(t)
				k, _ := makeKey(t, h.World, intruder)
				execute(t, h.World, "UPDATE sessions SET revoked_at = 1 WHERE id = $1", intruder.Session.ID)
				state := func() [4]int64 {
					return [4]int64{
						count(t, h.World, "SELECT sum(version) FROM accounts"), count(t, h.World, "SELECT count(*) FROM identities"),
						count(t, h.World, "SELECT count(*) FROM api_keys WHERE revoked_at IS NULL"), count(t, h.World, "SELECT count(*) FROM tokens WHERE used_at IS NULL"),
					}
				}
				before := state()
				is(t, verb(t, h, intruder, k), account.Unauthenticated)
				if after := state(); after != before {
					t.Errorf("it was %v and is %v", before, after)
				}
			})
		})
	}
}

// TestAnAdministratorWhoIsNoneByNowBringsNoApp takes the role, or the session, while GitHub is being asked.
func TestAnAdministratorWhoIsNoneByNowBringsNoApp(t *testing.T) {
	for name, lose := range map[string]string{
		"role":    "UPDATE accounts SET service_role = 'none' WHERE id = $1",
		"session": "UPDATE sessions SET revoked_at = 1 WHERE account = $1",
	} {
		t.Run(name, func(t *testing.T) {
			eachHubUnconfigured(t, func(t *testing.T, h *hub) {
				form, err := h.StartManifest(t.Context(), h.Admin, "github", "", false)
				check(t, err)
				back := h.approve(t, form)
				h.GitHub.FailOnce(convertRoute, githubtest.Slow(300*time.Millisecond))
				ended := make(chan error)
				go func() {
					ended <- h.FinishManifest(t.Context(), h.Admin, "github", back.Get("code"), back.Get("state"), form.Browser)
				}()
				for h.query(t, "SELECT count(*) FROM providers WHERE outcome = $1", account.ProviderExchanging) == 0 {
					time.Sleep(time.Millisecond)
				}
				execute(t, h.World, lose, h.Admin.Account.ID)
				is(t, <-ended, account.AdminRequired)
				p, err := h.Provider(t.Context(), "github")
				if err != nil || p.Configured || p.State != account.ProviderExchanging {
					t.Errorf("the app is there: %+v, %v", p, err)
				}
			})
		})
	}
}
