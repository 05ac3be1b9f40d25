package crash_test

import (
	"encoding/json"
	"strings"

	"svc.dev/svc/conversation"
	"svc.dev/svc/internal/critic"
)

// critique is what is wrong with a conversation; here it knows the plays.
type critique struct{ *critic.Critique }

// judge reads a conversation that is idle.
func judge(told *critic.Chat) *critique { return &critique{critic.Judge(told)} }

// checkTools demands that every call on record came to one result, that what ran was on record before and ran once, and that
// a recorded result is that of the execution.
func (c *critique) checkTools(effects map[string][]effect, deaths int) {
	called, recorded := map[string]string{}, map[string]conversation.Outcome{}
	child, prompts := map[string]string{}, map[string]string{}
	committed := map[string]bool{}
	for _, r := range c.Records {
		switch r.Type {
		case conversation.Created:
			prompts[r.Conversation] = r.Text
		case conversation.ChildRetained:
			child[r.Call.ID] = r.Child
		case conversation.ToolCalled:
			called[r.Call.ID] = r.Call.Name
		case conversation.ToolOutcome:
			if _, twice := recorded[r.Outcome.Call]; twice {
				c.Problem("two outcomes of %s", r.Outcome.Call)
			}
			recorded[r.Outcome.Call] = *r.Outcome
		case conversation.ResultsCommitted:
			for _, o := range r.Outcomes {
				if committed[o.Call] {
					c.Problem("two results of %s", o.Call)
				}
				committed[o.Call] = true
				if was, ok := recorded[o.Call]; ok && critic.Print(was) != critic.Print(o) {
					c.Problem("%s: recorded was %s, committed %s", o.Call, critic.Print(was), critic.Print(o))
				}
				prompt := strings.TrimPrefix(prompts[child[o.Call]], "play ")
				c.checkOutcome(o, called[o.Call], prompt, effects[o.Call], deaths)
			}
		}
	}
	for call, name := range called {
		// What a sub-agent had in progress stays so when its task is given up.
		if !committed[call] && len(prompts) < 2 {
			c.Problem("%s, a call of %s, has no result", call, name)
		}
	}
	if deaths == 0 {
		return
	}
	for call := range recorded {
		if len(effects[call]) == 0 && child[call] == "" && called[call] != conversation.ResultTool && !isInterrupted(recorded[call]) {
			c.Problem("%s has an outcome and never ran", call)
		}
	}
}

func isInterrupted(o conversation.Outcome) bool {
	var said struct{ Type, Message string }
	if !o.IsError || len(o.Content) != 1 {
		return false
	}
	return json.Unmarshal([]byte(o.Content[0].Text), &said) == nil && said.Type == "interrupted" && said.Message != ""
}

func (c *critique) checkOutcome(o conversation.Outcome, name, childPlay string, ran []effect, deaths int) {
	if name == "" {
		c.Problem("result of %s, which nobody called", o.Call)
	}
	if len(ran) > 1 {
		c.Problem("%s ran %d times", o.Call, len(ran))
	}
	switch {
	case o.IsError:
		if isInterrupted(o) && deaths == 0 {
			c.Problem("%s was interrupted, and nothing died", o.Call)
		}
	case name == conversation.ResultTool, plays[childPlay].gives():
		if string(o.Output) != `{"sum":5}` {
			c.Problem("the result of %s is %s", o.Call, o.Output)
		}
	case name == "task", name == askTool:
		if want := plays[childPlay].lastText(); len(o.Content) != 1 || o.Content[0].Text != want {
			c.Problem("task %s answered %s, want %q", o.Call, critic.Print(o.Content), want)
		}
	case len(ran) != 1 || !strings.Contains(string(o.Output), ran[0].token):
		c.Problem("%s gave %s, but ran as %v", o.Call, o.Output, ran)
	}
}
