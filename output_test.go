package svc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/conversation"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/model"
	"svc.dev/svc/model/scripted"
)

// summing is an agent whose answers are sums.
func summing(a *svc.Agent) { a.Output = svc.OutputOf[sumOut]() }

// gives is a turn in which the model gives a result.
func gives(result any) scripted.Turn {
	return scripted.Turn{scripted.Call(conversation.ResultTool, result)}
}

// TestAnswerOfAnAgentWithAnOutputFits lets the model talk, then give what does not fit, then what does; and asks once more.
func TestAnswerOfAnAgentWithAnOutputFits(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		p := scripted.New(
			scripted.Turn{scripted.Say("It is five.")}, gives(map[string]string{"sum": "five"}), gives(sumOut{5}), gives(sumOut{6}),
		)
		n := startAgent(t, address, p, summing)
		n.prompt(t, "1", "2 and 3")
		told := n.updates(t, "1", 0, 1)
		expect(t, "updates", retold(told), "user(2 and 3) | started | It is five. | completed | advisory(Give your result by calling give_result.) | "+
			"started | call give_result | completed | error The result does not fit. [{expected integer [sum]}] | "+
			`started | call give_result | completed | output {"sum":5} | settled completed`)
		for _, c := range told {
			if c.Message != nil && c.Message.Purpose == "advisory" {
				expect(t, "display", c.Message.Display, "hidden")
			}
		}
		if got := n.history(t, "1"); !strings.Contains(got, `"toolName":"give_result"`) || !strings.Contains(got, `"output":{"sum":5}`) {
			t.Errorf("history says %s", got)
		}
		n.prompt(t, "1", "3 and 3")
		if again := retold(n.updates(t, "1", 0, 2)); !strings.HasSuffix(again, `user(3 and 3) | started | call give_result | completed | output {"sum":6} | settled completed`) {
			t.Errorf("then: %s", again)
		}
		for _, r := range p.Requests() {
			if len(r.Tools) != 1 || !strings.Contains(string(r.Tools[0].Input), `"sum"`) {
				t.Errorf("the model was given %v", r.Tools)
			}
		}
	})
}

// TestResultThatNeverFitsFailsThePrompt asks models that talk, and models that give something else.
func TestResultThatNeverFitsFailsThePrompt(t *testing.T) {
	for name, turn := range map[string]scripted.Turn{"talks": {scripted.Say("It is five.")}, "gives something else": gives(map[string]int{"product": 6})} {
		t.Run(name, func(t *testing.T) {
			p := scripted.Choose(func(model.Request) scripted.Turn { return turn })
			n := startAgent(t, sqlite(t), p, summing)
			n.prompt(t, "1", "2 and 3")
			told := n.updates(t, "1", 0, 1)
			last := told[len(told)-1]
			expect(t, "outcome", last.Outcome, "failed")
			expect(t, "type", last.Error.Type, "action_output_validation")
			expect(t, "message", last.Error.Message, "prompt failed: the model did not give its result in the asked form")
			expect(t, "turns", len(p.Requests()), 33)
		})
	}
}

// TestResultIsTheAnswerWhateverElseIsCalled gives it beside another call: both are answered, and no turn follows.
func TestResultIsTheAnswerWhateverElseIsCalled(t *testing.T) {
	var notes noting
	p := scripted.New(scripted.Turn{scripted.Call("note", struct{}{}), scripted.Call(conversation.ResultTool, sumOut{5})})
	n := startAgent(t, sqlite(t), p, summing, func(a *svc.Agent) { a.Tools = []svc.Tool{notes.tool()} })
	n.prompt(t, "1", "2 and 3")
	expect(t, "updates", retold(n.updates(t, "1", 0, 1)),
		`user(2 and 3) | started | call note | call give_result | completed | output "noted" | output {"sum":5} | settled completed`)
	expect(t, "notes", len(notes.all()), 1)
}

// TestAskedAgentAnswersWithItsOutput asks it as another agent of the scope, as a sub-agent, and one that never gives a result.
func TestAskedAgentAnswersWithItsOutput(t *testing.T) {
	for name, c := range map[string]struct {
		tool string
		turn scripted.Turn
		want string
	}{
		"another agent":  {"ask_agent", gives(sumOut{5}), `output {"sum":5}`},
		"a sub-agent":    {"task", gives(sumOut{5}), `output {"sum":5}`},
		"never a result": {"ask_agent", scripted.Turn{scripted.Say("five")}, "error prompt failed: the model did not give its result in the asked form It was told so 32 times."},
	} {
		t.Run(name, func(t *testing.T) {
			adding := &svc.Agent{Name: "adds", Instructions: "You add.", Model: "scripted/test"}
			summing(adding)
			p := scripted.Choose(func(r model.Request) scripted.Turn {
				switch {
				case r.System == "You add.":
					return c.turn
				case len(r.Messages) == 1:
					return scripted.Turn{scripted.Call(c.tool, map[string]string{"agent": "adds", "prompt": "2 and 3"})}
				}
				return scripted.Turn{scripted.Say("done")}
			})
			declare, config := talking(p, func(a *svc.Agent) {
				a.Tools = []svc.Tool{svc.AskTool("ask_agent", "Asks.", func(context.Context, string) error { return nil })}
				a.Agents = []*svc.Agent{adding}
			})
			n := start(t, sqlite(t), func(rt *svc.Runtime) { declare(rt); rt.AddAgent(adding) }, config)
			n.prompt(t, "1", "go")
			expect(t, "updates", retold(n.updates(t, "1", 0, 1)),
				fmt.Sprintf("user(go) | started | call %s | completed | %s | started | done | completed | settled completed", c.tool, c.want))
			for _, tool := range p.Requests()[0].Tools {
				if tool.Name == "task" && !strings.Contains(tool.Description, `- adds:  It answers with JSON of this schema: {"type":"object"`) {
					t.Errorf("the model is told %q", tool.Description)
				}
			}
		})
	}
}

// TestPromptInsideAWorkflowGetsTheOutputOfItsAgent asks for text, and for another form than the agent's own.
func TestPromptInsideAWorkflowGetsTheOutputOfItsAgent(t *testing.T) {
	adding := &svc.Agent{Name: "adds", Model: "scripted/test"}
	summing(adding)
	type product struct {
		Product int `json:"product"`
	}
	n := start(t, sqlite(t), declared("both", func(ctx context.Context, w *svc.Work, _ struct{}) (string, error) {
		sum, err := svc.Ask(ctx, w, adding, "2 and 3")
		if err != nil {
			return "", err
		}
		times, err := svc.AskFor[product](ctx, w, adding, "2 times 3")
		return fmt.Sprintf("%s and %d", sum.Text, times.Product), err
	}), on(scripted.New(gives(sumOut{5}), gives(product{6}))))
	expect(t, "result", string(n.await(t, "both", n.invoke(t, "both", nil)).Result), `"{\"sum\":5} and 6"`)
}

// TestOutputThatCannotBeAskedForIsRefused reads schemas as others write them: what is let in can be checked in bounded time.
func TestOutputThatCannotBeAskedForIsRefused(t *testing.T) {
	doubling := func(depth int) string {
		var defs []string
		for i := range depth {
			defs = append(defs, fmt.Sprintf(`"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1))
		}
		return fmt.Sprintf(`{"type":"object","$ref":"#/$defs/d0","$defs":{%s,"d%d":{}}}`, strings.Join(defs, ","), depth)
	}
	nested := strings.Repeat(`{"not":`, 5000) + "true" + strings.Repeat("}", 5000)
	for name, c := range map[string]struct{ schema, want string }{
		"an object":              {`{"type":"object","properties":{"a":{"type":"integer"}}}`, ""},
		"a reference":            {`{"type":"object","properties":{"a":{"$ref":"#/$defs/n"},"b":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"integer"}}}`, ""},
		"a property by its name": {`{"type":"object","properties":{"$ref":{"type":"string"},"$id":{"type":"string"}}}`, ""},
		"a list":                 {`{"type":"array"}`, "its type must be"},
		"any type":               {`{}`, "its type must be"},
		"or nothing":             {`{"type":["object","null"]}`, "its type must be"},
		"no schema":              {`{"type":"object","properties":5}`, "no JSON Schema"},
		"no JSON":                {`{"type":"object"`, "its type must be"},
		"a pattern that is none": {`{"type":"object","properties":{"a":{"pattern":"("}}}`, "no JSON Schema that holds"},
		"nowhere":                {`{"type":"object","$ref":"#/$defs/n"}`, "leads nowhere"},
		"elsewhere":              {`{"type":"object","$ref":"https://example.com/schema"}`, "leads nowhere"},
		"itself":                 {`{"type":"object","$ref":"#"}`, "too large"},
		"itself below":           {`{"type":"object","properties":{"a":{"$ref":"#"}}}`, "too large"},
		"itself in any case":     {`{"type":"object","$REF":"#"}`, "too large"},
		"itself written twice":   {`{"type":"object","$ref":"#/$defs/a","$defs":{"a":{}},"$DEFS":{"a":{"allOf":[{"$ref":"#/$defs/a"}]}}}`, "too large"},
		"itself in disguise":     {`{"type":"object","$ref":"#/$defs/a%62","$defs":{"a%62":{},"ab":{"allOf":[{"$ref":"#/$defs/a%62"}]}}}`, "leads nowhere"},
		"an anchor":              {`{"type":"object","allOf":[{"$anchor":"a"}]}`, "anchor"},
		"a dynamic one":          {`{"type":"object","allOf":[{"$dynamicRef":"#"}]}`, "$dynamicRef"},
		"twice as much each":     {doubling(40), "too large"},
		"too deep":               {`{"type":"object","not":` + nested + `}`, "too large"},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			_, err := svc.ParseOutput(json.RawMessage(c.schema))
			if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}
