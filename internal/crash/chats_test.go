package crash_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/conversation"
	"svc.dev/svc/internal/critic"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/stream"
)

// talk is a conversation that is played whatever happens.
type talk struct {
	name  string
	agent string
	fast  bool // the model does not wait between its words: appends hold what they happen to hold
	lines []line
	// Once the first submission has said this, those named are aborted in this order.
	hear   string
	aborts []int
}

// line is one submission and how it must end.
type line struct {
	play    string
	kind    string // direct, dispatch or signal
	outcome string
	failure string // type of the error
}

func says(names ...string) (lines []line) {
	for _, name := range names {
		lines = append(lines, line{play: name, kind: "direct", outcome: "completed"})
	}
	return lines
}

var talks = []talk{
	{name: "text", lines: says("words")},
	{name: "reasoning", lines: says("thought")},
	{name: "tool", lines: says("tool")},
	{name: "tools", lines: says("tools")},
	{name: "tools-twice", lines: says("tools-twice")},
	{name: "task", lines: says("delegate")},
	{name: "ask", lines: says("consult")},
	{name: "typed", agent: "adds", lines: says("typed", "typed")},
	{name: "ask-typed", lines: says("consult-typed")},
	{name: "retried", lines: says("cut")},
	{name: "retried-often", lines: says("cut-often", "word")}, // the last time it waits in the store
	{name: "retried-after-call", lines: says("cut-call")},
	{name: "failing", lines: []line{{"refuse", "direct", "failed", "operation_failed"}, {"word", "direct", "completed", ""}}},
	{name: "aborted", hear: "upon", aborts: []int{1, 0}, lines: []line{
		{"hang", "direct", "aborted", "submission_aborted"}, {"words", "direct", "aborted", "submission_aborted"}, {"word", "direct", "completed", ""},
	}},
	{name: "aborted-tools", hear: "dynamic-tool", aborts: []int{0}, lines: []line{
		{"stuck", "direct", "aborted", "submission_aborted"}, {"word", "direct", "completed", ""},
	}},
	{name: "queue", lines: says("word", "tool", "thought", "words")},
	{name: "dispatched", lines: []line{
		{"tool", "dispatch", "completed", ""}, {"refuse", "dispatch", "failed", "operation_failed"},
		{"word", "signal", "completed", ""}, {"word", "direct", "completed", ""},
	}},
	{name: "deadline", agent: "hasty", lines: []line{{"hang", "direct", "failed", "submission_timeout"}}},
	{name: "deadline-tools", agent: "hasty", lines: []line{{"stuck", "direct", "failed", "submission_timeout"}}},
	{name: "compaction", agent: "forgetful", lines: says("word", "word", "word", "word", "tool", "word", "word")},
	{name: "compaction-fast", agent: "forgetful", fast: true, lines: says("word", "word", "word", "word", "tool", "word", "word")},
	{name: "fast", fast: true, lines: says("words", "tools", "thought", "delegate", "cut", "word")},
}

func (k talk) by() string {
	if k.agent == "" {
		return "talker"
	}
	return k.agent
}

// audience is a client that goes on from its offset whoever serves it.
type audience struct {
	mu    sync.Mutex
	pages []critic.Page
}

func (a *audience) hear(p *critic.Page) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pages = append(a.pages, *p)
}

func (a *audience) after() stream.Offset {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.pages) == 0 {
		return stream.Start
	}
	return a.pages[len(a.pages)-1].Next
}

// all are the pages, once they reach an offset.
func (a *audience) all(t testing.TB, through stream.Offset) []critic.Page {
	t.Helper()
	eventually(t, "the audience is told all", func() bool { return a.after() >= through })
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.pages
}

// converse plays a talk as far as the node lives. Repeated under the same name it goes on.
func (st *stage) converse(k talk, instance string, a *audience) (ids []string, told *critic.Chat, err error) {
	ask := func(op string, change func(*request)) (reply, error) {
		r := request{Op: op, chatRequest: chatRequest{Agent: k.by(), Instance: instance}}
		if change != nil {
			change(&r)
		}
		return st.node.ask(r)
	}
	for i, l := range k.lines {
		got, err := ask("prompt", func(r *request) { r.Kind, r.Message, r.Key = l.kind, "play "+l.play, fmt.Sprint(i) })
		if err != nil {
			return ids, nil, err
		}
		ids = append(ids, got.chatReply.Submission)
		if i > 0 {
			continue
		}
		st.node.mu.Lock()
		st.node.heard = a.hear
		st.node.mu.Unlock()
		if _, err := ask("watch", func(r *request) { r.After = a.after() }); err != nil {
			return ids, nil, err
		}
	}
	if k.hear != "" {
		if _, err := ask("said", func(r *request) { r.Submission, r.Message = ids[0], k.hear }); err != nil {
			return ids, nil, err
		}
	}
	for _, i := range k.aborts {
		if _, err := ask("abort", func(r *request) { r.chatRequest.Submission = ids[i] }); err != nil {
			return ids, nil, err
		}
	}
	got, err := ask("idle", nil)
	return ids, got.Chat, err
}

// stageTalk plays a talk while processes die in one trap after the other.
func (st *stage) stageTalk(k talk, traps ...trap) (deaths int, c *critique) {
	st.t.Helper()
	st.plays++
	instance := fmt.Sprintf("%s-%d", k.name, st.plays)
	var seen audience
	var found []*process
	if len(traps) > 0 {
		st.node.arm(traps[0])
	}
	var first []string // submissions that were promised
	for {
		ids, told, err := st.converse(k, instance, &seen)
		if err == nil {
			err = st.node.disarm()
		}
		if errors.Is(err, errDied) {
			st.node.Wait()
			deaths++
			next := trap{}
			if deaths < len(traps) {
				next = traps[deaths]
			}
			st.raise(next)
			found = append(found, st.node)
			first = longer(first, ids)
			continue
		}
		if err != nil {
			st.node.Kill()
			st.t.Fatalf("%s, dying %v: %v\n%s", k.name, traps, err, st.node.Complaints())
		}
		st.deaths += deaths
		c = judge(told)
		if !slices.Equal(first, ids[:len(first)]) {
			c.Problem("promised were %v, now the same keys give %v", first, ids)
		}
		c.checkTalk(k, ids)
		c.checkTools(allEffects(st.setup.Effects)["tool"], deaths)
		for _, p := range found {
			c.CheckFound(p.open[instance])
		}
		c.CheckAudience(seen.all(st.t, told.Pages[len(told.Pages)-1].Next))
		st.criticize(fmt.Sprintf("%s, dying %v", k.name, traps), c)
		return deaths, c
	}
}

func longer(a, b []string) []string {
	if len(a) > len(b) {
		return a
	}
	return b
}

func (st *stage) criticize(what string, c *critique) {
	st.t.Helper()
	for _, r := range c.Records {
		if r.Type == conversation.ToolCalled {
			st.calls[r.Call.ID] = true
		}
	}
	for _, bad := range allEffects(st.setup.Effects)["request"]["malformed"] {
		c.Problem("a request was malformed: %s", bad.token)
	}
	if len(c.Problems) > 0 {
		st.t.Errorf("%s:\n- %s\nlog\n  %s", what, strings.Join(c.Problems, "\n- "), c.Retold())
	}
}

// checkCalls demands, of all conversations together, that no tool ran whose call is not on record.
func (st *stage) checkCalls() {
	st.t.Helper()
	for call := range allEffects(st.setup.Effects)["tool"] {
		if !st.calls[call] {
			st.t.Errorf("%s ran and is nowhere on record", call)
		}
	}
}

// checkTalk demands that each submission ended as it must, in order.
func (c *critique) checkTalk(k talk, ids []string) {
	if critic.Print(c.Settled) != critic.Print(ids) {
		c.Problem("settled %v, want %v", c.Settled, ids)
	}
	said, heard := map[string]string{}, map[string]int{}
	ends := map[string]conversation.Settlement{}
	for _, r := range c.Records {
		switch {
		case r.Session != "":
		case r.Type == conversation.TextDelta:
			said[r.Submission] += r.Text
		case r.Submission != "" && (r.Type == conversation.UserMessage || r.Type == conversation.SignalMessage):
			heard[r.Submission]++
		case r.Type == conversation.Settled:
			ends[r.Settlement.Submission] = *r.Settlement
		}
	}
	for i, l := range k.lines {
		s := ends[ids[i]]
		failure := ""
		if s.Error != nil {
			failure = s.Error.Type
		}
		if s.Outcome != l.outcome || failure != l.failure || s.Private == (l.kind == "direct") {
			c.Problem("submission %d, %s, ended %s", i, l.play, critic.Print(s))
		}
		text := plays[l.play].text()
		switch {
		case l.outcome == "completed" && said[ids[i]] != text:
			c.Problem("submission %d, %s, was answered %q, want %q", i, l.play, said[ids[i]], text)
		case l.outcome != "completed" && !strings.HasPrefix(text, said[ids[i]]):
			c.Problem("submission %d, %s, was answered %q, which is no part of %q", i, l.play, said[ids[i]], text)
		}
		unheard := (l.outcome == "aborted" || l.failure == "submission_interrupted") && heard[ids[i]] == 0 && said[ids[i]] == ""
		if heard[ids[i]] != 1 && !unheard {
			c.Problem("submission %d, %s, was heard %d times", i, l.play, heard[ids[i]])
		}
		if l.outcome == "aborted" && i > 0 && heard[ids[i]] > 0 {
			c.Problem("submission %d was aborted while it was queued, and heard", i)
		}
		c.checkNotice(i, ids[i], l)
	}
}

// checkNotice demands the advisory on a submission that was aborted or given up, right before its settlement.
func (c *critique) checkNotice(i int, id string, l line) {
	reasons := map[string]string{
		"submission_aborted": "aborted", "submission_timeout": "exceeded_timeout",
		"submission_retry_exhausted": "exhausted_retry_budget", "submission_interrupted": "exhausted_retry_budget",
	}
	want := conversation.InterruptedID(id)
	if l.outcome == "aborted" {
		want = conversation.AbortedID(id)
	}
	before := ""
	for _, r := range c.Records {
		if r.Session != "" {
			continue
		}
		if r.Type == conversation.Settled && r.Settlement.Submission == id {
			break
		}
		before = ""
		if r.Type == conversation.SignalMessage && r.Message == want {
			before = critic.Print(r.Attributes)
		}
	}
	if reason := reasons[l.failure]; (reason != "") != (before != "") || !strings.Contains(before, `"reason":"`+reason) {
		if reason != "" || before != "" {
			c.Problem("submission %d, %s: before its settlement stands %q, want reason %q", i, l.play, before, reason)
		}
	}
}

// interruption is the type of the advisory on a reply that broke off.
const interruption = "stream_interrupted"

// rehearseTalk plays a talk without interruption and counts its writes.
func (st *stage) rehearseTalk(k talk) {
	st.t.Helper()
	if st.node == nil {
		st.raise(trap{})
	}
	before := st.node.must(request{Op: "stats"}).Stats
	_, c := st.stageTalk(k)
	after := st.node.must(request{Op: "stats"}).Stats
	st.writes[k.name] = stats{Appends: after.Appends - before.Appends, Releases: after.Releases - before.Releases}
	for _, r := range c.Records {
		if r.Hidden && r.SignalType != conversation.ResultMissing || r.Stop == conversation.StopAborted && k.hear == "" && k.agent != "hasty" {
			st.t.Errorf("%s: nothing was interrupted, but %s\n%s", k.name, r.Type, c.Retold())
			break
		}
	}
	if k.agent == "forgetful" && !strings.Contains(c.Retold(), string(conversation.Compaction)) {
		st.t.Errorf("%s: nothing was compacted", k.name)
	}
}

func (st *stage) everyWriteOf(k talk) (traps []trap) {
	w := st.writes[k.name]
	for _, after := range []bool{false, true} {
		for n := range w.Appends {
			traps = append(traps, trap{onAppend, n + 1, after})
		}
		for n := range w.Releases {
			traps = append(traps, trap{onRelease, n + 1, after})
		}
		for n := range k.lines {
			traps = append(traps, trap{onAdmit, n + 1, after})
		}
		for n := range k.aborts {
			traps = append(traps, trap{onAbort, n + 1, after})
		}
	}
	return traps
}

// stageEvery dies once at every write of the talks, or at some of them.
func (st *stage) stageEvery(each int, list ...talk) {
	st.t.Helper()
	for _, k := range list {
		plays, deaths, began := st.plays, st.deaths, time.Now()
		st.rehearseTalk(k)
		traps := st.everyWriteOf(k)
		if each > 0 {
			rand.Shuffle(len(traps), func(i, j int) { traps[i], traps[j] = traps[j], traps[i] })
			traps = traps[:min(each, len(traps))]
		}
		broken := 0
		for _, at := range traps {
			_, c := st.stageTalk(k, at)
			for _, r := range c.Records {
				if r.Hidden && r.SignalType == interruption {
					broken++
				}
			}
			if st.t.Failed() && each == 0 && !soak {
				break
			}
		}
		st.t.Logf("%s: %d appends; %d plays, %d processes killed, %d replies broken and gone on with, %v",
			k.name, st.writes[k.name].Appends, st.plays-plays, st.deaths-deaths, broken, time.Since(began).Round(time.Millisecond))
	}
}

func TestConversationEndsAlikeWhereverItsProcessDies(t *testing.T) {
	one := func(address func(testing.TB) string, each int) func(*testing.T) {
		return func(t *testing.T) {
			for _, k := range talks {
				sampled := strings.Contains(" text tool tools aborted ", " "+k.name+" ")
				t.Run(k.name, func(t *testing.T) {
					abreast(t)
					n := each
					if !soak && n == 0 && !sampled {
						n = 2
					}
					st := newStage(t, address(t))
					if k.fast {
						st.setup.Pace = 1
					}
					st.stageEvery(n, k)
					st.checkCalls()
					st.node.Stop()
				})
			}
		}
	}
	t.Run("sqlite", one(sqldbtest.SQLite, 0))
	few := 1
	if soak {
		few = 0
	}
	t.Run("postgres", one(sqldbtest.Postgres, few))
}

func TestConversationEndsAlikeHoweverOftenItsProcessDies(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, address string) {
		abreast(t)
		st := newStage(t, address)
		times := 1
		if soak {
			times = 10
		}
		for _, k := range talks {
			if !soak && !strings.Contains(" tools task compaction ", " "+k.name+" ") {
				continue
			}
			st.rehearseTalk(k)
			all := st.everyWriteOf(k)
			for range times {
				traps := []trap{all[rand.IntN(len(all))]}
				for range 1 + rand.IntN(4) {
					at := trap{onAppend, 1 + rand.IntN(3), rand.IntN(2) == 0}
					if rand.IntN(4) == 0 {
						at = trap{onClaim, 1, true}
					}
					traps = append(traps, at)
				}
				st.stageTalk(k, traps...)
			}
		}
		st.close()
	})
}
