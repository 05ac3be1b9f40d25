package crash_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// event is an event as a reader decodes it.
type event map[string]any

func decodeEvents(raw []json.RawMessage) []event {
	events := make([]event, len(raw))
	for i, data := range raw {
		if err := json.Unmarshal(data, &events[i]); err != nil {
			panic(fmt.Sprintf("event %s: %v", data, err))
		}
	}
	return events
}

func (e event) kind() string { return e["type"].(string) }

func (e event) attribute(name string) string {
	a, _ := e["attributes"].(map[string]any)
	s, _ := a[name].(string)
	return s
}

// stepEvent is attributes.step.
type stepEvent struct {
	Name, State  string
	Level        string
	Seq, Attempt int
}

func (e event) step() *stepEvent {
	a, _ := e["attributes"].(map[string]any)
	s, ok := a["step"].(map[string]any)
	if !ok {
		return nil
	}
	seq, _ := s["seq"].(float64)
	attempt, _ := s["attempt"].(float64)
	return &stepEvent{
		Name: s["name"].(string), State: s["state"].(string), Level: e["level"].(string), Seq: int(seq), Attempt: int(attempt),
	}
}

// ends reports whether the step has its result, or its final error.
func (s *stepEvent) ends() bool {
	return s.State == "finished" || s.State == "failed" && s.Level == "error"
}

// record is a run as it is looked up.
type record struct {
	RunID        string          `json:"runId"`
	WorkflowName string          `json:"workflowName"`
	Status       string          `json:"status"`
	StartedAt    string          `json:"startedAt"`
	EndedAt      string          `json:"endedAt"`
	IsError      *bool           `json:"isError"`
	DurationMs   *int            `json:"durationMs"`
	Input        json.RawMessage `json:"input"`
	Result       json.RawMessage `json:"result"`
	Error        any             `json:"error"`
}

// tale is a story read by a critic: what must be alike in every telling, and what is wrong with this one.
type tale struct {
	record   record
	events   []event
	lines    []string // the events modulo what an interrupted run may differ in
	result   string   // the outcome without what is random by nature
	tokens   map[string]string
	resumes  int
	problems []string
}

func (t *tale) problem(format string, args ...any) {
	t.problems = append(t.problems, fmt.Sprintf(format, args...))
}

// read judges a story of a run that has ended by the laws that need no other story.
func read(s *story) *tale {
	t := &tale{events: decodeEvents(s.Events), tokens: map[string]string{}}
	if err := json.Unmarshal(s.Run, &t.record); err != nil {
		t.problem("run record: %v", err)
		return t
	}
	if len(t.events) == 0 {
		t.problem("no events")
		return t
	}
	if !s.Closed {
		t.problem("the stream is not closed")
	}
	t.checkFrame()
	t.checkSteps()
	t.readOutcome()
	t.normalize()
	return t
}

// checkFrame demands one run_start first, one run_end last that says what the record says, and growing indexes.
func (t *tale) checkFrame() {
	last := -1.0
	for i, e := range t.events {
		switch kind := e.kind(); {
		case (kind == "run_start") != (i == 0), (kind == "run_end") != (i == len(t.events)-1):
			t.problem("%s is event %d of %d", kind, i, len(t.events))
		case kind == "run_resume":
			t.resumes++
		}
		index := e["eventIndex"].(float64)
		if index <= last {
			t.problem("eventIndex %v follows %v", index, last)
		}
		last = index
		if e["v"].(float64) != 3 || e["runId"] != t.record.RunID {
			t.problem("event %d is of version %v and run %v", i, e["v"], e["runId"])
		}
	}
	first, end := t.events[0], t.events[len(t.events)-1]
	if first["eventIndex"].(float64) != 0 {
		t.problem("the first eventIndex is %v", first["eventIndex"])
	}
	t.checkSame("input", first["input"], t.record.Input)
	if first["startedAt"] != t.record.StartedAt {
		t.problem("run_start says %v, the record %v", first["startedAt"], t.record.StartedAt)
	}
	if t.record.Status == "active" || t.record.IsError == nil || t.record.DurationMs == nil {
		t.problem("the record is not that of an ended run: %+v", t.record)
		return
	}
	if *t.record.IsError != (t.record.Status == "errored") || end["isError"] != *t.record.IsError || end["durationMs"] != float64(*t.record.DurationMs) {
		t.problem("run_end %v does not fit the record %+v", end, t.record)
	}
	t.checkSame("result", end["result"], t.record.Result)
	if print(end["error"]) != print(t.record.Error) {
		t.problem("run_end has error %v, the record %v", end["error"], t.record.Error)
	}
}

func (t *tale) checkSame(what string, inEvent any, inRecord json.RawMessage) {
	var v any
	if inRecord != nil {
		if err := json.Unmarshal(inRecord, &v); err != nil {
			t.problem("%s of the record: %v", what, err)
		}
	}
	if print(inEvent) != print(v) {
		t.problem("%s is %v in the event and %v in the record", what, print(inEvent), print(v))
	}
}

func print(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// progress is how far a step has come in the telling.
type progress struct {
	name    string
	attempt int  // that started last
	running bool // and has neither finished nor failed
	ended   int  // in which stretch between resumes, from 1; 0 while it has not
	kept    int  // in which stretch it was told as kept
}

// checkSteps demands that steps are told in the order of their life: started, then finished or failed; ended once; kept at
// most once per resume, and only if they had ended before it.
func (t *tale) checkSteps() {
	steps := map[int]*progress{}
	stretch := 1
	for i, e := range t.events {
		if e.kind() == "run_resume" {
			stretch++
			for _, p := range steps {
				p.running = false
			}
		}
		s := e.step()
		if s == nil {
			continue
		}
		p := steps[s.Seq]
		if p == nil {
			p = &progress{name: s.Name}
			steps[s.Seq] = p
		}
		if p.name != s.Name {
			t.problem("event %d: seq %d is %q and was %q", i, s.Seq, s.Name, p.name)
		}
		switch {
		case s.State == "started":
			if p.ended > 0 || p.running || s.Attempt != p.attempt+1 {
				t.problem("event %d: %s#%d started, after %+v", i, s.Name, s.Attempt, *p)
			}
			p.attempt, p.running = s.Attempt, true
		case s.State == "kept":
			if p.ended == 0 || p.ended == stretch || p.kept == stretch || s.Attempt != p.attempt {
				t.problem("event %d: %s#%d kept, after %+v in stretch %d", i, s.Name, s.Attempt, *p, stretch)
			}
			p.kept = stretch
		default:
			if p.ended > 0 || !p.running || s.Attempt != p.attempt {
				t.problem("event %d: %s#%d %s, after %+v", i, s.Name, s.Attempt, s.State, *p)
			}
			p.running = false
			if s.ends() {
				p.ended = stretch
			}
		}
	}
	for seq := range len(steps) {
		p := steps[seq]
		if p == nil {
			t.problem("no step has seq %d of %v", seq, slices.Sorted(maps.Keys(steps)))
		} else if t.returned() && p.ended > 0 && p.ended < stretch && p.kept < stretch {
			t.problem("%s was not told as kept after the last resume", p.name)
		}
	}
}

// returned reports whether the run's function came to its end.
func (t *tale) returned() bool {
	return t.record.Status == "completed" || strings.Contains(print(t.record.Error), `"name":"Error"`)
}

// readOutcome parts the result from what is random in it, and checks that everybody saw the same random values.
func (t *tale) readOutcome() {
	var o outcome
	if t.record.WorkflowName != "echo" && t.record.Result != nil {
		if err := json.Unmarshal(t.record.Result, &o); err != nil {
			t.problem("result %s: %v", t.record.Result, err)
		}
		maps.Copy(t.tokens, o.Tokens)
		t.result = print(o.Values)
	} else {
		t.result = string(t.record.Result)
	}
	for _, e := range t.events {
		if step := e.attribute("step"); step != "" {
			t.tokens[step] = e.attribute("token")
		}
		for name, value := range o.Drawn {
			if seen := e.attribute(name); seen != "" && seen != value {
				t.problem("%s was %s, and %s in the result", name, seen, value)
			}
		}
	}
}

// normalize writes down the events without what an interrupted run may differ in: run_resume, started and kept, what a
// repeated step wrote, attempt, timestamps, durations, eventIndex. And without what is random by nature.
func (t *tale) normalize() {
	whole := t.wholeAttempts()
	for _, e := range t.events {
		s := e.step()
		if e.kind() == "run_resume" || s != nil && (s.State == "started" || s.State == "kept") {
			continue
		}
		if e.attribute("in") != "" && !whole[e.attribute("token")] {
			continue
		}
		t.lines = append(t.lines, print(e.essence(t.result)))
	}
}

// wholeAttempts are the tokens of the executions whose outcome was recorded.
func (t *tale) wholeAttempts() map[string]bool {
	whole, running := map[string]bool{}, map[string]string{}
	for _, token := range t.tokens {
		whole[token] = true
	}
	for _, e := range t.events {
		if label := e.attribute("in"); label != "" {
			running[label] = e.attribute("token")
		}
		switch s := e.step(); {
		case s == nil:
		case s.State == "started":
			delete(running, s.Name)
		case s.State == "failed":
			whole[running[s.Name]] = true
		}
	}
	return whole
}

// short is what a person reads of the events.
func (t *tale) short() []string {
	lines := make([]string, len(t.events))
	for i, e := range t.events {
		lines[i] = fmt.Sprintf("%d %s", i, e.kind())
		if s := e.step(); s != nil {
			lines[i] = fmt.Sprintf("%d seq %d %s#%d %s", i, s.Seq, s.Name, s.Attempt, s.State)
		} else if e.kind() == "log" {
			lines[i] = fmt.Sprintf("%d %q %s", i, e["message"], e.attribute("token"))
		}
	}
	return lines
}

// essence is the event without what may differ.
func (e event) essence(result string) event {
	e = maps.Clone(e)
	for _, name := range []string{"timestamp", "startedAt", "durationMs", "eventIndex", "runId"} {
		delete(e, name)
	}
	if e.kind() == "run_end" && e["result"] != nil {
		e["result"] = result
	}
	if a, ok := e["attributes"].(map[string]any); ok {
		a = maps.Clone(a)
		for _, name := range []string{"token", "first", "second", "node"} {
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
		t.problem("ended %s, want %s", t.ending(), ref.ending())
	}
	got, want := t.lines, ref.lines
	if parallel {
		got, want = byTrack(got), byTrack(want)
	}
	if !slices.Equal(got, want) {
		t.problem("told\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// ending is the run's status, its result without what is random, and its error.
func (t *tale) ending() string {
	return fmt.Sprintf("%s %s %s", t.record.Status, t.result, print(t.record.Error))
}

// byTrack orders events by the step they belong to, those outside first; the order within each stays. Which step came
// first is left out.
func byTrack(lines []string) []string {
	type tracked struct{ track, line string }
	all := make([]tracked, len(lines))
	for i, line := range lines {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			panic(err)
		}
		all[i].track = e.attribute("in")
		if s := e.step(); s != nil {
			all[i].track = s.Name
			delete(e["attributes"].(map[string]any)["step"].(map[string]any), "seq")
		}
		all[i].line = print(e)
	}
	slices.SortStableFunc(all, func(a, b tracked) int { return strings.Compare(a.track, b.track) })
	sorted := make([]string, len(all))
	for i := range all {
		sorted[i] = all[i].line
	}
	return sorted
}

// checkPrefix demands that what a process found on record is still there, byte for byte.
func (t *tale) checkPrefix(s *story, found []json.RawMessage) {
	for i, e := range found {
		if i >= len(s.Events) || !bytes.Equal(e, s.Events[i]) {
			t.problem("event %d was %s and is gone or changed", i, e)
			return
		}
	}
}

// effect is one execution of a step, as the outside world knows it.
type effect struct {
	at    time.Time
	node  string
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
		all[f[3]][f[4]] = append(all[f[3]][f[4]], effect{at: time.Unix(0, at), node: f[1], token: f[5]})
	}
	return all
}

// checkEffects demands that the recorded result of a step is that of its last execution, so that nothing ran after it was
// recorded, that each death cost one execution of a step at most, and that none ran unless its start was on record.
func (t *tale) checkEffects(effects map[string][]effect, deaths int) {
	started, executed := 0, 0
	for _, e := range t.events {
		if s := e.step(); s != nil && s.State == "started" {
			started++
		}
	}
	for label, ran := range effects {
		if !strings.HasPrefix(label, seen) {
			executed += len(ran)
		}
	}
	if executed > started {
		t.problem("%d steps were started and %d ran", started, executed)
	}
	for label, token := range t.tokens {
		ran := effects[label]
		if len(ran) == 0 || ran[len(ran)-1].token != token {
			t.problem("step %s recorded %s, but ran as %v", label, token, ran)
		}
		for _, was := range effects[seen+label] {
			if was.token != token {
				t.problem("the workflow was given %s of step %s, but %s is on record", was.token, label, token)
			}
		}
		if t.failures(label)+1+deaths < len(ran) {
			t.problem("step %s ran %d times with %d deaths", label, len(ran), deaths)
		}
	}
}

func (t *tale) failures(label string) (n int) {
	for _, e := range t.events {
		if s := e.step(); s != nil && s.Name == label && s.State == "failed" && s.Level == "warn" {
			n++
		}
	}
	return n
}
