package app_test

import (
	"fmt"
	"strings"
	"testing"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/account/githubtest"
	"svc.dev/svc/service/secret"
)

// sealedIDs are the ids of the app as the secret store holds them; an empty one is not there.
func (h *hub) sealedIDs(t *testing.T) (client, id string) {
	t.Helper()
	for name, to := range map[string]*string{"client_id": &client, "id": &id} {
		err := h.DB.Read(t.Context(), func(tx *sqldb.Tx) error {
			value, err := h.Store.OpenIn(tx, secret.Owner{Kind: secret.Service}, "github/1/"+name)
			*to = string(value)
			return err
		})
		if err != nil && !strings.Contains(err.Error(), secret.ErrNotFound.Error()) {
			t.Fatal(err)
		}
	}
	return client, id
}

// works goes through everything that needs to know by which ids GitHub knows the app.
func (h *hub) works(t *testing.T, login, hook string) {
	t.Helper()
	b, _ := h.AddPerson(t, login, login+"@example.org")
	in := b.SignIn(t)
	if _, err := h.Identities.Token(t.Context(), in.Account.ID, "github"); err != nil {
		t.Errorf("connection: %v", err)
	}
	id := h.GitHub.AddInstallation(githubtest.Installation{App: h.App, Account: githubtest.Octocat})
	body := h.GitHub.InstallationPayload("suspend", id)
	if status, typ := h.Deliver(t, githubtest.Delivery{Event: "installation", Body: body, To: hook}); status != 202 {
		t.Errorf("delivery: %d %s", status, typ)
	}
	// A delivery of another app's installation would have changed nothing.
	if n := h.Count(t, "SELECT count(*) FROM installations WHERE id = $1 AND suspended_at IS NOT NULL", id); n != 1 {
		t.Errorf("%d installations were suspended", n)
	}
}

// TestTheIDsOfTheAppAreSealed holds what is new, what a release before left in clear, and both beside each other.
func TestTheIDsOfTheAppAreSealed(t *testing.T) {
	accounttest.EachHook(t, func(t *testing.T, it *accounttest.Hub, hook string) {
		h := &hub{it}
		client, id := h.sealedIDs(t)
		if client == "" || id != fmt.Sprint(h.App) {
			t.Fatalf("sealed %q and %q, want the ids of app %d", client, id, h.App)
		}
		var clear string
		accounttest.Check(t, h.DB.Read(t.Context(), func(tx *sqldb.Tx) error { return tx.QueryRow("SELECT app FROM providers").Scan(&clear) }))
		if !strings.Contains(clear, `"clientId":"`+client+`"`) || !strings.Contains(clear, `"id":`+id) {
			t.Errorf("a node of the release before finds %s", clear)
		}
		// What is in clear does not count, whoever changes it.
		forged := strings.NewReplacer(client, "Iv_of_somebody_else", `"id":`+id, `"id":7`).Replace(clear)
		h.Execute(t, "UPDATE providers SET app = $1", forged)
		h.works(t, "one", hook)

		// A node of the release before has configured the app: nothing is sealed until one of this release starts.
		h.Execute(t, "DELETE FROM secret_values WHERE secret IN (SELECT id FROM secrets WHERE name IN ('github/1/client_id', 'github/1/id'))")
		h.Execute(t, "DELETE FROM secrets WHERE name IN ('github/1/client_id', 'github/1/id')")
		h.Execute(t, "UPDATE providers SET app = $1", clear)
		h.works(t, "two", hook)
		for range 2 {
			accounttest.Check(t, h.Apps.Seal(t.Context()))
		}
		if again, number := h.sealedIDs(t); again != client || number != id {
			t.Errorf("sealed %q and %q at the start, want %q and %q", again, number, client, id)
		}
		h.Execute(t, "UPDATE providers SET app = $1", forged)
		h.works(t, "three", hook)
	})
}

func TestNothingIsSealedOfAProviderThatIsNotConfigured(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		h := &hub{accounttest.NewHub(t, address, accounttest.Options{Mail: true, Edit: func(c *account.Config) { c.Strict = false }})}
		accounttest.Check(t, h.Apps.Seal(t.Context()))
		if n := h.Count(t, "SELECT count(*) FROM providers"); n != 0 {
			t.Errorf("%d providers", n)
		}
		accounttest.Is(t, accounttest.ErrOf(h.Identities.StartSignIn(t.Context(), "github", account.SignInRequest{})), fault.ProviderNotConfigured)
	})
}
