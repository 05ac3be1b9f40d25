package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/agent"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/strictjson"
)

const shop, other = "users/ada/shop", "users/bo/shop"

var ada = audit.Actor{Kind: audit.Account, ID: "acc_1", Username: "ada"}

// stage is agents on a database, and what else stands on it.
type stage struct {
	*agent.Agents
	world *accounttest.World
}

// config is how most tests open agents.
func config(w *accounttest.World) agent.Config {
	return agent.Config{
		DB: w.DB, Audit: w.Log, Now: w.Clock.Now,
		BuiltIn: []agent.Definition{{
			Name: "central", Instructions: "As built in.", Settings: agent.Settings{Tools: []string{"all_of_it"}, Exposed: true},
		}},
		DefaultModel: func(context.Context, string) (string, error) { return "scripted/words", nil },
		Models: func(_ context.Context, _, name string) error {
			if !strings.HasPrefix(name, "scripted/") {
				return fault.Invalid("There is no model %s.", name)
			}
			return nil
		},
		Tools: func(context.Context, string) ([]string, error) {
			return []string{"ask_agent", "read_file", "http_fetch"}, nil
		},
		Projects: func(context.Context, string) ([]string, error) { return []string{"site"}, nil },
	}
}

func each(t *testing.T, fn func(t *testing.T, s stage)) {
	t.Helper()
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		w := accounttest.New(t, address, accounttest.Options{})
		fn(t, opened(t, w, config(w)))
	})
}

func opened(t *testing.T, w *accounttest.World, c agent.Config) stage {
	t.Helper()
	if err := w.DB.Migrate(t.Context(), agent.Migrations); err != nil {
		t.Fatal(err)
	}
	all, err := agent.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return stage{all, w}
}

// must is the agent that something came to.
func must(t *testing.T) func(agent.Agent, error) agent.Agent {
	return func(a agent.Agent, err error) agent.Agent {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
}

// draft is what a new agent is made of, in JSON.
func draft(t *testing.T, text string) (d agent.Draft) {
	t.Helper()
	if err := strictjson.Decode([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func edit(t *testing.T, text string) (e agent.Edit) {
	t.Helper()
	if err := strictjson.Decode([]byte(text), &e); err != nil {
		t.Fatal(err)
	}
	return e
}

// wants holds an error to the type of its fault.
func wants(t *testing.T, err error, typ string) *fault.Error {
	t.Helper()
	if !fault.Is(err, typ) {
		t.Fatalf("%v, want %s", err, typ)
	}
	return fault.From(err)
}

// acts are the audit events of a workspace, the oldest first.
func (s stage) acts(t *testing.T, scope string) (all []string) {
	t.Helper()
	found, err := s.world.Log.Page(t.Context(), audit.Query{Scope: scope, Query: listing.Query{Limit: 200}})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range slices.Backward(found.Items) {
		all = append(all, strings.TrimSpace(e.Action+" "+e.Target.ID+" "+strings.Join(e.Changes, ",")))
	}
	return all
}

func TestEverySaveMakesAVersionThatStays(t *testing.T) {
	each(t, func(t *testing.T, s stage) {
		ctx, ok := t.Context(), must(t)
		made := ok(s.Create(ctx, ada, shop, draft(t, `{"name":"writer","instructions":" Write. ","tools":["read_file"],"projects":["site"]}`)))
		if made.Version != 1 || !made.Enabled || made.Source != agent.Database || made.Instructions != "Write." {
			t.Errorf("made %+v", made)
		}
		changed := ok(s.Patch(ctx, ada, shop, "writer", 1, edit(t, `{"instructions":"Write well.","model":"scripted/words","exposed":true}`)))
		if changed.Version != 2 || !changed.Exposed || !slices.Equal(changed.Tools, []string{"read_file"}) {
			t.Errorf("changed to %+v", changed)
		}
		if same := ok(s.Patch(ctx, ada, shop, "writer", 2, edit(t, `{"instructions":"Write well. "}`))); same.Version != 2 {
			t.Errorf("what changes nothing made version %d", same.Version)
		}
		f := wants(t, second(s.Patch(ctx, ada, shop, "writer", 1, edit(t, `{"description":"late"}`))), fault.VersionConflict)
		if f.Meta["version"] != int64(2) {
			t.Errorf("told %v", f.Meta)
		}
		if off := ok(s.Switch(ctx, ada, shop, "writer", 2, false)); off.Version != 2 || off.Enabled {
			t.Errorf("disabled %+v", off)
		}
		ok(s.Switch(ctx, ada, shop, "writer", 0, false))
		ok(s.Switch(ctx, ada, shop, "writer", 0, true))
		if back := ok(s.Restore(ctx, ada, shop, "writer", 1, 2)); back.Version != 3 || back.Instructions != "Write." || back.Exposed {
			t.Errorf("restored %+v", back)
		}
		if err := s.Delete(ctx, ada, shop, "writer", 3); err != nil {
			t.Fatal(err)
		}
		wants(t, second(s.Get(ctx, shop, "writer", nil)), fault.ItemNotFound)
		wants(t, s.Delete(ctx, ada, shop, "writer", 0), fault.ItemNotFound)
		again := ok(s.Create(ctx, ada, shop, draft(t, `{"name":"writer"}`)))
		if again.Version != 4 || again.Instructions != "" {
			t.Errorf("made again %+v", again)
		}
		want := []string{
			"agent.created writer", "agent.changed writer instructions,model,exposed", "agent.disabled writer", "agent.enabled writer",
			"agent.restored writer instructions,model,exposed", "agent.deleted writer", "agent.created writer",
		}
		if got := s.acts(t, shop); !slices.Equal(got, want) {
			t.Errorf("told %q", got)
		}
		s.versions(t, "writer")
	})
}

func second[A any](_ A, err error) error { return err }

// versions holds the four of an agent to what each was.
func (s stage) versions(t *testing.T, name string) {
	t.Helper()
	all, err := s.Versions(t.Context(), shop, name, agent.Database, listing.Query{Limit: 3})
	if err != nil || len(all.Items) != 3 || all.Items[0].Version != 4 || all.Items[0].CreatedBy != ada.ID {
		t.Fatalf("%+v, %v", all, err)
	}
	rest, err := s.Versions(t.Context(), shop, name, agent.Database, listing.Query{Limit: 3, Cursor: all.Next})
	if err != nil || len(rest.Items) != 1 || rest.Items[0].Version != 1 {
		t.Fatalf("%+v, %v", rest, err)
	}
	two, err := s.Past(t.Context(), shop, name, 2)
	if err != nil {
		t.Fatal(err)
	}
	three, err := s.Past(t.Context(), shop, name, 3)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(agent.Diff(two.Definition, three.Definition))
	want := `[{"field":"instructions","before":"Write well.","after":"Write."},{"field":"model","before":"scripted/words","after":""},{"field":"exposed","before":true,"after":false}]`
	if string(got) != want {
		t.Errorf("differs in %s", got)
	}
	for _, n := range []int64{-1, 0, 5} {
		wants(t, second(s.Past(t.Context(), shop, name, n)), fault.ItemNotFound)
	}
	wants(t, second(s.Past(t.Context(), other, name, 1)), fault.ItemNotFound)
}

func TestNullResetsWhatIsOptional(t *testing.T) {
	each(t, func(t *testing.T, s stage) {
		full := must(t)(s.Create(t.Context(), ada, shop, draft(t, `{"name":"full","description":"x","instructions":"x","model":"scripted/words","reasoning":"low",
			"tools":["read_file"],"hosts":["a.example"],"projects":["site"],"outputSchema":{"type":"object"},"exposed":true}`)))
		bare := must(t)(s.Create(t.Context(), ada, shop, draft(t, `{"name":"bare"}`)))
		var none agent.Edit
		for _, change := range agent.Diff(bare.Definition(), full.Definition()) {
			if err := strictjson.Merge([]byte(`{"`+change.Field+`":null}`), &none); err != nil {
				t.Errorf("%s: %v", change.Field, err)
			}
		}
		reset := must(t)(s.Patch(t.Context(), ada, shop, "full", 1, none))
		if diff := agent.Diff(bare.Definition(), reset.Definition()); len(diff) > 0 {
			t.Errorf("%s are left", diff)
		}
		for _, one := range []agent.Agent{full, reset} {
			if text, err := json.Marshal(one); err != nil || !strings.Contains(string(text), `"reasoning":`) {
				t.Errorf("it is shown as %s, %v", text, err)
			}
		}
	})
}

func TestOneErrorNamesEveryWrongField(t *testing.T) {
	long := strings.Repeat("x", agent.MaxInstructions+1)
	many, _ := json.Marshal(slices.Repeat([]string{"read_file"}, 65))
	each(t, func(t *testing.T, s stage) {
		for text, want := range map[string]string{
			`{"name":""}`:                       "name",
			`{"name":"A"}`:                      "name",
			`{"name":"a--b"}`:                   "name",
			`{"name":"-a"}`:                     "name",
			`{"name":"` + long[:65] + `"}`:      "name",
			`{"name":"a","model":"gpt"}`:        "model",
			`{"name":"a","model":"acme/large"}`: "model",
			`{"name":"a","model":"scripted/words","reasoning":"much"}`:  "reasoning",
			`{"name":"a","instructions":"` + long + `"}`:                "instructions",
			`{"name":"a","tools":` + string(many) + `}`:                 "tools",
			`{"name":"a","tools":["read_file","fly","read_file"]}`:      "tools[2] tools[1]",
			`{"name":"a","tools":["read_file:b"]}`:                      "tools[0]",
			`{"name":"a","tools":["ask_agent:B"]}`:                      "tools[0]",
			`{"name":"a","tools":["ask_agent:a"]}`:                      "tools[0]",
			`{"name":"a","hosts":["http://x","ok.example","*.b.c:80"]}`: "hosts[0]",
			`{"name":"a","projects":["site","shed"]}`:                   "projects[1]",
			`{"name":"a","connectors":["con_1"],"mcps":["m"]}`:          "connectors[0] mcps[0]",
			`{"name":"a","outputSchema":[]}`:                            "outputSchema",
			`{"name":"a","outputSchema":{"type":7}}`:                    "outputSchema",
			`{"name":"a","outputSchema":{"$ref":"#/$defs/x"}}`:          "outputSchema",
			`{"name":"a","outputSchema":{"type":"array"}}`:              "outputSchema",
			`{"name":"a","outputSchema":{"type":"object","$ref":"#"}}`:  "outputSchema",
			`{"name":"A","model":"x","reasoning":"y","outputSchema":3}`: "name reasoning outputSchema model",
		} {
			f := wants(t, second(s.Create(t.Context(), ada, shop, draft(t, text))), fault.InvalidRequest)
			var got []string
			for _, field := range strictjson.FieldsOf(f) {
				got = append(got, field.Field)
				if !strings.Contains(f.Details, field.Field+": ") {
					t.Errorf("%.80s: nothing is said of %s: %.200s", text, field.Field, f.Details)
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%.80s: refused %v, want %s", text, got, want)
			}
		}
		f := wants(t, second(s.Create(t.Context(), ada, shop, draft(t, `{"name":"","tools":["read_file","read_file"]}`))), fault.InvalidRequest)
		if got, want := strictjson.FieldsOf(f), []strictjson.Field{{Field: "name", Type: strictjson.Required}, {Field: "tools[1]", Type: strictjson.Duplicate}}; !slices.Equal(got, want) {
			t.Errorf("refused %v, want %v", got, want)
		}
		if got := s.acts(t, shop); got != nil {
			t.Errorf("told %q", got)
		}
	})
}

func TestAgentsThatWouldAskEachOtherForEverAreRefused(t *testing.T) {
	each(t, func(t *testing.T, s stage) {
		ok := must(t)
		for name, asks := range map[string]string{"a": "b", "b": "c", "c": ""} {
			tools := `"ask_agent"`
			if asks != "" {
				tools = `"ask_agent:` + asks + `"`
			}
			ok(s.Create(t.Context(), ada, shop, draft(t, fmt.Sprintf(`{"name":%q,"tools":[%s]}`, name, tools))))
		}
		f := wants(t, second(s.Patch(t.Context(), ada, shop, "c", 0, edit(t, `{"tools":["read_file","ask_agent:a"]}`))), fault.InvalidRequest)
		if got := strictjson.FieldsOf(f); len(got) != 1 || got[0] != (strictjson.Field{Field: "tools[1]", Type: strictjson.Cycle}) || !strings.Contains(f.Details, "c, a, b, c") {
			t.Errorf("refused %v: %s", got, f.Details)
		}
		ok(s.Patch(t.Context(), ada, shop, "a", 0, edit(t, `{"tools":[]}`)))
		ok(s.Patch(t.Context(), ada, shop, "c", 0, edit(t, `{"tools":["ask_agent:a"]}`)))
	})
}

func TestWhatIsBuiltInIsChangedPerWorkspaceAndRestored(t *testing.T) {
	each(t, func(t *testing.T, s stage) {
		ctx, ok := t.Context(), must(t)
		if got := ok(s.Get(ctx, shop, "central", nil)); got.Version != 1 || got.Source != agent.BuiltIn || !got.CreatedAt.IsZero() {
			t.Errorf("built in is %+v", got)
		}
		own := ok(s.Patch(ctx, ada, shop, "central", 0, edit(t, `{"instructions":"Be brief.","model":"scripted/words"}`)))
		if own.Version != 2 || own.CreatedAt.IsZero() || own.Source != agent.BuiltIn || own.Instructions != "Be brief." || !slices.Equal(own.Tools, []string{"all_of_it"}) {
			t.Errorf("changed to %+v", own)
		}
		if got := ok(s.Get(ctx, other, "central", nil)); got.Instructions != "As built in." {
			t.Errorf("elsewhere it says %q", got.Instructions)
		}
		for _, err := range []error{
			second(s.Patch(ctx, ada, shop, "central", 0, edit(t, `{"tools":[]}`))), second(s.Patch(ctx, ada, shop, "central", 0, edit(t, `{"exposed":false}`))),
			second(s.Switch(ctx, ada, shop, "central", 0, false)), s.Delete(ctx, ada, shop, "central", 0),
		} {
			if f := wants(t, err, agent.ReadOnly); f.Meta["source"] != agent.BuiltIn {
				t.Errorf("told %v", f.Meta)
			}
		}
		wants(t, second(s.Create(ctx, ada, shop, draft(t, `{"name":"central"}`))), fault.NameTaken)
		if back := ok(s.Restore(ctx, ada, shop, "central", 1, 2)); back.Version != 3 || back.Instructions != "As built in." || back.Model != "" {
			t.Errorf("restored %+v", back)
		}
		all, err := s.Versions(ctx, shop, "central", agent.BuiltIn, listing.Query{})
		if err != nil || len(all.Items) != 3 || all.Items[2].Version != 1 {
			t.Errorf("versions %+v, %v", all, err)
		}
		last, err := s.Versions(ctx, shop, "central", agent.BuiltIn, listing.Query{Limit: 2})
		if err == nil {
			last, err = s.Versions(ctx, shop, "central", agent.BuiltIn, listing.Query{Limit: 2, Cursor: last.Next})
		}
		if err != nil || len(last.Items) != 1 || last.Next != "" {
			t.Errorf("the last versions %+v, %v", last, err)
		}
	})
}

func TestAWorkspaceHasAThousandAgents(t *testing.T) {
	each(t, func(t *testing.T, s stage) {
		const insert = `INSERT INTO agents (scope, name, version, enabled, created_at, updated_at)
			SELECT $1, 'n' || n.v, 1, 1, n.v, n.v FROM (WITH RECURSIVE c(v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM c WHERE v < 1000) SELECT v FROM c) n`
		if err := s.world.DB.Do(t.Context(), "fill", insert, shop); err != nil {
			t.Fatal(err)
		}
		wants(t, second(s.Create(t.Context(), ada, shop, draft(t, `{"name":"more"}`))), fault.InvalidRequest)
		if err := s.world.DB.Do(t.Context(), "make room", "DELETE FROM agents WHERE name = 'n1'"); err != nil {
			t.Fatal(err)
		}
		// What is said in the place of one that is built in is no agent of the workspace.
		must(t)(s.Patch(t.Context(), ada, shop, "central", 0, edit(t, `{"instructions":"Mine."}`)))
		must(t)(s.Create(t.Context(), ada, shop, draft(t, `{"name":"more"}`)))
		wants(t, second(s.Create(t.Context(), ada, shop, draft(t, `{"name":"one-more"}`))), fault.InvalidRequest)
		must(t)(s.Create(t.Context(), ada, other, draft(t, `{"name":"more"}`)))
	})
}

func TestAListShowsWhatIsGivenThenWhatIsNewest(t *testing.T) {
	each(t, func(t *testing.T, s stage) {
		ok, code := must(t), []svc.AgentInfo{{Name: "coded"}, {Name: "both"}}
		for _, name := range []string{"one", "both", "two", "three"} {
			s.world.Clock.Pass(time.Second)
			ok(s.Create(t.Context(), ada, shop, draft(t, fmt.Sprintf(`{"name":%q}`, name))))
		}
		ok(s.Patch(t.Context(), ada, shop, "central", 0, edit(t, `{"instructions":"Mine."}`)))
		ok(s.Create(t.Context(), ada, other, draft(t, `{"name":"foreign"}`)))
		for limit := 1; limit < 9; limit++ {
			var got []string
			q := listing.Query{Limit: limit}
			for {
				page, err := s.List(t.Context(), shop, code, q)
				if err != nil {
					t.Fatal(err)
				}
				for _, l := range page.Items {
					got = append(got, strings.TrimSpace(l.Name+" "+l.Source+" "+strings.TrimSuffix(l.Shadowed, ".")))
				}
				if q.Cursor = page.Next; q.Cursor == "" {
					break
				}
			}
			want := []string{
				"central built-in", "coded code", "both code", "three database", "two database",
				"both database An agent of this name is declared in code", "one database",
			}
			if !slices.Equal(got, want) {
				t.Errorf("by %d: %q", limit, got)
			}
		}
		if page, err := s.List(t.Context(), shop, code, listing.Query{Q: "O"}); err != nil || len(page.Items) != 5 {
			t.Errorf("those with an o: %+v, %v", page, err)
		}
		all, err := s.All(t.Context(), code, listing.Query{})
		if err != nil || len(all.Items) != 8 || all.Items[0].Scope != nil || *all.Items[3].Scope != other {
			t.Errorf("all: %+v, %v", all, err)
		}
	})
}

func TestAnAgentOfCodeHasOneVersion(t *testing.T) {
	each(t, func(t *testing.T, s stage) {
		ctx, code := t.Context(), []svc.AgentInfo{{Name: "both", Description: "Of code."}}
		must(t)(s.Create(ctx, ada, shop, draft(t, `{"name":"both","description":"Stored."}`)))
		must(t)(s.Patch(ctx, ada, shop, "both", 1, edit(t, `{"description":"Stored again."}`)))
		found := must(t)(s.Get(ctx, shop, "both", code))
		all, err := s.Versions(ctx, shop, "both", found.Source, listing.Query{})
		if err != nil || len(all.Items) != 1 || all.Items[0].Version != found.Version {
			t.Errorf("its versions are %+v, %v", all, err)
		}
		if past, err := s.PastOf(ctx, shop, found, 1); err != nil || past.Description != "Of code." {
			t.Errorf("its version is %+v, %v", past, err)
		}
		wants(t, second(s.PastOf(ctx, shop, found, 2)), fault.ItemNotFound)
	})
}

func TestAWorkspaceThatIsErasedLeavesNoAgent(t *testing.T) {
	each(t, func(t *testing.T, s stage) {
		ok := must(t)
		for _, scope := range []string{shop, other} {
			ok(s.Create(t.Context(), ada, scope, draft(t, `{"name":"writer"}`)))
			ok(s.Patch(t.Context(), ada, scope, "writer", 0, edit(t, `{"instructions":"x"}`)))
		}
		for range 2 {
			if err := s.Erase(t.Context(), shop); err != nil {
				t.Fatal(err)
			}
		}
		if found, err := s.Resolve(t.Context(), shop, "writer", "1"); found != nil || err != nil {
			t.Errorf("found %v, %v", found, err)
		}
		if _, err := s.Past(t.Context(), other, "writer", 2); err != nil {
			t.Error(err)
		}
		if made := ok(s.Create(t.Context(), ada, shop, draft(t, `{"name":"writer"}`))); made.Version != 1 {
			t.Errorf("made %+v", made)
		}
	})
}

func TestTheFileOfAnAgentIsReadAsItWasPrinted(t *testing.T) {
	each(t, func(t *testing.T, s stage) {
		ok := must(t)
		text := `{"name":"writer","description":"It: \"writes\"\nmuch","instructions":"---\nWrite.\n---","reasoning":"high","tools":["read_file","ask_agent:b"],
			"hosts":["*.example.com"],"projects":["site"],"outputSchema":{"type":"object","properties":{"b":{"const":"\ud83d\ude00"},"a":{"type":"string","maxLength":1.0}}},"exposed":true}`
		made := ok(s.Create(t.Context(), ada, shop, draft(t, text)))
		file, err := agent.Print(made.Definition())
		if err != nil {
			t.Fatal(err)
		}
		if same := ok(s.Import(t.Context(), ada, shop, at(1), read(t, file))); same.Version != 1 {
			t.Errorf("what was exported made version %d", same.Version)
		}
		copied := ok(s.Import(t.Context(), ada, other, at(0), read(t, file)))
		if !reflect.DeepEqual(copied.Settings, made.Settings) || copied.Instructions != made.Instructions || !sameJSON(copied.OutputSchema, made.OutputSchema) {
			t.Errorf("%s\nbecame %+v", file, copied)
		}
		if same := ok(s.Import(t.Context(), ada, other, at(1), read(t, file))); same.Version != 1 {
			t.Errorf("the same file made version %d", same.Version)
		}
		if next := ok(s.Import(t.Context(), ada, other, nil, read(t, append(file, "More."...)))); next.Version != 2 {
			t.Errorf("another file made version %d", next.Version)
		}
		for _, version := range []int64{0, 1} {
			f := wants(t, second(s.Import(t.Context(), ada, other, at(version), read(t, file))), fault.VersionConflict)
			if f.Meta["version"] != int64(2) {
				t.Errorf("told %v", f.Meta)
			}
		}
		wants(t, second(s.Import(t.Context(), ada, "users/cy/shop", at(1), read(t, file))), fault.VersionConflict)
		wants(t, second(s.Import(t.Context(), ada, shop, at(0), read(t, []byte("---\nname: central\n---\nMine.")))), fault.VersionConflict)
	})
}

// read is the agent of a file.
func read(t *testing.T, file []byte) agent.Definition {
	t.Helper()
	d, err := agent.Parse("", file)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// at is a condition on the version that is there; 0: none.
func at(version int64) func(int64) bool { return func(n int64) bool { return n == version } }

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// TestAgentsAreNamedToThoseThatMayAskThem lists what the names of a workspace stand for, as it changes.
func TestAgentsAreNamedToThoseThatMayAskThem(t *testing.T) {
	each(t, func(t *testing.T, s stage) {
		ctx, ok := t.Context(), must(t)
		named := func(most int) (all []string) {
			t.Helper()
			found, err := s.Askable(ctx, shop, []svc.AgentInfo{{Name: "coded", Description: "In code."}, {Name: "central"}}, most)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range found {
				all = append(all, strings.TrimSpace(a.Name+" "+a.Description+" "+string(a.OutputSchema)))
			}
			return all
		}
		ok(s.Create(ctx, ada, shop, draft(t, `{"name":"writer","description":"Writes.","outputSchema":{"type":"object"}}`)))
		ok(s.Create(ctx, ada, shop, draft(t, `{"name":"adds"}`)))
		ok(s.Create(ctx, ada, shop, draft(t, `{"name":"coded","description":"Hidden by code."}`)))
		ok(s.Create(ctx, ada, other, draft(t, `{"name":"elsewhere"}`)))
		want := []string{"central", "coded In code.", "adds", `writer Writes. {"type":"object"}`}
		if got := named(10); !slices.Equal(got, want) {
			t.Errorf("named %q, want %q", got, want)
		}
		if got := named(3); !slices.Equal(got, want[:3]) {
			t.Errorf("named %q, want %q", got, want[:3])
		}
		ok(s.Switch(ctx, ada, shop, "writer", 0, false))
		if err := s.Delete(ctx, ada, shop, "adds", 0); err != nil {
			t.Fatal(err)
		}
		if got := named(10); !slices.Equal(got, want[:2]) {
			t.Errorf("then named %q, want %q", got, want[:2])
		}
	})
}

// TestVersionsCountAsWhatAWorkspaceStores saves, deletes and erases agents, and fills the workspace.
func TestVersionsCountAsWhatAWorkspaceStores(t *testing.T) {
	each(t, func(t *testing.T, s stage) {
		ctx, ok := t.Context(), must(t)
		stored := func(scope string) int64 {
			t.Helper()
			n, err := agent.Stored(ctx, s.DB, scope)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		long := strings.Repeat("é", 1000)
		ok(s.Create(ctx, ada, shop, draft(t, `{"name":"writer","instructions":"`+long+`"}`)))
		first := stored(shop)
		if first < 2000 || first > 3000 || stored(other) != 0 {
			t.Errorf("one version takes %d, and %d elsewhere", first, stored(other))
		}
		ok(s.Patch(ctx, ada, shop, "writer", 0, edit(t, `{"description":"x"}`)))
		if got := stored(shop); got != 2*first+1 {
			t.Errorf("two versions take %d, want %d", got, 2*first+1)
		}
		if err := s.Delete(ctx, ada, shop, "writer", 0); err != nil {
			t.Fatal(err)
		}
		if got := stored(shop); got != 2*first+1 {
			t.Errorf("deleted, it takes %d", got)
		}
		c := config(s.world)
		c.Admit = func(_ context.Context, scope string) error {
			if scope == shop {
				return fault.New(fault.StorageQuotaExceeded, "The workspace is full.", "")
			}
			return nil
		}
		full := opened(t, s.world, c)
		wants(t, second(full.Create(ctx, ada, shop, draft(t, `{"name":"more"}`))), fault.StorageQuotaExceeded)
		wants(t, second(full.Patch(ctx, ada, shop, "central", 0, edit(t, `{"instructions":"More."}`))), fault.StorageQuotaExceeded)
		ok(full.Create(ctx, ada, other, draft(t, `{"name":"more"}`)))
		if err := s.Erase(ctx, shop); err != nil {
			t.Fatal(err)
		}
		if got := stored(shop); got != 0 {
			t.Errorf("erased, it takes %d", got)
		}
	})
}
