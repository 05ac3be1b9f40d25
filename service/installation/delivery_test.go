package installation_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/account/githubtest"
)

// eachHook runs a test on both databases with an app that has a webhook, which leads to the address.
func eachHook(t *testing.T, fn func(t *testing.T, h *hub, hook string)) {
	t.Helper()
	accounttest.EachHook(t, func(t *testing.T, h *accounttest.Hub, hook string) { fn(t, &hub{h}, hook) })
}

const guid = "72d3162e-cc78-11e3-81ab-4c9367dc0958"

func TestOnlyWhatGitHubSignedIsBelieved(t *testing.T) {
	eachHook(t, func(t *testing.T, h *hub, hook string) {
		in := h.Browser("octocat").SignIn(t)
		body := h.GitHub.RevokedPayload(githubtest.Octocat)
		forged := githubtest.Delivery{Event: "github_app_authorization", Body: body, To: hook, ID: guid, Secret: "anything else"}
		if status, typ := h.Deliver(t, forged); status != 400 || typ != fault.InvalidSignature {
			t.Errorf("forged: %d %s", status, typ)
		}
		_, key, err := h.Apps.Signer(t.Context(), "github")
		accounttest.Check(t, err)
		old := hmac.New(sha1.New, []byte(key))
		old.Write([]byte("{}"))
		for name, header := range map[string]http.Header{
			"none":  {},
			"SHA-1": {"X-Hub-Signature": {"sha1=" + hex.EncodeToString(old.Sum(nil))}},
			"empty": {"X-Hub-Signature-256": {""}},
			"two":   {"X-Hub-Signature-256": {"sha256=00", "sha256=00"}},
			"short": {"X-Hub-Signature-256": {"sha256=00"}},
			"bare":  {"X-Hub-Signature-256": {strings.Repeat("0", 64)}},
		} {
			if _, err := h.Installations.Take(t.Context(), "github", header, []byte("{}")); !fault.Is(err, fault.InvalidSignature) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if n := h.Count(t, "SELECT count(*) FROM deliveries"); n != 0 {
			t.Errorf("%d deliveries are stored", n)
		}
		if _, err := h.Identities.Token(t.Context(), in.Account.ID, "github"); err != nil {
			t.Errorf("the connection is gone: %v", err)
		}
	})
}

func TestWithoutAnAppOrItsSecretNoDeliveryIsBelieved(t *testing.T) {
	accounttest.EachUnconfigured(t, func(t *testing.T, h *accounttest.Hub) {
		header := http.Header{"X-Hub-Signature-256": {"sha256=" + strings.Repeat("0", 64)}, "X-Github-Event": {"ping"}, "X-Github-Delivery": {guid}}
		_, unconfigured := h.Installations.Take(t.Context(), "github", header, []byte("{}"))
		accounttest.Is(t, unconfigured, fault.InvalidSignature)
		h.Configure(t) // on an address that GitHub does not reach
		_, secretless := h.Installations.Take(t.Context(), "github", header, []byte("{}"))
		if fmt.Sprint(secretless) != fmt.Sprint(unconfigured) {
			t.Errorf("the answers differ: %v, %v", unconfigured, secretless)
		}
	})
}

func TestWhatIsSignedAndMalformedIsRefused(t *testing.T) {
	eachHook(t, func(t *testing.T, h *hub, hook string) {
		for name, d := range map[string]githubtest.Delivery{
			"no event":        {Event: "", Body: "{}", ID: guid},
			"odd event":       {Event: "in stallation", Body: "{}", ID: guid},
			"not JSON":        {Event: "ping", Body: "hello", ID: guid},
			"a list":          {Event: "ping", Body: "[]", ID: guid},
			"odd id":          {Event: "ping", Body: "{}", ID: "'; DROP TABLE deliveries"},
			"long id":         {Event: "ping", Body: "{}", ID: strings.Repeat("0", 65)},
			"no installation": {Event: "installation", Body: `{"action":"deleted"}`, ID: guid},
			"odd install":     {Event: "installation", Body: `{"action":"deleted","installation":{"id":"7"}}`, ID: guid},
			"no sender":       {Event: "github_app_authorization", Body: `{"action":"revoked"}`, ID: guid},
			"sender's login":  {Event: "github_app_authorization", Body: `{"action":"revoked","sender":{"login":"octocat"}}`, ID: guid},
		} {
			d.To = hook
			if status, typ := h.Deliver(t, d); status != 400 || typ != fault.InvalidRequest && typ != fault.InvalidJSON {
				t.Errorf("%s: %d %s", name, status, typ)
			}
		}
		if n := h.Count(t, "SELECT count(*) FROM deliveries"); n != 0 {
			t.Errorf("%d deliveries are stored", n)
		}
		if status, _ := h.Deliver(t, githubtest.Delivery{Event: "ping", Body: h.GitHub.PingPayload(h.App), To: hook}); status != 202 {
			t.Errorf("ping: %d", status)
		}
	})
}

func TestADeliveryCountsOnce(t *testing.T) {
	eachHook(t, func(t *testing.T, h *hub, hook string) {
		b := h.Browser("octocat")
		in := b.SignIn(t)
		d := githubtest.Delivery{Event: "github_app_authorization", Body: h.GitHub.RevokedPayload(githubtest.Octocat), To: hook, ID: guid}
		answers := make(chan int, 50)
		for range cap(answers) {
			go func() {
				status, _ := h.Deliver(t, d)
				answers <- status
			}()
		}
		got := map[int]int{}
		for range cap(answers) {
			got[<-answers]++
		}
		if got[202] != 1 || got[200] != 49 {
			t.Errorf("answers: %v", got)
		}
		h.RevokedOnce(t, in)
		accounttest.Is(t, accounttest.ErrOf(h.Identities.Token(t.Context(), in.Account.ID, "github")), fault.ProviderConnectionRequired)
		// The account stays, and the way into it. What is told again later does not undo that.
		if again := b.SignIn(t); again.Account.ID != in.Account.ID {
			t.Error("another account")
		}
		h.Clock.Pass(10 * time.Minute)
		if status, _ := h.Deliver(t, d); status != 200 {
			t.Errorf("a replay: %d", status)
		}
		if _, err := h.Identities.Token(t.Context(), in.Account.ID, "github"); err != nil {
			t.Errorf("a replay cut the connection: %v", err)
		}
		h.Clock.Pass(31 * 24 * time.Hour)
		if _, err := h.Installations.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := h.Count(t, "SELECT count(*) FROM deliveries"); n != 0 {
			t.Errorf("%d deliveries are left", n)
		}
	})
}

func TestAnInstallationFollowsWhatGitHubTells(t *testing.T) {
	eachHook(t, func(t *testing.T, h *hub, hook string) {
		i := h.installer(t, "octocat")
		if _, err := i.comeBack(t, i.leave(t)); err != nil {
			t.Fatal(err)
		}
		id := i.bound(t)[0].ID
		tell := func(action string) {
			t.Helper()
			if status, typ := h.Deliver(t, githubtest.Delivery{Event: "installation", Body: h.GitHub.InstallationPayload(action, id), To: hook}); status != 202 {
				t.Errorf("%s: %d %s", action, status, typ)
			}
		}
		tell("suspend")
		if !i.bound(t)[0].Suspended {
			t.Error("it is not suspended")
		}
		tell("unsuspend")
		if i.bound(t)[0].Suspended {
			t.Error("it is suspended")
		}
		tell("new_permissions_accepted")
		for _, body := range []any{h.GitHub.RepositoriesPayload(id, []int64{githubtest.Hello}, nil), h.GitHub.RepositoriesPayload(id, nil, []int64{githubtest.Hello})} {
			if status, _ := h.Deliver(t, githubtest.Delivery{Event: "installation_repositories", Body: body, To: hook}); status != 202 {
				t.Errorf("repositories: %d", status)
			}
		}
		if chosen := i.bound(t)[0].Selection; chosen != "selected" {
			t.Errorf("of repositories it reaches: %s", chosen)
		}
		if status, _ := h.Deliver(t, githubtest.Delivery{Event: "push", Body: h.GitHub.PushPayload(id, githubtest.Hello), To: hook}); status != 202 {
			t.Errorf("push: %d", status)
		}
		tell("deleted")
		if all := i.bound(t); len(all) != 0 {
			t.Errorf("bound: %+v", all)
		}
		// Told late: it stays gone.
		tell("created")
		tell("unsuspend")
		if n := h.Count(t, "SELECT count(*) FROM installations WHERE deleted_at IS NULL"); n != 0 {
			t.Error("it came back")
		}
		want := "installation.bound installation.suspended installation.restored installation.permissions_changed " +
			"installation.repositories_changed installation.repositories_changed installation.deleted"
		if told := strings.Join(h.Actions(t, "users/octocat/personal"), " "); !strings.HasSuffix(told, want) {
			t.Errorf("told: %s", told)
		}
	})
}

func TestDeliveriesComeInAnyOrder(t *testing.T) {
	eachHook(t, func(t *testing.T, h *hub, hook string) {
		id := h.GitHub.AddInstallation(githubtest.Installation{App: h.App, Account: githubtest.Octocat})
		for _, action := range []string{"deleted", "created"} {
			if status, _ := h.Deliver(t, githubtest.Delivery{Event: "installation", Body: h.GitHub.InstallationPayload(action, id), To: hook}); status != 202 {
				t.Errorf("%s: %d", action, status)
			}
		}
		if n := h.Count(t, "SELECT count(*) FROM installations WHERE deleted_at IS NOT NULL"); n != 1 {
			t.Error("it came back")
		}
		h.Clock.Pass(31 * 24 * time.Hour)
		if _, err := h.Installations.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := h.Count(t, "SELECT count(*) FROM installations"); n != 0 {
			t.Errorf("%d installations are left", n)
		}
	})
}

func TestADeliveryAboutAnotherAppChangesNothing(t *testing.T) {
	eachHook(t, func(t *testing.T, h *hub, hook string) {
		body := fmt.Sprintf(`{"action":"created","installation":{"id":77,"app_id":%d,"account":{"id":1,"login":"x","type":"User"}}}`, h.App+1)
		if status, _ := h.Deliver(t, githubtest.Delivery{Event: "installation", Body: body, To: hook}); status != 202 {
			t.Errorf("answer: %d", status)
		}
		if n := h.Count(t, "SELECT count(*) FROM installations"); n != 0 {
			t.Errorf("%d installations", n)
		}
		// Whom nobody here knows loses nothing here.
		if status, _ := h.Deliver(t, githubtest.Delivery{Event: "github_app_authorization", Body: h.GitHub.RevokedPayload(githubtest.Hubot), To: hook}); status != 202 {
			t.Errorf("answer: %d", status)
		}
	})
}
