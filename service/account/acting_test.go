package account_test

import (
	"testing"
	"time"

	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/apikey"
)

// TestWhoWasPutOutDoesNothingMore is an intruder whose requests were let in a moment before the owner ended all sessions:
// none of them changes anything, by whichever verb.
func TestWhoWasPutOutDoesNothingMore(t *testing.T) {
	for name, verb := range map[string]func(t *testing.T, h *hub, who account.Who, k apikey.Key) error{
		"email": func(t *testing.T, h *hub, who account.Who, _ apikey.Key) error {
			return h.Emails.Change(t.Context(), who, "eve@example.com")
		},
		"verification": func(t *testing.T, h *hub, who account.Who, _ apikey.Key) error {
			return h.Emails.SendVerification(t.Context(), who)
		},
		"name": func(t *testing.T, h *hub, who account.Who, _ apikey.Key) error {
			return accounttest.ErrOf(h.Rename(t.Context(), who, "Eve", 0))
		},
		"password": func(t *testing.T, h *hub, who account.Who, _ apikey.Key) error {
			return accounttest.ErrOf(h.Passwords.Change(accounttest.From(t), who, password, other))
		},
		"reauth": func(t *testing.T, h *hub, who account.Who, _ apikey.Key) error {
			return accounttest.ErrOf(h.Passwords.Reauth(accounttest.From(t), who, password))
		},
		"elevate": func(t *testing.T, h *hub, who account.Who, _ apikey.Key) error {
			return accounttest.ErrOf(h.Staff.Elevate(accounttest.From(t), who, password))
		},
		"delete": func(t *testing.T, h *hub, who account.Who, _ apikey.Key) error {
			return accounttest.ErrOf(h.Delete(t.Context(), who, who.Account.Username))
		},
		"session": func(t *testing.T, h *hub, who account.Who, _ apikey.Key) error {
			return h.Sessions.End(t.Context(), who, who.Session.ID)
		},
		"sessions": func(t *testing.T, h *hub, who account.Who, _ apikey.Key) error {
			return accounttest.ErrOf(h.Sessions.EndOthers(t.Context(), who))
		},
		"unlink": func(t *testing.T, h *hub, who account.Who, _ apikey.Key) error {
			linked, err := h.Identities.List(t.Context(), who)
			accounttest.Check(t, err)
			return h.Identities.Unlink(t.Context(), who, linked[0].ID)
		},
		"key": func(t *testing.T, h *hub, who account.Who, _ apikey.Key) error {
			_, _, err := h.Keys.Create(t.Context(), who, h.Personal(t, who), apikey.Draft{Name: "k", Scopes: []string{"agents:read"}})
			return err
		},
		"rotate": func(t *testing.T, h *hub, who account.Who, k apikey.Key) error {
			_, _, err := h.Keys.Rotate(t.Context(), who, h.Personal(t, who), k.ID, time.Minute, false)
			return err
		},
		"revoke": func(t *testing.T, h *hub, who account.Who, k apikey.Key) error {
			return h.Keys.Revoke(t.Context(), who, h.Personal(t, who), k.ID)
		},
		"suspend": func(t *testing.T, h *hub, who account.Who, _ apikey.Key) error {
			return accounttest.ErrOf(h.Staff.SuspendPerson(t.Context(), who, h.Admin.Account.ID, "no reason at all"))
		},
		"impersonate": func(t *testing.T, h *hub, who account.Who, _ apikey.Key) error {
			return accounttest.ErrOf(h.Views.Impersonate(t.Context(), who, h.Admin.Account.ID, "no reason at all"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachHub(t, byMail, func(t *testing.T, h *hub) {
				in := joinByMail(t, h.World, "ada@example.com")
				b := &accounttest.Browser{Hub: h.Hub, As: "octocat", Token: in.Token}
				if _, err := b.Visit(t, account.IntentLink); err != nil {
					t.Fatal(err)
				}
				h.Execute(t, "UPDATE accounts SET service_role = 'admin' WHERE id = $1", in.Account.ID)
				intruder := *b.Who(t)
				k, _ := h.MakeKey(t, intruder)
				h.Execute(t, "UPDATE sessions SET revoked_at = 1 WHERE id = $1", intruder.Session.ID)
				state := func() [4]int64 {
					return [4]int64{
						h.Count(t, "SELECT sum(version) FROM accounts"), h.Count(t, "SELECT count(*) FROM identities"),
						h.Count(t, "SELECT count(*) FROM api_keys WHERE revoked_at IS NULL"), h.Count(t, "SELECT count(*) FROM tokens WHERE used_at IS NULL"),
					}
				}
				before := state()
				accounttest.Is(t, verb(t, h, intruder, k), account.Unauthenticated)
				if after := state(); after != before {
					t.Errorf("it was %v and is %v", before, after)
				}
			})
		})
	}
}
