package engine_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/model"
	"svc.dev/svc/model/scripted"
	"svc.dev/svc/service/agent"
	"svc.dev/svc/service/engine"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/sqlstore"
)

// start is an engine in this process on a database of its own.
func start(t *testing.T, change ...func(*engine.Config)) (*svc.Runtime, http.Handler) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	db, err := sqldb.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "svc.db"), sqldb.Options{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Migrate(t.Context(), sqlstore.Migrations, agent.Migrations); err != nil {
		t.Fatal(err)
	}
	store, err := sqlstore.New(t.Context(), db, sqlstore.Config{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	agents, err := agent.New(agent.Config{
		DB: db, BuiltIn: engine.BuiltIn(), DefaultModel: func(context.Context, string) (string, error) { return "scripted/words", nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	rt, err := svc.New(svc.Config{Store: store, Model: model.Providers{"scripted": scripted.Words()}.Find, Resolve: agents.Resolve, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	engine.Declare(rt)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = rt.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
		_ = store.Close()
		_ = db.Close()
	})
	forward, guard := scope.NewPair()
	c := engine.Config{Runtime: rt, Guard: guard, Agents: agents, Log: log}
	for _, fn := range change {
		fn(&c)
	}
	return rt, forward.Within(engine.New(c))
}

// claims are those of ada's workspace with some actor.
func claims(actor string) scope.Claims {
	return scope.Claims{Account: "ada", AccountID: "acc_1", Scope: "users/ada/personal", Actor: actor, Authority: scope.Customer, Delegated: true, RequestID: "req_1"}
}

// deliver sends an event to a path by an actor.
func deliver(t *testing.T, e http.Handler, method, path, actor, event, body string, id int) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(scope.With(t.Context(), claims(actor)), method, path, strings.NewReader(body))
	r.Header = http.Header{"Content-Type": {"application/json"}, "X-Github-Event": {event}, "X-Github-Delivery": {fmt.Sprint("d", id)}}
	w := httptest.NewRecorder()
	e.ServeHTTP(w, r)
	return w
}

func TestOnlyTheGatewayPassesDeliveriesOn(t *testing.T) {
	rt, e := start(t)
	body := `{"action":"created","issue":{"number":1},"comment":{"body":"hi"},"repository":{"full_name":"acme/widgets"},"sender":{"login":"mona","type":"User"}}`
	for n, c := range []struct {
		method, path, actor string
		status              int
	}{
		{"POST", engine.GitHubPath, "ada", 404},
		{"POST", engine.GitHubPath, "channel:slack", 404},
		{"POST", engine.GitHubPath, "channel:github ", 404},
		{"POST", engine.GitHubPath, "automation:github", 404},
		{"GET", engine.GitHubPath, "channel:github", 404},
		{"PUT", engine.GitHubPath, "channel:github", 404},
		{"POST", engine.GitHubPath + "/", "channel:github", 404},
		{"POST", "/channels/github/events", "channel:github", 401},
		{"POST", "/channels/github/deliveries", "channel:github", 404},
	} {
		if w := deliver(t, e, c.method, c.path, c.actor, "issue_comment", body, n); w.Code != c.status {
			t.Errorf("%s %s by %s: %d %s", c.method, c.path, c.actor, w.Code, w.Body)
		}
	}
	if all := conversations(t, rt); len(all) != 0 {
		t.Errorf("conversations: %v", all)
	}
	if w := deliver(t, e, "POST", engine.GitHubPath, "channel:github", "issue_comment", body, 100); w.Code != 202 {
		t.Errorf("by the gateway: %d %s", w.Code, w.Body)
	}
	if w := deliver(t, e, "POST", engine.GitHubPath, "channel:github", "issue_comment", body, 100); w.Code != 200 {
		t.Errorf("again: %d %s", w.Code, w.Body)
	}
	if all := conversations(t, rt); !slices.Equal(all, []string{"github:acme:widgets:1"}) {
		t.Errorf("conversations: %v", all)
	}
}

// TestAPromptOfAChannelIsTheChannelsWhateverASenderIsCalled has senders take the names that a record would have.
func TestAPromptOfAChannelIsTheChannelsWhateverASenderIsCalled(t *testing.T) {
	rt, e := start(t)
	const comment = `{"action":"created","issue":{"number":%d},"comment":{"body":"hi"},"repository":{"full_name":"a/b"},"sender":{"login":%q,"type":"User"}}`
	for n, login := range []string{"mona", "ada", "ada customer acc_1", "channel:github", "", " "} {
		if w := deliver(t, e, "POST", engine.GitHubPath, "channel:github", "issue_comment", fmt.Sprintf(comment, n+1, login), n); w.Code != 202 {
			t.Fatalf("%q: %d %s", login, w.Code, w.Body)
		}
	}
	list, err := rt.In("users/ada/personal").Conversations(t.Context(), engine.Central, nil, 100)
	if err != nil || len(list.Conversations) != 6 {
		t.Fatalf("%d conversations, %v", len(list.Conversations), err)
	}
	for _, c := range list.Conversations {
		if by := scope.ParseBy(c.StartedBy); by.Channel() != "github" {
			t.Errorf("%s is by %q", c.ID, c.StartedBy)
		}
	}
}

func conversations(t *testing.T, rt *svc.Runtime) (all []string) {
	t.Helper()
	list, err := rt.In("users/ada/personal").Conversations(t.Context(), engine.Central, nil, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list.Conversations {
		all = append(all, c.ID)
	}
	slices.Sort(all)
	return all
}

func TestWhatPersonsWriteIsAConversationOfItsIssue(t *testing.T) {
	rt, e := start(t)
	const comment = `{"action":"created","issue":{"number":%d},"comment":{"body":"hi"},"repository":{"full_name":%q},"sender":{"login":"mona","type":%q}}`
	for n, c := range []struct {
		event, body string
		want        string // empty: nobody is told
	}{
		{"issue_comment", fmt.Sprintf(comment, 1, "a-b/c", "User"), "github:a-b:c:1"},
		{"issue_comment", fmt.Sprintf(comment, 1, "a/b-c", "User"), "github:a:b-c:1"},
		{"issue_comment", fmt.Sprintf(comment, 12, "a/b", "User"), "github:a:b:12"},
		{"issue_comment", fmt.Sprintf(comment, 2, "A/B", "User"), "github:a:b:2"},
		{"pull_request", `{"action":"opened","pull_request":{"number":3,"body":"new"},"repository":{"full_name":"a/b"},"sender":{"type":"User"}}`, "github:a:b:3"},
		{"issues", `{"action":"opened","issue":{"number":4,"body":""},"repository":{"full_name":"a/b"}}`, "github:a:b:4"},
		{"issue_comment", fmt.Sprintf(comment, 5, "a/b", "Bot"), ""},
		{"issue_comment", fmt.Sprintf(comment, 0, "a/b", "User"), ""},
		{"issue_comment", fmt.Sprintf(comment, 6, "", "User"), ""},
		{"issue_comment", fmt.Sprintf(comment, 6, "a/b/c", "User"), ""},
		{"issue_comment", `{"action":"deleted","issue":{"number":7},"comment":{"body":"hi"},"repository":{"full_name":"a/b"}}`, ""},
		{"push", `{"ref":"refs/heads/main","repository":{"full_name":"a/b"},"sender":{"type":"User"}}`, ""},
		{"pull_request", `{"action":"synchronize","pull_request":{"number":8},"repository":{"full_name":"a/b"}}`, ""},
		{"ping", `{"zen":"x"}`, ""},
	} {
		before := conversations(t, rt)
		w := deliver(t, e, "POST", engine.GitHubPath, "channel:github", c.event, c.body, n)
		if w.Code/100 != 2 {
			t.Errorf("%s: %d %s", c.body, w.Code, w.Body)
		}
		grown := slices.DeleteFunc(conversations(t, rt), func(id string) bool { return slices.Contains(before, id) })
		if strings.Join(grown, " ") != c.want {
			t.Errorf("%s: %v, want %q", c.body, grown, c.want)
		}
	}
}
