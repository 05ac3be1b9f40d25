package toolbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/conversation"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/outward"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/model"
	"svc.dev/svc/model/scripted"
	"svc.dev/svc/service/project"
	"svc.dev/svc/service/project/projecttest"
	"svc.dev/svc/service/toolbox"
	"svc.dev/svc/service/workspace"
	"svc.dev/svc/sqlstore"
)

// scope is whose agents and workflows these are.
var scope = projecttest.Shop.Scope

// serve runs a runtime for the time of a test, on a model and with what is declared.
func (b *bench) serve(p model.Provider, declare func(*svc.Runtime)) {
	b.Helper()
	log := slog.New(slog.DiscardHandler)
	store, err := sqlstore.Open(b.Context(), "sqlite:"+filepath.Join(b.TempDir(), "svc.db"), sqlstore.Config{Log: log})
	if err != nil {
		b.Fatal(err)
	}
	if b.rt, err = svc.New(svc.Config{Store: store, Model: model.Providers{"scripted": p}.Find, Log: log, StopTimeout: time.Second}); err != nil {
		b.Fatal(err)
	}
	declare(b.rt)
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.Context()))
	ended := make(chan error, 1)
	go func() { ended <- b.rt.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			b.Errorf("run: %v", err)
		}
		_ = store.Close()
	})
}

// flows are workflows that a tool can start, and one that it cannot.
func flows(rt *svc.Runtime) {
	type input struct {
		N int `json:"n"`
	}
	double := svc.NewWorkflow("double", func(_ context.Context, _ *svc.Work, in input) (int, error) { return 2 * in.N, nil })
	fails := svc.NewWorkflow("fails", func(context.Context, *svc.Work, struct{}) (int, error) { return 0, errors.New("on purpose") })
	large := svc.NewWorkflow("large", func(context.Context, *svc.Work, struct{}) (string, error) { return strings.Repeat("x", 100<<10), nil })
	hidden := svc.NewWorkflow("hidden", func(context.Context, *svc.Work, struct{}) (int, error) { return 1, nil })
	shown := svc.NewWorkflow("shown", func(_ context.Context, _ *svc.Work, in input) (int, error) { return in.N, nil })
	double.Route, fails.Route, large.Route, shown.Runs = svc.Open, svc.Open, svc.Open, svc.Open
	rt.AddWorkflow(double, fails, large, shown, hidden)
}

type run struct {
	RunID, Status, Note string
	Result              json.RawMessage
	Error               *struct{ Name, Message string }
}

func TestWorkflowsAreRunAndFollowed(t *testing.T) {
	b := open(t, nil, outward.Config{})
	b.serve(scripted.New(), flows)
	for _, c := range []struct {
		input object
		typ   string
		want  string
	}{
		{object{"workflow": "hidden"}, fault.WorkflowNotFound, `"hidden"`}, {object{"workflow": "nothing"}, fault.WorkflowNotFound, `"nothing"`},
		{object{}, fault.InvalidRequest, "either"}, {object{"workflow": "double", "runId": "x"}, fault.InvalidRequest, "either"}, {object{"runId": "run_x"}, fault.RunNotFound, "run_x"},
		{object{"workflow": 7}, fault.InvalidRequest, "either"}, {object{"workflow": "double", "input": object{"n": "x"}}, fault.InputValidation, `"n"`},
		{object{"workflow": "fails", "input": object{}}, fault.InputUnexpected, ""},
		{object{"workflow": "double", "input": object{"n": 1, "s": strings.Repeat("x", 8<<20)}}, fault.BodyTooLarge, "at most 8388608"},
	} {
		b.refuses(grant, "run_workflow", c.input, c.typ, c.want)
	}
	order := func(input object) (r run) {
		t.Helper()
		got, err := b.use(grant, "run_workflow", input)
		if err != nil {
			t.Fatalf("%v: %v", input, err)
		}
		if err := json.Unmarshal([]byte(got), &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	first := order(object{"workflow": "double", "input": object{"n": 21}})
	if first.Status != "completed" || string(first.Result) != "42" || first.RunID == "" {
		t.Errorf("first: %+v", first)
	}
	if again := order(object{"workflow": "double", "input": object{"n": 21}}); again.RunID != first.RunID {
		t.Errorf("the same call began another run: %+v", again)
	}
	record, err := b.rt.In(scope).GetRun(t.Context(), first.RunID)
	if err != nil || record.StartedBy != "ada" {
		t.Errorf("record: %+v, %v", record, err)
	}
	if followed := order(object{"runId": first.RunID}); string(followed.Result) != "42" {
		t.Errorf("followed: %+v", followed)
	}
	b.refuses(grant, "run_workflow", object{"workflow": "double", "input": object{"n": 22}}, fault.IdempotencyConflict, "")
}

// TestARunIsFollowedByTheOneWhoBeganItAndByThoseWhoReadRuns follows runs that somebody else began.
func TestARunIsFollowedByTheOneWhoBeganItAndByThoseWhoReadRuns(t *testing.T) {
	b := open(t, nil, outward.Config{})
	b.serve(scripted.New(), flows)
	begin := func(workflow, by string) string {
		t.Helper()
		invoked, err := b.rt.In(scope).Invoke(t.Context(), workflow, svc.Invocation{Input: []byte(`{"n":1}`), StartedBy: by, Wait: true})
		if err != nil {
			t.Fatal(err)
		}
		return invoked.RunID
	}
	mine, shown, unshown := begin("double", "ada"), begin("shown", "bob"), begin("double", "bob")
	follow := func(id string) error {
		_, err := b.use(grant, "run_workflow", object{"runId": id})
		return err
	}
	for id, want := range map[string]string{mine: "", shown: "", unshown: fault.RunNotFound} {
		if err := follow(id); want == "" && err != nil || want != "" && !fault.Is(err, want) {
			t.Errorf("%s: %v, want %q", id, err, want)
		}
	}
	b.may[workspace.Read] = false
	for id, want := range map[string]string{mine: "", shown: fault.Forbidden, unshown: fault.Forbidden} {
		if err := follow(id); want == "" && err != nil || want != "" && !fault.Is(err, want) {
			t.Errorf("%s without the right to read: %v, want %q", id, err, want)
		}
	}
	if !slices.Contains(b.asked, "ada read runs:read ") {
		t.Errorf("asked: %q", b.asked)
	}
}

// TestARunThatACallBeganIsFoundThoughNoMoreMayBegin repeats a call when the workspace is full.
func TestARunThatACallBeganIsFoundThoughNoMoreMayBegin(t *testing.T) {
	b := open(t, nil, outward.Config{})
	b.serve(scripted.New(), flows)
	input := object{"workflow": "double", "input": object{"n": 21}}
	first, err := b.use(grant, "run_workflow", input)
	if err != nil {
		t.Fatal(err)
	}
	b.full.Store(true)
	if again, err := b.use(grant, "run_workflow", input); err != nil || again != first {
		t.Errorf("again: %s, %v, want %s", again, err, first)
	}
	b.refuses(grant, "run_workflow", object{"workflow": "fails"}, fault.StorageQuotaExceeded, "")
}

func TestARunThatFailsOrSaysTooMuchIsAResult(t *testing.T) {
	for name, want := range map[string]string{"fails": `"message":"on purpose"`, "large": `"note":"The result has 102402 bytes`} {
		b := open(t, nil, outward.Config{})
		b.serve(scripted.New(), flows)
		got, err := b.use(grant, "run_workflow", object{"workflow": name})
		if err != nil || !strings.Contains(got, want) || len(got) > 34<<10 {
			t.Errorf("%s: %.300q, %v", name, got, err)
		}
	}
}

// TestAgentsAreAskedWithTheRightsOfWhoeverPrompted lets one agent ask another, which reads a file, until somebody loses their role.
func TestAgentsAreAskedWithTheRightsOfWhoeverPrompted(t *testing.T) {
	b := files(t)
	b.Save("site", "a.txt", "forty-two")
	answers := scripted.Choose(func(r model.Request) scripted.Turn {
		last := r.Messages[len(r.Messages)-1]
		switch {
		case last.Role == model.RoleTool:
			return scripted.Turn{scripted.Say("heard " + strings.TrimSpace(*last.Parts[0].Result.Content[0].Text))}
		case r.System == "reader":
			return scripted.Turn{scripted.Call("read_file", object{"project": "site", "path": "a.txt"})}
		}
		return scripted.Turn{scripted.Call("ask_agent", object{"agent": *last.Parts[0].Text, "prompt": "read"})}
	})
	give := func(g toolbox.Grant) []svc.Tool {
		tools, err := b.box.Tools(t.Context(), scope, g)
		if err != nil {
			t.Fatal(err)
		}
		return tools
	}
	b.serve(answers, func(rt *svc.Runtime) {
		rt.AddAgent(
			&svc.Agent{Name: "asker", Instructions: "asker", Model: "scripted/x", Tools: give(toolbox.Grant{Tools: []string{"ask_agent"}, Agents: []string{"reader", "nobody"}})},
			&svc.Agent{Name: "reader", Instructions: "reader", Model: "scripted/x", Tools: give(toolbox.Grant{Tools: []string{"read_file"}, Projects: []string{"site"}})},
		)
	})
	say := func(text string) string {
		t.Helper()
		p, err := b.rt.In(scope).Prompt(t.Context(), "asker", "1", svc.Prompt{Message: conversation.Message{Kind: "user", Body: text}, By: "ada customer acc_1"})
		if err != nil {
			t.Fatal(err)
		}
		return b.settled(p)
	}
	for _, c := range []struct{ text, want string }{
		{"reader", "heard heard 1\tforty-two"},
		{"nobody", `heard No agent named "nobody". Check the name.`},
		{"asker", `heard The agent "asker" waits for this answer itself.`},
		{"other", "heard This agent may not ask that one. Those that it may: reader, nobody."},
	} {
		if got := say(c.text); got != c.want {
			t.Errorf("%s: %q, want %q", c.text, got, c.want)
		}
	}
	b.may[workspace.Read] = false
	if got := say("reader"); got != "heard heard Your role does not allow this." {
		t.Errorf("without the right to read: %q", got)
	}
	b.may[workspace.Work] = false
	if got := say("reader"); got != "heard Your role does not allow this." {
		t.Errorf("without the right to ask: %q", got)
	}
	for _, asked := range b.asked {
		if !strings.HasPrefix(asked, "ada customer acc_1 ") {
			t.Errorf("asked for another: %q", asked)
		}
	}
}

// TestAKeyReachesNoHiddenAgentThroughAnother prompts an agent that may ask all others, by a session and by a key.
func TestAKeyReachesNoHiddenAgentThroughAnother(t *testing.T) {
	b := open(t, nil, outward.Config{})
	answers := scripted.Choose(func(r model.Request) scripted.Turn {
		last := r.Messages[len(r.Messages)-1]
		if last.Role == model.RoleTool {
			return scripted.Turn{scripted.Say("heard " + *last.Parts[0].Result.Content[0].Text)}
		}
		if to, found := strings.CutPrefix(*last.Parts[0].Text, "ask "); found {
			next, rest, _ := strings.Cut(to, " ")
			return scripted.Turn{scripted.Call("ask_agent", object{"agent": next, "prompt": rest})}
		}
		return scripted.Turn{scripted.Say("I am " + r.System)}
	})
	tools, err := b.box.Tools(t.Context(), scope, toolbox.Grant{Tools: []string{"ask_agent"}})
	if err != nil {
		t.Fatal(err)
	}
	b.serve(answers, func(rt *svc.Runtime) {
		for _, name := range []string{"asker", "open", "hidden"} {
			a := &svc.Agent{Name: name, Instructions: name, Model: "scripted/x", Tools: tools, Route: svc.Open}
			if name == "hidden" {
				a.Route = nil
			}
			rt.AddAgent(a)
		}
	})
	for _, c := range []struct{ by, text, want string }{
		{"ada customer acc_1", "ask hidden well?", "heard I am hidden"},
		{"ada customer acc_1 key_1", "ask open well?", "heard I am open"},
		{"ada customer acc_1 key_1", "ask hidden well?", `heard No agent named "hidden". Check the name.`},
		{"ada customer acc_1 key_1", "ask open ask hidden well?", `heard heard No agent named "hidden". Check the name.`},
	} {
		p, err := b.rt.In(scope).Prompt(t.Context(), "asker", "1", svc.Prompt{Message: conversation.Message{Kind: "user", Body: c.text}, By: c.by})
		if err != nil {
			t.Fatal(err)
		}
		if got := b.settled(p); got != c.want {
			t.Errorf("%s by %s: %q, want %q", c.text, c.by, got, c.want)
		}
	}
}

// settled is the last text of a conversation when it has nothing to do any more.
func (b *bench) settled(svc.Prompted) string {
	b.Helper()
	in := b.rt.In(scope)
	f := b.rt.Follow(in.AgentStream("asker", "1"))
	defer f.Close()
	for {
		wake := f.Wake()
		open, err := in.Submissions(b.Context(), "asker", "1")
		if err != nil {
			b.Fatal(err)
		}
		if len(open) == 0 {
			break
		}
		select {
		case <-wake:
		case <-b.Context().Done():
			b.Fatal("no settlement")
		}
	}
	snapshot, _, err := in.Conversation(b.Context(), "asker", "1")
	if err != nil {
		b.Fatal(err)
	}
	var last conversation.View
	if err := json.Unmarshal(snapshot.Messages[len(snapshot.Messages)-1], &last); err != nil {
		b.Fatal(err)
	}
	return *last.Parts[0].Text
}

func TestDigestSumsUpTheFilesOfAProject(t *testing.T) {
	projecttest.Each(t, projecttest.Config{}, func(t *testing.T, s *projecttest.Scene) {
		s.Make("site")
		for path, text := range map[string]string{"docs/a.md": "alpha", "docs/b.md": "beta", "docs/picture": "\x00\x01", "other.txt": "gamma", "digest.md": "old"} {
			s.Save("site", path, text)
		}
		b := open(t, s, outward.Config{})
		sums := scripted.Choose(func(r model.Request) scripted.Turn {
			words := strings.Fields(*r.Messages[len(r.Messages)-1].Parts[0].Text)
			return scripted.Turn{scripted.Say("About " + words[len(words)-1] + ".")}
		})
		b.serve(sums, func(rt *svc.Runtime) {
			rt.AddWorkflow(b.box.Digest(func(context.Context, string) (string, error) { return "scripted/x", nil }))
		})
		digest := func(input, want string) {
			t.Helper()
			done, err := b.rt.In(scope).Invoke(t.Context(), toolbox.DigestName, svc.Invocation{Input: []byte(input), StartedBy: "ada", Wait: true})
			if err != nil {
				t.Fatal(err)
			}
			got := string(done.Run.Result)
			if done.Run.Error != nil {
				got = done.Run.Error.Message
			}
			if got != want {
				t.Errorf("%s: %s, want %s", input, got, want)
			}
		}
		digest(`{"project":"site","prefix":"docs/","into":"docs/sum.md"}`, `{"files":2,"into":"docs/sum.md"}`)
		if got, want := b.Content("site", "docs/sum.md"), "# Digest of site\n\n## docs/a.md\n\nAbout alpha.\n\n## docs/b.md\n\nAbout beta.\n"; got != want {
			t.Errorf("digest: %q, want %q", got, want)
		}
		digest(`{"project":"site"}`, `{"files":4,"into":"digest.md"}`)
		digest(`{"project":"nowhere"}`, `There is no project named "nowhere".`)
		digest(`{"project":"site","into":"../x"}`, "This is not the path of a file.")
		b.may[workspace.Work] = false
		digest(`{"project":"site","prefix":"other"}`, "Your role does not allow this.")
		b.Agree()
	})
}

// TestAnAgentIsToldWhomItMayAsk reads what a model is told of ask_agent, in workspaces of few agents and of many.
func TestAnAgentIsToldWhomItMayAsk(t *testing.T) {
	schema := json.RawMessage(`{"type":"object"}`)
	few := []toolbox.Partner{
		{Name: "a", Description: "Itself."}, {Name: "writer", Description: "Writes\n well."}, {Name: "adds", Description: "Adds.", OutputSchema: schema},
		{Name: "long", Description: strings.Repeat("x", 5000), OutputSchema: json.RawMessage(`{"type":"object","title":"` + strings.Repeat("x", 5000) + `"}`)},
	}
	var many []toolbox.Partner
	for i := range 200 {
		many = append(many, toolbox.Partner{Name: fmt.Sprintf("agent-%d", i), Description: strings.Repeat("y", 400)})
	}
	const begins = "Hand a question or a task to another agent of the workspace, and get its answer."
	for name, c := range map[string]struct {
		partners []toolbox.Partner
		agents   []string
		want     string
	}{
		"all":     {few, nil, begins + " Agents:\n- writer: Writes well.\n- adds: Adds. It answers with JSON of this schema: {\"type\":\"object\"}\n- long: " + strings.Repeat("x", 500) + " It answers with a JSON object.\n"},
		"some":    {few, []string{"writer", "gone"}, begins + " Agents:\n- writer: Writes well.\n"},
		"nobody":  {few[:1], nil, begins},
		"unknown": {nil, []string{"writer"}, begins + " Agents: writer."},
		"many":    {many, nil, begins + " Agents, and there are others:\n- agent-0: " + strings.Repeat("y", 400) + "\n"},
	} {
		b := open(t, nil, outward.Config{})
		b.partners = c.partners
		tools, err := b.box.Tools(t.Context(), scope, toolbox.Grant{Agent: "a", Tools: []string{"ask_agent"}, Agents: c.agents})
		if err != nil {
			t.Fatal(err)
		}
		if got := tools[0].Description; got != c.want && (name != "many" || !strings.HasPrefix(got, c.want) || len(got) > 33<<10) {
			t.Errorf("%s: %.900q, want %.900q", name, got, c.want)
		}
	}
}

// TestADigestWaitsForItsModel lets the database not answer which model it is: the run waits, and what it is told is kept.
func TestADigestWaitsForItsModel(t *testing.T) {
	b := files(t)
	b.Save("site", "a.txt", "alpha")
	var asked atomic.Int32
	sums := scripted.New(scripted.Turn{scripted.Say("About alpha.")})
	b.serve(sums, func(rt *svc.Runtime) {
		rt.AddWorkflow(b.box.Digest(func(context.Context, string) (string, error) {
			if asked.Add(1) == 1 {
				return "", fmt.Errorf("read default: %w", sqldb.ErrOverdue)
			}
			return "scripted/x", nil
		}))
	})
	done, err := b.rt.In(scope).Invoke(t.Context(), toolbox.DigestName, svc.Invocation{Input: []byte(`{"project":"site"}`), StartedBy: "ada", Wait: true})
	if err != nil || string(done.Run.Result) != `{"files":1,"into":"digest.md"}` || asked.Load() != 2 {
		t.Errorf("run: %+v, %v, asked %d times", done.Run, err, asked.Load())
	}
}

// endless is a project with a page of files after every other.
type endless struct {
	toolbox.Projects
	opened *atomic.Int32
}

func (endless) Files(context.Context, project.Owner, string, project.FileQuery) (listing.Page[project.File], error) {
	return listing.Page[project.File]{Items: make([]project.File, 90), Next: "more"}, nil
}

func (e endless) Open(context.Context, project.Owner, string, string) (*project.Content, error) {
	e.opened.Add(1)
	return nil, fault.New(fault.ItemNotFound, "It is gone.", "")
}

func TestADigestLooksAtSoManyFiles(t *testing.T) {
	var opened atomic.Int32
	b := openWith(t, nil, outward.Config{}, func(c *toolbox.Config) { c.Projects = endless{opened: &opened} })
	b.serve(scripted.New(), func(rt *svc.Runtime) {
		rt.AddWorkflow(b.box.Digest(func(context.Context, string) (string, error) { return "scripted/x", nil }))
	})
	done, err := b.rt.In(scope).Invoke(t.Context(), toolbox.DigestName, svc.Invocation{Input: []byte(`{"project":"site"}`), StartedBy: "ada", Wait: true})
	if err != nil || done.Run.Error == nil || !strings.Contains(done.Run.Error.Message+done.Run.Error.Details, "more than 1000 files: name a prefix.") || opened.Load() != 1000 {
		t.Errorf("run: %+v, %v, opened %d", done.Run.Error, err, opened.Load())
	}
}
