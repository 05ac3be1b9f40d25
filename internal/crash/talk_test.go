package crash_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/conversation"
	"svc.dev/svc/internal/critic"
	"svc.dev/svc/model"
	"svc.dev/svc/model/scripted"
	"svc.dev/svc/stream"
)

// chatRequest is what a request about an agent's instance adds.
type chatRequest struct {
	Agent      string
	Instance   string
	Kind       string // of a prompt: direct, dispatch or signal
	Submission string
	After      stream.Offset
}

type chatReply struct {
	Submission string
	Aborted    bool
	Chat       *critic.Chat
	Open       map[string]*critic.Chat // conversations with work in their queue, by instance
	Page       *critic.Page            // what a reader was shown, unasked
}

// play is what the model does when it is asked to, turn by turn; each round of tool results begins the next.
type play []act

type act struct {
	think []string
	say   []string
	calls []toolCall
	fail  model.Class // at the end
	once  bool        // fail only if nothing was said before
	until int         // fail behind every word, until so many were said
	hang  bool
	dies  bool // takes the process along
}

type toolCall struct {
	Name   string
	Ms     int
	Agent  string
	Prompt string
	Gives  any // as a result
}

// text is what all turns say.
func (p play) text() (all string) {
	for _, a := range p {
		all += strings.Join(a.say, "")
	}
	return all
}

// gives reports whether the play ends with a result, which is given until it is taken.
func (p play) gives() bool {
	return len(p) > 0 && slices.ContainsFunc(p[len(p)-1].calls, func(c toolCall) bool { return c.Gives != nil })
}

func (p play) lastText() string { return strings.Join(p[len(p)-1].say, "") }

var plays = map[string]play{
	"words":   {{say: []string{"one ", "two ", "three ", "four ", "five ", "six ", "seven ", "<&é\u2028𝄞>"}}},
	"word":    {{say: []string{"a ", "b"}}},
	"thought": {{think: []string{"let ", "me ", "see"}, say: []string{"I ", "see"}}},
	"tool":    {{say: []string{"wait "}, calls: []toolCall{{Name: "work", Ms: 15}}}, {say: []string{"it ", "is done"}}},
	"tools": {
		{say: []string{"wait "}, calls: []toolCall{{Name: "work", Ms: 12}, {Name: "work", Ms: 45}, {Name: "work", Ms: 28}}},
		{say: []string{"all ", "done"}},
	},
	"tools-twice": {
		{calls: []toolCall{{Name: "work", Ms: 3}, {Name: "fails", Ms: 3}}}, {say: []string{"again "}, calls: []toolCall{{Name: "work", Ms: 3}}},
		{say: []string{"done"}},
	},
	"delegate": {{say: []string{"asking "}, calls: []toolCall{{Name: "task", Agent: "lead", Prompt: "play lead"}}}, {say: []string{"they ", "did it"}}},
	"lead":     {{calls: []toolCall{{Name: "task", Agent: "hand", Prompt: "play hand"}, {Name: "work", Ms: 20}}}, {say: []string{"my team ", "did it"}}},
	"hand":     {{say: []string{"hm "}, calls: []toolCall{{Name: "work", Ms: 12}}}, {say: []string{"I ", "did ", "it"}}},
	"consult": {
		{say: []string{"asking "}, calls: []toolCall{{Name: "work", Ms: 12}, {Name: askTool, Agent: "hand", Prompt: "play hand"}, {Name: "work", Ms: 28}}},
		{say: []string{"they ", "answered"}},
	},
	"typed": {
		{say: []string{"hm "}}, {calls: []toolCall{{Name: conversation.ResultTool, Gives: map[string]string{"sum": "five"}}}},
		{calls: []toolCall{{Name: "work", Ms: 12}, {Name: conversation.ResultTool, Gives: map[string]int{"sum": 5}}}},
	},
	"consult-typed": {
		{say: []string{"asking "}, calls: []toolCall{{Name: askTool, Agent: "adds", Prompt: "play typed"}, {Name: "work", Ms: 12}}},
		{say: []string{"they ", "added"}},
	},
	"cut":       {{say: []string{"hal", "f ", "and ", "half"}, fail: model.Network, once: true}},
	"cut-often": {{say: []string{"a ", "b ", "c ", "d ", "e"}, fail: model.Overloaded, until: 3}},
	"cut-call": {
		{say: []string{"half "}, calls: []toolCall{{Name: "work", Ms: 3}}, fail: model.Network}, {say: []string{"whole"}},
	},
	"refuse":         {{say: []string{"I ", "will "}, fail: model.Rejected}},
	"hang":           {{say: []string{"once ", "upon "}, hang: true}},
	"stuck":          {{say: []string{"wait "}, calls: []toolCall{{Name: "work", Ms: 1}, {Name: "work", Ms: 3_600_000}}}, {say: []string{"hm "}, hang: true}},
	"deadly":         {{say: []string{"adieu "}, dies: true}},
	"deadly-at-once": {{dies: true}},
	"deadly-tool":    {deadlyCalls, deadlyCalls, deadlyCalls, {say: []string{"never"}}},
	"march":          {{say: marchWords}},
}

var deadlyCalls = act{calls: []toolCall{{Name: "die"}, {Name: "work"}}}

var marchWords = func() (words []string) {
	for i := range 60 {
		words = append(words, fmt.Sprintf("w%d ", i))
	}
	return words
}()

var asked = regexp.MustCompile(`(?m)^play (\S+)$`)

// model plays what the last user asks for, and goes on behind what it has said of it.
func (n *node) model() model.Provider {
	pace := n.Pace
	if pace == 0 {
		pace = 6 * time.Millisecond
	}
	return paced{scripted.Choose(n.choose), pace}
}

// paced rests before every event, so that each is appended by itself.
type paced struct {
	model.Provider
	pause time.Duration
}

func (p paced) Turn(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		for e, err := range p.Provider.Turn(ctx, r) {
			takes(p.pause)
			if e.Call != nil && e.Call.ID == dyingCall {
				takes(20 * time.Millisecond)
				die()
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func (n *node) choose(r model.Request) scripted.Turn {
	if wrong := malformed(r.Messages); wrong != "" {
		n.mark("request", "malformed", strings.ReplaceAll(wrong, " ", "_"))
	}
	name, round, said := comeTo(r.Messages)
	if strings.HasPrefix(textOf(r.Messages[len(r.Messages)-1]), "Sum up the conversation") {
		return scripted.Turn{scripted.Say("It was ", fmt.Sprintf("about plays, now %s, round %d, behind %q.", name, round, said))}
	}
	p, ok := plays[name]
	if p.gives() {
		round = min(round, len(p)-1)
	}
	if !ok || round >= len(p) {
		return scripted.Turn{scripted.Fail(&model.Error{Class: model.Rejected, Message: fmt.Sprintf("there is no play %q, round %d", name, round)})}
	}
	return p[round].turn(said)
}

// turn is what is left to do of an act of which something was said before.
func (a act) turn(said string) scripted.Turn {
	var t scripted.Turn
	if len(a.think) > 0 && said == "" {
		t = append(t, scripted.Think("signed", a.think...))
	}
	words, rest := slices.Clone(a.say), said
	for len(words) > 0 && rest != "" && strings.HasPrefix(rest, words[0]) {
		words, rest = words[1:], rest[len(words[0]):]
	}
	fails := a.fail != ""
	if a.once {
		fails = said == ""
		if fails {
			words = words[:len(words)/2]
		}
	}
	if done := len(a.say) - len(words); a.until > 0 {
		if fails = done < a.until; fails {
			words = words[:1]
		}
	}
	if len(words) > 0 {
		t = append(t, scripted.Say(words...))
	}
	for _, c := range a.calls {
		t = append(t, c.step())
	}
	switch {
	case fails:
		t = append(t, scripted.Fail(&model.Error{Class: a.fail, Message: "on purpose"}))
	case a.hang:
		t = append(t, scripted.Hang())
	case a.dies:
		t = append(t, scripted.CallAs(model.ToolCall{ID: dyingCall, Name: "work", Input: json.RawMessage(`{}`)}))
	}
	return t
}

// askTool asks another agent of the runtime.
const askTool = "ask_agent"

// dyingCall takes the process along before anybody hears of it.
const dyingCall = "die"

func (c toolCall) step() scripted.Step {
	id := "call_" + rand.Text()
	input := any(map[string]any{"call": id, "ms": c.Ms})
	switch {
	case c.Name == "task" || c.Name == askTool:
		input = map[string]string{"agent": c.Agent, "prompt": c.Prompt}
	case c.Gives != nil:
		input = c.Gives
	}
	data, err := json.Marshal(input)
	if err != nil {
		return scripted.Fail(err)
	}
	return scripted.CallAs(model.ToolCall{ID: id, Name: c.Name, Input: data})
}

func textOf(m model.Message) (text string) {
	for _, p := range m.Parts {
		if p.Text != nil {
			text += *p.Text
		}
	}
	return text
}

// summed is how far a play has come in the model's own summary of it.
var summed = regexp.MustCompile(`about plays, now (\S*), round (\d+), behind ("(?:[^"\\]|\\.)*")\.`)

// comeTo reads from a request how far a play has come: its name, the rounds of results, what was said since the last.
func comeTo(messages []model.Message) (name string, round int, said string) {
	for _, m := range messages {
		switch m.Role {
		case model.RoleUser:
			text := textOf(m)
			if found := summed.FindStringSubmatch(text); found != nil {
				name = found[1]
				round, _ = strconv.Atoi(found[2])
				said, _ = strconv.Unquote(found[3])
			} else if found := asked.FindStringSubmatch(text); found != nil {
				name, round, said = found[1], 0, ""
			} else if strings.Contains(text, " answered] ") || strings.Contains(text, conversation.ResultMissing) { // a result, in what is to be summed up, or the reminder of one
				round, said = round+1, ""
			}
		case model.RoleTool:
			round, said = round+1, ""
		case model.RoleAssistant:
			said += textOf(m)
		}
	}
	return name, round, said
}

// malformed says what providers would refuse: calls without results right behind them, results without calls.
func malformed(messages []model.Message) string {
	var open []string
	for i, m := range messages {
		var calls, results []string
		for _, p := range m.Parts {
			if p.Call != nil {
				calls = append(calls, p.Call.ID)
			}
			if p.Result != nil {
				results = append(results, p.Result.ID)
			}
		}
		if !slices.Equal(results, open) {
			return fmt.Sprintf("message %d has results of %v after calls of %v", i, results, open)
		}
		open = calls
	}
	if len(open) > 0 {
		return fmt.Sprintf("no results of %v", open)
	}
	return ""
}

type workIn struct {
	Call string `json:"call"`
	Ms   int    `json:"ms"`
}

type workOut struct {
	Token string `json:"token"`
}

// added is the output of the agent that adds.
type added struct {
	Sum int `json:"sum"`
}

func (n *node) declareAgents() {
	work := func(ctx context.Context, in workIn) (workOut, error) {
		token := n.effect("tool", in.Call)
		select {
		case <-time.After(time.Duration(in.Ms) * time.Millisecond):
			return workOut{token}, nil
		case <-ctx.Done():
			return workOut{}, ctx.Err()
		}
	}
	tools := []svc.Tool{
		svc.AskTool(askTool, "Asks.", func(context.Context, string) error { return nil }),
		svc.NewTool("work", "Works.", work),
		svc.NewTool("fails", "Fails.", func(ctx context.Context, in workIn) (workOut, error) {
			_, err := work(ctx, in)
			return workOut{}, errors.Join(errors.New("broken on purpose: \xff<&\u2028\x00"), err)
		}),
		svc.NewTool("die", "Ends the process.", func(ctx context.Context, in workIn) (workOut, error) {
			_, _ = work(ctx, in)
			takes(20 * time.Millisecond)
			die()
			return workOut{}, nil
		}),
	}
	hand := &svc.Agent{Name: "hand", Instructions: "hand", Model: "scripted/test", Tools: tools}
	lead := &svc.Agent{Name: "lead", Instructions: "lead", Model: "scripted/test", Tools: tools, Agents: []*svc.Agent{hand}}
	agent := func(name string, change func(*svc.Agent)) *svc.Agent {
		a := &svc.Agent{Name: name, Instructions: name, Model: "scripted/test", Tools: tools, Agents: []*svc.Agent{lead}}
		if change != nil {
			change(a)
		}
		return a
	}
	n.rt.AddAgent(
		hand, agent("talker", nil),
		agent("hasty", func(a *svc.Agent) { a.Timeout = 150 * time.Millisecond }),
		agent("forgetful", func(a *svc.Agent) { a.Context = 3 }),
		agent("mortal", func(a *svc.Agent) { a.MaxAttempts = 3 }),
		agent("adds", func(a *svc.Agent) { a.Output = svc.OutputOf[added]() }),
	)
}

func (n *node) answerChat(ctx context.Context, r request) (a chatReply, err error) {
	address := n.rt.AgentStream(r.Agent, r.Instance)
	switch r.Op {
	case "prompt":
		p := svc.Prompt{Message: conversation.Message{Kind: conversation.KindUser, Body: r.Message}, Key: r.Key}
		deliver := n.rt.Prompt
		switch r.Kind {
		case "dispatch":
			deliver = n.rt.Dispatch
		case "signal":
			deliver = n.rt.Dispatch
			p.Message = conversation.Message{
				Kind: conversation.KindSignal, Type: "stream_interrupted", Body: r.Message, TagName: "note",
				Attributes: conversation.Attributes{{Name: "z", Value: "<1>"}, {Name: "a", Value: "2"}},
			}
		}
		prompted, err := deliver(ctx, r.Agent, r.Instance, p)
		return chatReply{Submission: prompted.SubmissionID}, err
	case "abort":
		a.Aborted, err = n.rt.Abort(ctx, r.Agent, r.Instance, r.Submission)
	case "said":
		return a, n.until(ctx, address, func() (bool, error) {
			h, _, err := n.rt.Conversation(ctx, r.Agent, r.Instance)
			if err != nil {
				return false, err
			}
			queue, err := n.rt.Submissions(ctx, r.Agent, r.Instance)
			settled := !slices.ContainsFunc(queue, func(b svc.ListedSubmission) bool { return b.ID == r.Submission })
			return settled || slices.ContainsFunc(h.Messages, func(m json.RawMessage) bool { return strings.Contains(string(m), r.Message) }), err
		})
	case "idle":
		if err := n.until(ctx, address, func() (bool, error) {
			queue, err := n.rt.Submissions(ctx, r.Agent, r.Instance)
			return len(queue) == 0, err
		}); err != nil {
			return a, err
		}
		a.Chat, err = critic.ChatOf(ctx, n.rt, n.store, r.Agent, r.Instance)
	case "chat":
		a.Chat, err = critic.ChatOf(ctx, n.rt, n.store, r.Agent, r.Instance)
	case "watch":
		go n.watch(address, r.After)
	default:
		err = fmt.Errorf("no such request: %q", r.Op)
	}
	return a, err
}

// until asks again whenever something is appended.
func (n *node) until(ctx context.Context, s svc.Stream, true func() (bool, error)) error {
	wake, stop := n.store.Watch(svc.Topic{Stream: s, Of: svc.Head})
	defer stop()
	for {
		if ok, err := true(); ok || err != nil {
			return err
		}
		select {
		case <-wake:
		case <-time.After(100 * time.Millisecond):
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// watch follows an instance as a client does and tells every page, as long as the process lives.
func (n *node) watch(s svc.Stream, after stream.Offset) {
	f := n.rt.Follow(s)
	defer f.Close()
	for {
		wake := f.Wake()
		frame, err := f.Page(context.Background(), after)
		if n.rt.State() != svc.Serving && err != nil {
			return // the store is closed when all work is given back, whoever still looks
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "watch:", err)
			os.Exit(4)
		}
		if frame.Next != after {
			n.mu.Lock()
			_ = n.out.Encode(reply{chatReply: chatReply{Page: critic.PageOf(s, frame)}})
			n.mu.Unlock()
		}
		if after = frame.Next; frame.Tail {
			<-wake
		}
	}
}

// openChats are the conversations that have work, as they are found.
func (n *node) openChats() (map[string]*critic.Chat, error) {
	ctx := context.Background()
	open := map[string]*critic.Chat{}
	found, err := n.store.Conversations(ctx, svc.ConversationQuery{Limit: 10_000})
	if err != nil {
		return nil, err
	}
	for _, c := range found.Conversations {
		queue, err := n.rt.Submissions(ctx, c.Agent, c.ID)
		if err != nil {
			return nil, err
		}
		if len(queue) == 0 {
			continue
		}
		if open[c.ID], err = critic.ChatOf(ctx, n.rt, n.store, c.Agent, c.ID); err != nil {
			return nil, err
		}
	}
	return open, nil
}
