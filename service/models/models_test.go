package models_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/outward"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/model"
	"svc.dev/svc/model/modeltest"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/models"
	"svc.dev/svc/service/secret"
)

func TestMain(m *testing.M) { os.Exit(sqldbtest.Reuse(m)) }

const home = "users/ada/personal"

var ada = audit.Actor{Kind: "account", ID: "acc_ada", Username: "ada"}

// scene is the room on a database, whose way out leads to servers on this machine too.
type scene struct {
	*testing.T
	*models.Models
	world *accounttest.World
	log   *bytes.Buffer
	heard *atomic.Pointer[func(query string)] // of the next statements, before they run
}

// before does something once, before a statement that contains a text.
func (s *scene) before(text string, do func()) {
	hear := func(query string) {
		if strings.Contains(query, text) && s.heard.Swap(nil) != nil {
			do()
		}
	}
	s.heard.Store(&hear)
}

// each runs a test on both databases.
func each(t *testing.T, edit func(*models.Config), fn func(s *scene)) {
	t.Helper()
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		heard := new(atomic.Pointer[func(string)])
		w := accounttest.New(t, address, accounttest.Options{Observe: func(query string, _ []any) {
			if hear := heard.Load(); hear != nil {
				(*hear)(query)
			}
		}})
		if err := w.DB.Migrate(t.Context(), models.Migrations); err != nil {
			t.Fatal(err)
		}
		guard, err := outward.New(outward.Config{Allow: []string{"127.0.0.0/8"}})
		if err != nil {
			t.Fatal(err)
		}
		log := new(bytes.Buffer)
		c := models.Config{
			DB: w.DB, Secrets: w.Store, Audit: w.Log, Guard: guard, Idle: 5 * time.Second, Now: w.Clock.Now, Log: slog.New(slog.NewTextHandler(log, nil)),
			Settings: func(scope string) string { return "https://agents.example.com/" + scope + "/settings/models" },
		}
		if edit != nil {
			edit(&c)
		}
		fn(&scene{T: t, Models: models.New(c), world: w, log: log, heard: heard})
	})
}

func text(s string) *string { return &s }

func (s *scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *scene) put(provider string, c models.Change) models.ModelProvider {
	s.Helper()
	p, err := s.Put(s.Context(), home, ada, provider, c)
	s.must(err)
	return p
}

// ask is what a model of a scope answers, and why it does not.
func (s *scene) ask(scope, name string) (string, error) {
	s.Helper()
	p, err := s.Find(s.Context(), scope, name)
	if err != nil {
		return "", err
	}
	_, id, err := model.Name(name)
	s.must(err)
	var said strings.Builder
	for e, err := range p.Turn(s.Context(), model.Request{Model: id, Messages: []model.Message{{Role: model.RoleUser, Parts: []model.Part{model.Text("hello")}}}}) {
		if err != nil {
			return said.String(), err
		}
		said.WriteString(e.Text)
	}
	return said.String(), nil
}

// servers are those that the providers' protocols are spoken to, by provider.
var servers = map[string]modeltest.API{"anthropic": modeltest.Anthropic, "openai": modeltest.Chat, "google": modeltest.Google}

func TestEachProviderAnswersWithTheKeyOfItsWorkspace(t *testing.T) {
	each(t, nil, func(s *scene) {
		for provider, api := range servers {
			server := modeltest.NewServer(s.T, api, modeltest.Reply{Text: []string{"Hel", "lo."}}, modeltest.Reply{Text: []string{"ok"}})
			p := s.put(provider, models.Change{URL: &server.URL, Key: text(modeltest.Key)})
			if !p.Key.Present || p.Key.Owner != models.OfWorkspace || p.Key.UpdatedBy != ada.ID || p.URL != server.URL || p.Version != 2 {
				s.Errorf("%s is shown as %+v", provider, p)
			}
			if said, err := s.ask(home, provider+"/some-model"); err != nil || said != "Hello." {
				s.Errorf("%s says %q, %v", provider, said, err)
			}
			if _, err := s.ask("users/bob/personal", provider+"/some-model"); err == nil {
				s.Errorf("%s answers another workspace", provider)
			}
			_, err := s.PutDefault(s.Context(), home, ada, provider+"/some-model", 0)
			s.must(err)
			if c, err := s.Test(s.Context(), home, ada, provider); err != nil || c.Result != models.OK {
				s.Errorf("a check of %s: %+v, %v", provider, c, err)
			}
		}
	})
}

// TestAMissingKeySaysWhatToSetAndWhere asks without a key, and with one that is refused.
func TestAMissingKeySaysWhatToSetAndWhere(t *testing.T) {
	each(t, nil, func(s *scene) {
		for provider := range servers {
			_, err := s.ask(home, provider+"/some-model")
			e, ok := errors.AsType[*model.Error](err)
			if !ok || e.Class != model.Unauthorized || !strings.Contains(e.Message, models.KeyName(provider)) || !strings.Contains(e.Message, home+"/settings/models") {
				s.Errorf("%s without a key: %v", provider, err)
			}
			server := modeltest.NewServer(s.T, servers[provider])
			s.put(provider, models.Change{URL: &server.URL, Key: text("sk-wrong-0123456789")})
			_, err = s.ask(home, provider+"/some-model")
			if e, ok := errors.AsType[*model.Error](err); !ok || e.Class != model.Unauthorized || !strings.Contains(e.Message, models.KeyName(provider)) {
				s.Errorf("%s with a wrong key: %v", provider, err)
			}
			c, err := s.Test(s.Context(), home, ada, provider)
			if err != nil || c.Result != models.KeyRefused || strings.Contains(c.Message, "sk-wrong") {
				s.Errorf("a check of %s: %+v, %v", provider, c, err)
			}
			if p, err := s.Get(s.Context(), home, provider); err != nil || p.LastCheck == nil || p.LastCheck.Result != models.KeyRefused {
				s.Errorf("%s is shown as %+v, %v", provider, p, err)
			}
		}
	})
}

// TestTheServicesKeyGoesToNoAddressOfAWorkspace has the operator pay for all, and one workspace choose another address: it gets
// no key there.
func TestTheServicesKeyGoesToNoAddressOfAWorkspace(t *testing.T) {
	server := modeltest.NewServer(t, modeltest.Chat)
	thief := modeltest.NewServer(t, modeltest.Chat)
	each(t, func(c *models.Config) {
		c.Service = map[string]models.Service{"openai": {URL: server.URL, Key: secret.Hide(modeltest.Key)}}
	}, func(s *scene) {
		if _, err := s.ask(home, "openai/any"); err != nil {
			s.Errorf("with the service's key: %v", err)
		}
		p, err := s.Get(s.Context(), home, "openai")
		if err != nil || p.Key.Owner != models.OfService || strings.Contains(p.URL, "127.0.0.1") {
			s.Errorf("shown as %+v, %v", p, err)
		}
		s.put("openai", models.Change{URL: &thief.URL})
		_, _ = s.ask(home, "openai/any")
		for _, r := range thief.Requests() {
			if got := r.Header.Get("Authorization"); strings.Contains(got, modeltest.Key) {
				s.Errorf("the service's key went to %s", thief.URL)
			}
		}
	})
}

// TestAKeyGoesOnlyWhereItWasSetFor sets another pair of address and key while the first is read: either pair is used, and no mixture.
func TestAKeyGoesOnlyWhereItWasSetFor(t *testing.T) {
	each(t, nil, func(s *scene) {
		const other = "sk-another-0123456789"
		first, second := modeltest.NewServer(s.T, modeltest.Chat), modeltest.NewServer(s.T, modeltest.Chat)
		s.put("openai", models.Change{URL: &first.URL, Key: text(modeltest.Key)})
		met := false
		s.before("FROM secrets", func() {
			met = true
			s.put("openai", models.Change{URL: &second.URL, Key: text(other)})
		})
		_, _ = s.ask(home, "openai/any")
		if !met {
			s.Fatal("nothing was set meanwhile")
		}
		for _, r := range first.Requests() {
			if got := r.Header.Get("Authorization"); strings.Contains(got, other) {
				s.Errorf("the key of the second server went to the first")
			}
		}
		for _, r := range second.Requests() {
			if got := r.Header.Get("Authorization"); strings.Contains(got, modeltest.Key) {
				s.Errorf("the key of the first server went to the second")
			}
		}
		if n := len(first.Requests()) + len(second.Requests()); n != 1 {
			s.Errorf("%d requests", n)
		}
	})
}

// TestPrivateAddressesAreRefused writes them, has a name mean one, and sets none that a proxy of the machine's would reach.
func TestPrivateAddressesAreRefused(t *testing.T) {
	server := modeltest.NewServer(t, modeltest.Chat)
	each(t, func(c *models.Config) { c.Guard, _ = outward.New(outward.Config{}) }, func(s *scene) {
		for _, url := range []string{server.URL, "http://169.254.169.254/v1", "http://[::1]/v1", "ftp://example.com", "http://models.example.com/v1", "https://user:pass@example.com", "https://example.com/?key=1", "nonsense", "https://"} {
			_, err := s.Put(s.Context(), home, ada, "openai", models.Change{URL: &url, Key: text(modeltest.Key)})
			if !fault.Is(err, fault.InvalidRequest) {
				s.Errorf("%s: %v", url, err)
			}
		}
		named := strings.Replace(server.URL, "http://127.0.0.1", "https://localhost", 1)
		s.put("openai", models.Change{URL: &named, Key: text(modeltest.Key)})
		unknown, err := s.ask(home, "openai/any")
		if e, ok := errors.AsType[*model.Error](err); !ok || e.Class != model.Network || errors.Is(err, outward.ErrForbidden) {
			s.Errorf("a name that means this machine: %q, %v", unknown, err)
		}
		if c, err := s.Test(s.Context(), home, ada, "openai"); err != nil || c.Result != models.Unreachable || !strings.Contains(c.Message, "model.allow_private") {
			s.Errorf("a check: %+v, %v", c, err)
		}
		if len(server.Requests()) != 0 {
			s.Error("the server was reached")
		}
	})
}

// TestOnlyWhoProvedThemselvesTouchesAKey adds one without, and then neither replaces it nor sends it elsewhere.
func TestOnlyWhoProvedThemselvesTouchesAKey(t *testing.T) {
	stale := fault.New("reauthentication_required", "Prove who you are.", "")
	each(t, nil, func(s *scene) {
		s.put("anthropic", models.Change{Key: text("first-key-of-all"), Stale: stale})
		for name, c := range map[string]models.Change{
			"replace": {Key: text("second-key-of-all"), Stale: stale}, "lead away": {URL: text("https://thief.example.com"), Stale: stale},
		} {
			if _, err := s.Put(s.Context(), home, ada, "anthropic", c); !errors.Is(err, stale) {
				s.Errorf("%s: %v", name, err)
			}
		}
		if p := s.put("anthropic", models.Change{URL: text(""), Stale: stale}); p.Version != 3 {
			s.Errorf("what changes nothing: %+v", p)
		}
		if p := s.put("anthropic", models.Change{Key: text("second-key-of-all")}); p.Version != 4 {
			s.Errorf("after a proof: %+v", p)
		}
	})
}

func TestVersionsAndDefaults(t *testing.T) {
	each(t, func(c *models.Config) { c.Default = "scripted/words" }, func(s *scene) {
		s.put("google", models.Change{Key: text("a-google-key")})
		_, err := s.Put(s.Context(), home, ada, "google", models.Change{Key: text("another-key"), Version: 7})
		if !fault.Is(err, fault.VersionConflict) {
			s.Errorf("a stale change: %v", err)
		}
		if err := s.Delete(s.Context(), home, ada, "google", 7); !fault.Is(err, fault.VersionConflict) {
			s.Errorf("a stale removal: %v", err)
		}
		s.must(s.Delete(s.Context(), home, ada, "google", 2))
		if err := s.Delete(s.Context(), home, ada, "google", 0); !fault.Is(err, fault.ItemNotFound) {
			s.Errorf("a second removal: %v", err)
		}
		for _, name := range []string{"nobody/model", "model", "scripted/other", "openai/", "openai/a\nb", strings.Repeat("x", 300)} {
			if _, err := s.PutDefault(s.Context(), home, ada, name, 0); !fault.Is(err, fault.InvalidRequest) {
				s.Errorf("default %q: %v", name, err)
			}
		}
		d, err := s.PutDefault(s.Context(), home, ada, "openai/some-model", 0)
		if err != nil || d.Version != 2 || d.Source != models.OfWorkspace {
			s.Errorf("default %+v, %v", d, err)
		}
		if _, err := s.PutDefault(s.Context(), home, ada, "openai/other", 5); !fault.Is(err, fault.VersionConflict) {
			s.Errorf("a stale default: %v", err)
		}
		d, err = s.PutDefault(s.Context(), home, ada, "", 2)
		if err != nil || d.Model != "scripted/words" || d.Source != models.OfService {
			s.Errorf("no default: %+v, %v", d, err)
		}
		for _, provider := range []string{"nobody", models.Scripted, ""} {
			if _, err := s.Put(s.Context(), home, ada, provider, models.Change{Key: text("some-key-here")}); !fault.Is(err, fault.ItemNotFound) {
				s.Errorf("provider %q: %v", provider, err)
			}
		}
		for _, key := range []string{"", " ", "with space", "line\nbreak", "ключ"} {
			if _, err := s.Put(s.Context(), home, ada, "google", models.Change{Key: &key}); !fault.Is(err, fault.InvalidRequest) {
				s.Errorf("key %q: %v", key, err)
			}
		}
	})
}

// isDefault holds the default of a workspace to a model and to where it comes from.
func (s *scene) isDefault(scope, name, source string) {
	s.Helper()
	all, err := s.List(s.Context(), scope)
	s.must(err)
	d := all.ModelDefault
	if d.Model != name || d.Source != source || (d.Message != "") != (source == models.OfService && name == "scripted/words") {
		s.Errorf("the default is %+v, want %s of the %s", d, name, source)
	}
	for _, p := range all.Items {
		if want := strings.HasPrefix(name, p.Provider+"/"); (p.Default == name) != want || !want && p.Default != "" {
			s.Errorf("the default is %s, and that of %s %q", name, p.Provider, p.Default)
		}
	}
	if asked, err := s.DefaultOf(s.Context(), scope); err != nil || asked != name {
		s.Errorf("agents ask %s, %v", asked, err)
	}
}

// TestAKeyEndsTheScriptedModel stores keys one after another, and takes them away.
func TestAKeyEndsTheScriptedModel(t *testing.T) {
	each(t, nil, func(s *scene) {
		usual := map[string]string{}
		for _, provider := range models.Outside() {
			s.isDefault(home, "scripted/words", models.OfService)
			p := s.put(provider, models.Change{Key: text("a-key-of-a-provider")})
			usual[provider] = p.Default
			if !slices.Contains(p.Models, strings.TrimPrefix(p.Default, provider+"/")) {
				s.Errorf("%s is asked for %q, of which no price is known", provider, p.Default)
			}
			s.isDefault(home, p.Default, models.OfKey)
			s.isDefault("users/bob/personal", "scripted/words", models.OfService)
			s.must(s.Delete(s.Context(), home, ada, provider, 0))
		}
		s.put("openai", models.Change{Key: text("the-first-key")})
		s.world.Clock.Pass(time.Minute)
		s.put("anthropic", models.Change{Key: text("the-second-key")})
		s.put("openai", models.Change{Key: text("the-first-key-again")})
		s.isDefault(home, usual["openai"], models.OfKey)
		_, err := s.PutDefault(s.Context(), home, ada, "scripted/words", 0)
		s.must(err)
		s.isDefault(home, "scripted/words", models.OfWorkspace)
		_, err = s.PutDefault(s.Context(), home, ada, "", 0)
		s.must(err)
		s.must(s.Delete(s.Context(), home, ada, "openai", 0))
		s.isDefault(home, usual["anthropic"], models.OfKey)

		// The key is a secret like others.
		bob := secret.Owner{Kind: secret.Business, Scope: "users/bob/personal"}
		s.must(s.world.DB.Write(s.Context(), func(tx *sqldb.Tx) error {
			_, err := s.Secrets.Seal(tx, bob, models.KeyName("google"), []byte("a-key"), ada.ID)
			return err
		}))
		s.isDefault(bob.Scope, usual["google"], models.OfKey)
		s.Models.Default = "openai/of-the-operator"
		s.isDefault(bob.Scope, "openai/of-the-operator", models.OfService)
	})
}

// named is a server that speaks as OpenAI does, and names its models.
func named(t *testing.T, names ...string) (url string, rename func(...string)) {
	answers := modeltest.NewServer(t, modeltest.Chat)
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" {
			answers.ServeHTTP(w, r)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		all := []map[string]string{}
		for _, name := range names {
			all = append(all, map[string]string{"id": name})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": all})
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1", func(others ...string) {
		mu.Lock()
		defer mu.Unlock()
		names = others
	}
}

// TestAServerOfOnesOwnAnswersWhenItWasTested has no model of it asked whose name is not known.
func TestAServerOfOnesOwnAnswersWhenItWasTested(t *testing.T) {
	each(t, nil, func(s *scene) {
		url, rename := named(s.T, "echo", "other")
		check := func(want string) {
			s.Helper()
			if c, err := s.Test(s.Context(), home, ada, "openai"); err != nil || c.Result != want {
				s.Errorf("a check: %+v, %v, want %s", c, err, want)
			}
		}
		s.put("openai", models.Change{URL: &url, Key: text(modeltest.Key)})
		s.isDefault(home, "scripted/words", models.OfService)
		if all, err := s.List(s.Context(), home); err != nil || !strings.Contains(all.Message, "openai") {
			s.Errorf("nobody is told what to do: %q, %v", all.Message, err)
		}
		check(models.OK)
		s.isDefault(home, "openai/echo", models.OfKey)
		rename()
		check(models.ModelUnknown)
		s.isDefault(home, "openai/echo", models.OfKey)
		s.put("openai", models.Change{Key: text(modeltest.Key)})
		s.isDefault(home, "openai/echo", models.OfKey)
		rename("newer", "echo")
		check(models.OK)
		s.isDefault(home, "openai/newer", models.OfKey)
		s.put("openai", models.Change{URL: text("http://127.0.0.1:1/v1")})
		s.isDefault(home, "scripted/words", models.OfService)
		s.put("google", models.Change{Key: text("a-key-of-another")})
		if d, err := s.DefaultOf(s.Context(), home); err != nil || !strings.HasPrefix(d, "google/") {
			s.Errorf("of two keys, one for a server of which nothing is known: %s, %v", d, err)
		}
	})
}

// told is how often the audit log tells of the use of a secret.
func (s *scene) told() int {
	s.Helper()
	n, err := sqldb.Read(s.Context(), s.world.DB, func(tx *sqldb.Tx) (int, error) {
		return sqldb.Value[int](tx, "count", "SELECT count(*) FROM audit_events WHERE action = 'secret.used'")
	})
	s.must(err)
	return n
}

// TestACheckIsAUseOfTheKey checks with a key of the workspace's, with one that is refused, and without any.
func TestACheckIsAUseOfTheKey(t *testing.T) {
	each(t, nil, func(s *scene) {
		counted := map[string]int{}
		s.Asked = func(provider, key string) { counted[provider+" "+key]++ }
		check := func(provider string) {
			s.Helper()
			if _, err := s.Test(s.Context(), home, ada, provider); err != nil {
				s.Error(err)
			}
		}
		check("google")
		if n := s.told(); n != 0 || len(counted) != 0 {
			s.Errorf("without a key %d uses are told of, and counted %v", n, counted)
		}
		server := modeltest.NewServer(s.T, modeltest.Anthropic)
		s.put("anthropic", models.Change{URL: &server.URL, Key: text(modeltest.Key)})
		check("anthropic")
		check("anthropic")
		if n := s.told(); n != 1 || counted["anthropic workspace"] != 2 {
			s.Errorf("of two checks %d are told of, and counted %v", n, counted)
		}
		refusing := modeltest.NewServer(s.T, modeltest.Google)
		s.put("google", models.Change{URL: &refusing.URL, Key: text("sk-wrong-0123456789")})
		check("google")
		if n := s.told(); n != 2 || counted["google workspace"] != 1 {
			s.Errorf("with a wrong key %d uses are told of, and counted %v", n, counted)
		}
	})
}

// TestUseOfAKeyIsToldOnceAnHour asks often, by two nodes of one database.
func TestUseOfAKeyIsToldOnceAnHour(t *testing.T) {
	server := modeltest.NewServer(t, modeltest.Anthropic)
	each(t, nil, func(s *scene) {
		s.put("anthropic", models.Change{URL: &server.URL, Key: text(modeltest.Key)})
		other := models.New(s.Config)
		for range 5 {
			for _, m := range []*models.Models{s.Models, other} {
				_, err := m.Find(s.Context(), home, "anthropic/some-model")
				s.must(err)
			}
		}
		if n := s.told(); n != 1 {
			s.Errorf("%d uses are told of within an hour", n)
		}
		s.world.Clock.Pass(time.Hour)
		_, err := s.Find(s.Context(), home, "anthropic/some-model")
		s.must(err)
		if n := s.told(); n != 2 {
			s.Errorf("%d uses are told of within two hours", n)
		}
		s.must(s.world.DB.Write(s.Context(), func(tx *sqldb.Tx) error { return models.Erase(tx, home) }))
		if p, err := s.Get(s.Context(), home, "anthropic"); err != nil || p.Version != 1 {
			s.Errorf("after it was erased: %+v, %v", p, err)
		}
	})
}

// TestACompatibleServerIsAskedForItsModels checks one of which nothing is known but its address.
func TestACompatibleServerIsAskedForItsModels(t *testing.T) {
	each(t, nil, func(s *scene) {
		server := modeltest.NewServer(s.T, modeltest.Chat)
		s.put("openai", models.Change{URL: &server.URL})
		c, err := s.Test(s.Context(), home, ada, "openai")
		if err != nil || c.Result == models.OK || c.Result == "" {
			s.Errorf("a server that wants a key: %+v, %v", c, err)
		}
		gone := "http://127.0.0.1:1/v1"
		s.put("openai", models.Change{URL: &gone})
		if c, err := s.Test(s.Context(), home, ada, "openai"); err != nil || c.Result != models.Unreachable {
			s.Errorf("a server that is not there: %+v, %v", c, err)
		}
	})
}

// TestACheckThatEndsLateIsNotKeptForAnotherProvider sets another address while the first one answers.
func TestACheckThatEndsLateIsNotKeptForAnotherProvider(t *testing.T) {
	each(t, nil, func(s *scene) {
		for name, meanwhile := range map[string]func(){
			"the address": func() { s.put("openai", models.Change{URL: text("http://127.0.0.1:1/v1")}) },
			"the key":     func() { s.put("openai", models.Change{Key: text("sk-another-0123456789")}) },
			"the secret": func() {
				s.must(s.world.DB.Write(s.Context(), func(tx *sqldb.Tx) error {
					_, err := s.world.Store.Seal(tx, secret.Owner{Kind: secret.Business, Scope: home}, models.KeyName("openai"), []byte("sk-third-0123456789"), ada.ID)
					return err
				}))
			},
		} {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				meanwhile()
				w.WriteHeader(http.StatusUnauthorized)
			}))
			s.put("openai", models.Change{URL: text(server.URL), Key: text(modeltest.Key)})
			c, err := s.Test(s.Context(), home, ada, "openai")
			server.Close()
			if err != nil || c.Result != models.KeyRefused {
				s.Errorf("%s: a check: %+v, %v", name, c, err)
			}
			if p, err := s.Get(s.Context(), home, "openai"); err != nil || p.LastCheck != nil {
				s.Errorf("%s: kept %+v, %v", name, p.LastCheck, err)
			}
		}
	})
}

// TestWhatAServerCallsItsModelsIsNotTrusted has one say the key back that it was sent, as it is and encoded, and other things that
// are no names.
func TestWhatAServerCallsItsModelsIsNotTrusted(t *testing.T) {
	each(t, nil, func(s *scene) {
		var said func(sent string) string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				_ = json.NewEncoder(w).Encode(map[string]any{"data": []any{map[string]any{"id": said(r.Header.Get("Authorization"))}}})
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, modeltest.Stream(modeltest.Chat, modeltest.Reply{}))
		}))
		s.Cleanup(server.Close)
		s.put("openai", models.Change{URL: &server.URL, Key: text(modeltest.Key)})
		for name, id := range map[string]func(string) string{
			"the header":    func(sent string) string { return sent },
			"in a name":     func(sent string) string { return "model-" + strings.TrimPrefix(sent, "Bearer ") },
			"in base64":     func(sent string) string { return base64.StdEncoding.EncodeToString([]byte(sent)) },
			"a zero":        func(string) string { return "a\x00b" },
			"lines":         func(string) string { return "a\nb" },
			"what is long":  func(string) string { return strings.Repeat("x", 4000) },
			"nothing":       func(string) string { return "" },
			"another order": func(string) string { return "a\u202eb" },
		} {
			said = id
			c, err := s.Test(s.Context(), home, ada, "openai")
			if err != nil || c.Result != models.ModelUnknown {
				s.Errorf("%s: %+v, %v", name, c, err)
			}
			p, err := s.Get(s.Context(), home, "openai")
			s.must(err)
			for _, held := range []string{c.Message, p.LastCheck.Message} {
				if len(held) > 500 || strings.Contains(held, modeltest.Key) || strings.Contains(held, base64.StdEncoding.EncodeToString([]byte("Bearer "+modeltest.Key))) {
					s.Errorf("%s is kept: %.600q", name, held)
				}
			}
		}
		said = func(string) string { return "some-model" }
		if c, err := s.Test(s.Context(), home, ada, "openai"); err != nil || c.Result != models.OK || c.Message != "some-model answers." {
			s.Errorf("a name: %+v, %v", c, err)
		}
	})
}
