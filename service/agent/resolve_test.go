package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/conversation"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/model"
	"svc.dev/svc/model/scripted"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/agent"
	"svc.dev/svc/sqlstore"
)

// newest is what a runtime finds under a name.
func (s stage) newest(t *testing.T, scope, name string) *svc.Agent {
	t.Helper()
	return s.version(t, scope, name, "")
}

func (s stage) version(t *testing.T, scope, name, version string) *svc.Agent {
	t.Helper()
	found, err := s.Resolve(t.Context(), scope, name, version)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestARuntimeFindsWhatThereIs(t *testing.T) {
	each(t, func(t *testing.T, s stage) {
		ctx, ok := t.Context(), must(t)
		central := s.newest(t, shop, "central")
		if central == nil || central.Version != "1" || central.Model != "scripted/words" || central.Instructions != "As built in." || central.Route == nil || central.Attachments == nil {
			t.Fatalf("central is %+v", central)
		}
		for _, name := range []string{"writer", "", "../x", "A", strings.Repeat("x", 65)} {
			if found := s.newest(t, shop, name); found != nil {
				t.Errorf("%q is %+v", name, found)
			}
		}
		ok(s.Create(ctx, ada, shop, draft(t, `{"name":"writer","instructions":"One.","model":"scripted/other","reasoning":"low"}`)))
		if w := s.newest(t, shop, "writer"); w == nil || w.Version != "1" || w.Model != "scripted/other" || w.Reasoning != "low" || w.Retired {
			t.Errorf("writer is %+v", w)
		}
		if s.newest(t, other, "writer") != nil {
			t.Error("another workspace has it")
		}
		ok(s.Patch(ctx, ada, shop, "writer", 0, edit(t, `{"instructions":"Two."}`)))
		ok(s.Patch(ctx, ada, shop, "central", 0, edit(t, `{"instructions":"Mine.","model":"scripted/mine"}`)))
		for version, want := range map[string]string{"": "Two.", "1": "One.", "2": "Two."} {
			if w := s.version(t, shop, "writer", version); w == nil || w.Instructions != want {
				t.Errorf("version %q is %+v", version, w)
			}
		}
		for _, version := range []string{"3", "0", "-1", "file-1", "x", "file-x"} {
			if w := s.version(t, shop, "writer", version); w != nil {
				t.Errorf("version %q is %+v", version, w)
			}
		}
		if c := s.newest(t, shop, "central"); c.Instructions != "Mine." || c.Model != "scripted/mine" || c.Version != "2" {
			t.Errorf("central is %+v", c)
		}
		if c := s.version(t, shop, "central", "1"); c.Instructions != "As built in." {
			t.Errorf("central was %+v", c)
		}
		if c := s.newest(t, other, "central"); c.Version != "1" {
			t.Errorf("central elsewhere is %+v", c)
		}
		ok(s.Switch(ctx, ada, shop, "writer", 0, false))
		if w := s.newest(t, shop, "writer"); w == nil || !w.Retired || w.Version != "2" {
			t.Errorf("disabled it is %+v", w)
		}
		ok(s.Switch(ctx, ada, shop, "writer", 0, true))
		if s.newest(t, shop, "writer").Retired {
			t.Error("enabled it is retired")
		}
		if err := s.Delete(ctx, ada, shop, "writer", 0); err != nil {
			t.Fatal(err)
		}
		if w := s.newest(t, shop, "writer"); w == nil || !w.Retired {
			t.Errorf("deleted it is %+v", w)
		}
		if w := s.version(t, shop, "writer", "1"); w == nil || w.Retired {
			t.Errorf("its version is %+v", w)
		}
	})
}

// TestARuntimeHoldsAnAgentToItsOutput prompts agents of the database with and without a schema.
func TestARuntimeHoldsAnAgentToItsOutput(t *testing.T) {
	each(t, func(t *testing.T, s stage) {
		ctx, ok := t.Context(), must(t)
		ok(s.Create(ctx, ada, shop, draft(t, `{"name":"adds","outputSchema":{"type":"object","properties":{"sum":{"type":"integer"}}}}`)))
		if a := s.newest(t, shop, "adds"); a.Output == nil || !sameJSON(a.Output.Schema(), []byte(`{"type":"object","properties":{"sum":{"type":"integer"}}}`)) {
			t.Errorf("it is %+v", a)
		}
		ok(s.Patch(ctx, ada, shop, "adds", 0, edit(t, `{"outputSchema":null}`)))
		if a := s.newest(t, shop, "adds"); a.Output != nil {
			t.Errorf("then it is %+v", a)
		}
		if a := s.version(t, shop, "adds", "1"); a.Output == nil {
			t.Errorf("it was %+v", a)
		}
		err := s.DB.Do(ctx, "spoil", `UPDATE agent_versions SET output_schema = '{"type":"array"}' WHERE scope = $1 AND name = $2`, shop, "adds")
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Resolve(ctx, shop, "adds", "2")
		if f := wants(t, err, fault.InvalidRequest); !strings.Contains(f.Details, "outputSchema: it is no JSON Schema of an object") {
			t.Errorf("refused: %s", f.Details)
		}
	})
}

func TestAKeyReachesWhatIsExposed(t *testing.T) {
	w := accounttest.New(t, sqldbtest.SQLite(t), accounttest.Options{})
	type byKey struct{}
	c := config(w)
	c.ByKey = func(ctx context.Context) bool { return ctx.Value(byKey{}) != nil }
	s := opened(t, w, c)
	must(t)(s.Create(t.Context(), ada, shop, draft(t, `{"name":"hidden"}`)))
	must(t)(s.Create(t.Context(), ada, shop, draft(t, `{"name":"open","exposed":true}`)))
	key := context.WithValue(t.Context(), byKey{}, true)
	for name, want := range map[string]bool{"hidden": false, "open": true, "central": true} {
		found, err := s.Resolve(key, shop, name, "")
		if err != nil || (found.Route != nil) != want || (found.Attachments != nil) != want {
			t.Errorf("%s by key: %+v, %v", name, found, err)
		}
		if found := s.newest(t, shop, name); found.Route == nil {
			t.Errorf("%s is not for people", name)
		}
	}
}

// TestAnotherNodeHearsWithinASecond changes an agent on one node while another is asked for it all the time. A machine that is slow
// for a while is given three tries.
func TestAnotherNodeHearsWithinASecond(t *testing.T) {
	each(t, func(t *testing.T, s stage) {
		far := opened(t, s.world, config(s.world))
		must(t)(s.Create(t.Context(), ada, shop, draft(t, `{"name":"writer"}`)))
		best := time.Hour
		for try := range 3 {
			on := try%2 == 1
			if far.newest(t, shop, "writer").Retired != on {
				t.Fatalf("try %d begins wrongly", try)
			}
			must(t)(s.Switch(t.Context(), ada, shop, "writer", 0, on))
			began := time.Now()
			for far.newest(t, shop, "writer").Retired == on {
				if time.Since(began) > 20*time.Second {
					t.Fatal("it never heard")
				}
			}
			if best = min(best, time.Since(began)); best < time.Second {
				break
			}
		}
		if best > 5*time.Second {
			t.Errorf("it took %v", best)
		}
	})
}

// TestAnAgentThatIsAskedForOftenCostsLittle counts statements.
func TestAnAgentThatIsAskedForOftenCostsLittle(t *testing.T) {
	var mu sync.Mutex
	asked := 0
	w := accounttest.New(t, sqldbtest.SQLite(t), accounttest.Options{Observe: func(query string, _ []any) {
		if strings.Contains(query, "agent_versions") {
			mu.Lock()
			defer mu.Unlock()
			asked++
		}
	}})
	s := opened(t, w, config(w))
	must(t)(s.Create(t.Context(), ada, shop, draft(t, `{"name":"writer"}`)))
	asked = 0
	began := time.Now()
	for range 1000 {
		s.newest(t, shop, "writer")
	}
	if most := 2 + int(time.Since(began)/(100*time.Millisecond)); asked > most {
		t.Errorf("%d statements for 1000 questions, want at most %d", asked, most)
	}
}

// TestEachReplyIsMadeByOneVersion prompts two nodes while the definition is saved again and again. Every reply takes two turns with a
// tool between them, and its text is what the model was told in both.
func TestEachReplyIsMadeByOneVersion(t *testing.T) {
	prompts, saves := 40, 10
	if os.Getenv("SVC_SOAK") != "" {
		prompts, saves = 1000, 100
	}
	address := sqldbtest.Postgres(t)
	w := accounttest.New(t, address, accounttest.Options{})
	s := opened(t, w, config(w))
	must(t)(s.Create(t.Context(), ada, shop, draft(t, `{"name":"writer","instructions":"save 0"}`)))
	nodes := []*svc.Runtime{working(t, address, s), working(t, address, s)}
	var all sync.WaitGroup
	all.Go(func() {
		for i := range saves {
			if _, err := s.Patch(t.Context(), ada, shop, "writer", 0, edit(t, fmt.Sprintf(`{"instructions":"save %d"}`, i+1))); err != nil {
				t.Error(err)
			}
			takes(20 * time.Millisecond)
		}
	})
	const lanes = 8
	for lane := range lanes {
		all.Go(func() {
			for i := range prompts / lanes {
				in := nodes[(lane+i)%2].In(shop)
				if _, err := in.Prompt(t.Context(), "writer", fmt.Sprint(lane), svc.Prompt{Message: conversation.Message{Kind: "user", Body: "go"}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	replies, seen := 0, map[string]bool{}
	for lane := range lanes {
		for _, m := range answers(t, nodes[0].In(shop), fmt.Sprint(lane), prompts/lanes) {
			version := m.Metadata.AgentVersion
			seen[version] = true
			replies++
			var number int64
			_, _ = fmt.Sscan(version, &number)
			past, err := s.Past(t.Context(), shop, "writer", number)
			if err != nil || m.said() != past.Instructions {
				t.Errorf("a reply by version %s says %q, want %q (%v)", version, m.said(), past.Instructions, err)
			}
		}
	}
	if want := 2 * (prompts / lanes * lanes); replies != want {
		t.Errorf("%d replies, want %d", replies, want)
	}
	t.Logf("%d replies by %d versions", replies, len(seen))
}

// takes is what takes its time in a scene. Nothing is waited for.
func takes(d time.Duration) { time.Sleep(d) }

// eventually waits until something is true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not yet: %s", what)
		}
	}
}

// spoken is a reply as it is told.
type spoken struct {
	Role  string
	Parts []struct {
		Type  string
		Text  string
		Input struct{ Told string }
	}
	Metadata struct{ AgentVersion string }
}

// said is what the model was told when it spoke or called.
func (s spoken) said() string {
	if len(s.Parts) == 0 {
		return ""
	}
	return s.Parts[0].Text + s.Parts[0].Input.Told
}

// answers are the replies of a conversation, once so many submissions have settled.
func answers(t *testing.T, in svc.Scoped, id string, settlements int) (all []spoken) {
	t.Helper()
	eventually(t, "it is settled", func() bool {
		snapshot, _, err := in.Conversation(t.Context(), "writer", id)
		if err != nil {
			t.Fatal(err)
		}
		all = nil
		for _, raw := range snapshot.Messages {
			var m spoken
			if err := json.Unmarshal(raw, &m); err != nil {
				t.Fatal(err)
			}
			if m.Role == "assistant" {
				all = append(all, m)
			}
		}
		return len(snapshot.Settlements) == settlements
	})
	return all
}

// working is a node on a database, with agents of its own.
func working(t *testing.T, address string, s stage) *svc.Runtime {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	db, err := sqldb.Open(t.Context(), address, sqldb.Options{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Migrate(t.Context(), sqlstore.Migrations); err != nil {
		t.Fatal(err)
	}
	store, err := sqlstore.New(t.Context(), db, sqlstore.Config{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	c := config(s.world)
	c.DB = db
	c.Build = func(context.Context, string, agent.Definition) ([]svc.Tool, error) {
		return []svc.Tool{svc.NewTool("note", "Notes.", func(context.Context, struct {
			Told string `json:"told"`
		}) (string, error) {
			return "noted", nil
		})}, nil
	}
	found, err := agent.New(c)
	if err != nil {
		t.Fatal(err)
	}
	parrot := scripted.Choose(func(r model.Request) scripted.Turn {
		if last := r.Messages[len(r.Messages)-1]; last.Role == model.RoleUser {
			return scripted.Turn{scripted.Call("note", map[string]string{"told": r.System})}
		}
		return scripted.Turn{scripted.Say(r.System)}
	})
	rt, err := svc.New(svc.Config{Store: store, Resolve: found.Resolve, Model: model.Providers{"scripted": parrot}.Find, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- rt.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_ = store.Close()
		_ = db.Close()
	})
	eventually(t, "the runtime serves", func() bool { return rt.State() == svc.Serving })
	return rt
}
