package crash_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc.dev/svc/internal/critic"
)

// tale is a story read by a critic, and what must be alike in every telling.
type tale struct {
	*critic.Tale
	lines  []string // the events modulo what an interrupted run may differ in
	result string   // the outcome without what is random by nature
	tokens map[string]string
}

// read judges a story of a run that has ended by the laws that need no other story.
func read(s *critic.Story) *tale {
	t := &tale{Tale: critic.Read(s), tokens: map[string]string{}}
	t.readOutcome()
	t.normalize()
	return t
}

// readOutcome parts the result from what is random in it, and checks that everybody saw the same random values.
func (t *tale) readOutcome() {
	var o outcome
	if t.Record.WorkflowName == refund && t.Record.Result != nil {
		t.result, o.Drawn = readReceipt(t.Record.Result)
	} else if t.Record.WorkflowName != "echo" && t.Record.Result != nil {
		if err := json.Unmarshal(t.Record.Result, &o); err != nil {
			t.Problem("result %s: %v", t.Record.Result, err)
		}
		maps.Copy(t.tokens, o.Tokens)
		t.result = critic.Print(o.Values)
	} else {
		t.result = string(t.Record.Result)
	}
	for _, e := range t.Events {
		if step := e.Attribute("step"); step != "" {
			t.tokens[step] = e.Attribute("token")
		}
		for name, value := range o.Drawn {
			if seen := e.Attribute(name); seen != "" && seen != value {
				t.Problem("%s was %s, and %s in the result", name, seen, value)
			}
		}
	}
}

// normalize writes down the events without what an interrupted run may differ in: run_resume, started and kept, what a
// repeated step wrote, attempt, timestamps, durations, eventIndex. And without what is random by nature.
func (t *tale) normalize() {
	whole := t.wholeAttempts()
	for _, e := range t.Events {
		s := e.Step()
		if e.Kind() == "run_resume" || s != nil && (s.State == "started" || s.State == "kept") {
			continue
		}
		if e["operationId"] != nil && e.Kind() != "operation" {
			continue // of a prompt that may have been repeated; checkTools looks at them
		}
		if e.Attribute("in") != "" && !whole[e.Attribute("token")] {
			continue
		}
		t.lines = append(t.lines, critic.Print(essence(e, t.result)))
	}
}

// wholeAttempts are the tokens of the executions whose outcome was recorded.
func (t *tale) wholeAttempts() map[string]bool {
	whole, running := map[string]bool{}, map[string]string{}
	for _, token := range t.tokens {
		whole[token] = true
	}
	for _, e := range t.Events {
		if label := e.Attribute("in"); label != "" {
			running[label] = e.Attribute("token")
		}
		switch s := e.Step(); {
		case s == nil:
		case s.State == "started":
			delete(running, s.Name)
		case s.State == "failed":
			whole[running[s.Name]] = true
		}
	}
	return whole
}

// essence is the event without what may differ.
func essence(e critic.Event, result string) critic.Event {
	e = maps.Clone(e)
	for _, name := range []string{"timestamp", "startedAt", "durationMs", "eventIndex", "runId", "operationId", "conversationId", "usage"} {
		delete(e, name)
	}
	if e.Kind() == "run_end" && e["result"] != nil {
		e["result"] = result
	}
	if answer, ok := e["result"].(map[string]any); ok && e.Kind() == "operation" {
		e["result"] = answer["text"]
	}
	if a, ok := e["attributes"].(map[string]any); ok {
		a = maps.Clone(a)
		for _, name := range []string{"token", "first", "second", "node", "receipt"} {
			delete(a, name)
		}
		if s, ok := a["step"].(map[string]any); ok {
			s = maps.Clone(s)
			delete(s, "attempt")
			delete(s, "durationMs")
			a["step"] = s
		}
		e["attributes"] = a
	}
	return e
}

// compare demands that the tale ends as the reference does, and tells the same.
func (t *tale) compare(ref *tale, parallel bool) {
	if t.ending() != ref.ending() {
		t.Problem("ended %s, want %s", t.ending(), ref.ending())
	}
	got, want := t.lines, ref.lines
	if parallel {
		got, want = byTrack(got), byTrack(want)
	}
	if !slices.Equal(got, want) {
		t.Problem("told\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// ending is the run's status, its result without what is random, and its error.
func (t *tale) ending() string {
	return fmt.Sprintf("%s %s %s", t.Record.Status, t.result, critic.Print(t.Record.Error))
}

// byTrack orders events by the step they belong to, those outside first; the order within each stays. Which step came
// first is left out.
func byTrack(lines []string) []string {
	type tracked struct{ track, line string }
	all := make([]tracked, len(lines))
	for i, line := range lines {
		var e critic.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			panic(err)
		}
		all[i].track = e.Attribute("in")
		if s := e.Step(); s != nil {
			all[i].track = s.Name
			delete(e["attributes"].(map[string]any)["step"].(map[string]any), "seq")
		}
		all[i].line = critic.Print(e)
	}
	slices.SortStableFunc(all, func(a, b tracked) int { return strings.Compare(a.track, b.track) })
	sorted := make([]string, len(all))
	for i := range all {
		sorted[i] = all[i].line
	}
	return sorted
}

// effect is one execution of a step, as the outside world knows it.
type effect struct {
	at    time.Time
	node  string
	pid   string
	token string
}

// effectsOf reads what really ran for a run, by step in order.
func effectsOf(file, run string) map[string][]effect { return allEffects(file)[run] }

func allEffects(file string) map[string]map[string][]effect {
	data, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		panic(err)
	}
	all := map[string]map[string][]effect{}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) != 6 {
			continue
		}
		at, _ := strconv.ParseInt(f[0], 10, 64)
		if all[f[3]] == nil {
			all[f[3]] = map[string][]effect{}
		}
		all[f[3]][f[4]] = append(all[f[3]][f[4]], effect{at: time.Unix(0, at), node: f[1], pid: f[2], token: f[5]})
	}
	return all
}

// checkEffects demands that the recorded result of a step is that of its last execution, so that nothing ran after it was
// recorded, that what the workflow was given was on record when it began something else, that each death cost one execution of
// a step at most, and that none ran unless its start was on record.
func (t *tale) checkEffects(effects map[string][]effect, deaths int) {
	started, executed := 0, 0
	for _, e := range t.Events {
		if s := e.Step(); s != nil && s.State == "started" {
			started++
		}
	}
	for label, ran := range effects {
		if !strings.HasPrefix(label, seen) {
			executed += len(ran)
		}
	}
	if executed > started {
		t.Problem("%d steps were started and %d ran", started, executed)
	}
	for label, token := range t.tokens {
		ran := effects[label]
		if len(ran) == 0 || ran[len(ran)-1].token != token {
			t.Problem("step %s recorded %s, but ran as %v", label, token, ran)
		}
		for _, was := range effects[seen+label] {
			if was.token != token && (strings.HasPrefix(label, sealed) || wentOn(effects, was)) {
				t.Problem("the workflow was given %s of step %s and went on, but %s is on record", was.token, label, token)
			}
		}
		if t.failures(label)+1+deaths < len(ran) {
			t.Problem("step %s ran %d times with %d deaths", label, len(ran), deaths)
		}
	}
}

// wentOn reports whether the process that was given a result began another step after it: the result is on record then, whatever
// befalls the process.
func wentOn(effects map[string][]effect, given effect) bool {
	for label, ran := range effects {
		if !strings.HasPrefix(label, seen) && slices.ContainsFunc(ran, func(e effect) bool { return e.pid == given.pid && e.at.After(given.at) }) {
			return true
		}
	}
	return false
}

func (t *tale) failures(label string) (n int) {
	for _, e := range t.Events {
		if s := e.Step(); s != nil && s.Name == label && s.State == "failed" && s.Level == "warn" {
			n++
		}
	}
	return n
}

// checkTools demands that a call inside a prompt was on record before it was made, was made once, and came to one result: its
// own, or that it was interrupted.
func (t *tale) checkTools(ran map[string][]effect, known map[string]bool, deaths int) {
	started, ended := map[string]bool{}, map[string]bool{}
	for _, e := range t.Events {
		id, _ := e["toolCallId"].(string)
		switch e.Kind() {
		case "tool_start":
			if started[id] {
				t.Problem("%s was begun twice", id)
			}
			started[id], known[id] = true, true
		case "tool":
			if ended[id] {
				t.Problem("two results of %s", id)
			}
			ended[id] = true
			t.checkResult(id, e, ran[id], deaths)
		}
	}
	for id := range started {
		if !ended[id] {
			t.Problem("%s has no result", id)
		}
	}
	for id, times := range ran {
		if len(times) > 1 {
			t.Problem("%s ran %d times", id, len(times))
		}
		if !known[id] && t.Record.WorkflowName == "asks" {
			t.Problem("%s ran, and nothing tells that it was asked for", id)
		}
		known[id] = true
	}
}

func (t *tale) checkResult(id string, e critic.Event, ran []effect, deaths int) {
	text := critic.Print(e["result"])
	switch {
	case strings.Contains(text, "was interrupted"):
		if deaths == 0 {
			t.Problem("%s was interrupted, and nothing died", id)
		}
	case e["toolName"] == "task" || e["isError"] == true:
	case len(ran) != 1 || !strings.Contains(text, ran[0].token):
		t.Problem("%s gave %s, but ran as %v", id, text, ran)
	}
}
