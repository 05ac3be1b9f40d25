package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/model"
)

// Idle is the idle timeout that the suite's providers are made with.
const Idle = time.Second

// soon is how long the suite waits for what should happen at once.
const soon = 20 * time.Second

// Law is what Run holds a provider to.
type Law struct {
	API   API
	Model string // that is asked for; empty: one that the format's own service has
	Name  string // the provider's half of a model's name

	// New makes the provider, with Key and an idle timeout of Idle.
	New func(t *testing.T, url string) model.Provider
}

// Run is the suite of model.Provider for one that speaks to a Server.
func Run(t *testing.T, law Law) {
	for sentence, prove := range reflect.ValueOf(suite{law}).Methods() {
		t.Run(sentence.Name, prove.Interface().(func(*testing.T)))
	}
}

// suite is the sentences that a law has: its methods.
type suite struct{ Law }

// Heard is what a turn said, put together.
type Heard struct {
	Text, Reasoning, Signature string
	Calls                      []model.ToolCall
	Deltas                     int
	Finish                     *model.Finish
	Err                        error
}

// Hear plays a turn to its end and fails the test if it breaks the order of events.
func Hear(t testing.TB, p model.Provider, r model.Request) Heard {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	return Listen(t, p.Turn(ctx, r))
}

// Listen hears a turn that somebody else began.
func Listen(t testing.TB, turn iter.Seq2[model.Event, error]) Heard {
	t.Helper()
	var h Heard
	var open model.EventType
	for e, err := range turn {
		if h.Finish != nil || h.Err != nil {
			t.Errorf("%v, %v follows the end", e, err)
		}
		if h.Err = err; err != nil {
			continue
		}
		switch e.Type {
		case model.TextDelta, model.ReasoningDelta:
			if open != "" && open != e.Type || e.Text == "" {
				t.Errorf("%s delta %q within a block of %s", e.Type, e.Text, open)
			}
			open = e.Type
			h.Deltas++
			if e.Type == model.TextDelta {
				h.Text += e.Text
			} else {
				h.Reasoning += e.Text
			}
		case model.BlockEnd:
			if open == "" && e.Signature == "" {
				t.Error("a block ends that did not begin")
			}
			open, h.Signature = "", h.Signature+e.Signature
		case model.Called, model.Finished:
			if open != "" {
				t.Errorf("%s within a block of %s", e.Type, open)
			}
			if e.Type == model.Called {
				h.Calls = append(h.Calls, *e.Call)
			} else {
				h.Finish = e.Finish
			}
		default:
			t.Errorf("event of type %q", e.Type)
		}
	}
	if h.Finish == nil && h.Err == nil {
		t.Error("the turn has no end")
	}
	return h
}

func (l Law) ask(messages ...model.Message) model.Request {
	if len(messages) == 0 {
		messages = []model.Message{{Role: model.RoleUser, Parts: []model.Part{model.Text("Say hello.")}}}
	}
	return model.Request{Model: l.model(), Messages: messages}
}

func (l Law) model() string {
	if l.Model != "" {
		return l.Model
	}
	return map[API]string{Anthropic: "claude-opus-5-5", Responses: "gpt-6.1-sol", Chat: "gpt-6.1-sol", Google: "gemini-3.8-flash"}[l.API]
}

func (l Law) hear(t *testing.T, replies ...Reply) Heard {
	t.Helper()
	return Hear(t, l.New(t, NewServer(t, l.API, replies...).URL), l.ask())
}

// usage is what a turn of DefaultUsage counts in this format.
func (l Law) usage() model.Usage {
	u := DefaultUsage
	if l.API == Google {
		u.CacheWrite = 0
	}
	u.TotalTokens = u.Input + u.Output + u.CacheRead + u.CacheWrite
	return u
}

func (l suite) Text(t *testing.T) {
	h := l.hear(t, Reply{Text: []string{"Grüß", " Gott", " 👋\n"}})
	if h.Err != nil || h.Text != "Grüß Gott 👋\n" || h.Deltas != 3 || h.Finish.Reason != model.Stop {
		t.Fatalf("%+v", h)
	}
	got := h.Finish.Usage
	if got.Cost.Total <= 0 {
		t.Errorf("cost %+v", got.Cost)
	}
	if got.Cost = (model.Cost{}); got != l.usage() {
		t.Errorf("usage %+v, want %+v", got, l.usage())
	}
	if h.Finish.ResponseID == "" || h.Finish.Model == "" {
		t.Errorf("finish %+v", h.Finish)
	}
}

const signature = "c2lnbmVkIGJ5IG1l"

// Reasoning gives what was thought back, and to nobody else.
func (l suite) Reasoning(t *testing.T) {
	s := NewServer(t, l.API, Reply{Reasoning: []string{"Let me", " see."}, Signature: signature, Text: []string{"4"}}, Reply{})
	p := l.New(t, s.URL)
	h := Hear(t, p, l.ask())
	if h.Err != nil || h.Reasoning != "Let me see." || h.Text != "4" {
		t.Fatalf("%+v", h)
	}
	if l.API == Chat {
		return // it has no signatures
	}
	if !strings.Contains(h.Signature, signature) {
		t.Fatalf("signature %q", h.Signature)
	}
	for provider, given := range map[string]bool{l.Name: true, "somebody": false} {
		h := Hear(t, p, l.ask(
			model.Message{Role: model.RoleUser, Parts: []model.Part{model.Text("2+2?")}},
			model.Message{Role: model.RoleAssistant, Parts: []model.Part{
				{Reasoning: &model.Reasoning{Text: h.Reasoning, Signature: h.Signature, Provider: provider, Model: l.model()}},
				model.Text("4"),
			}},
			model.Message{Role: model.RoleUser, Parts: []model.Part{model.Text("Sure?")}},
		))
		all := s.Requests()
		if sent := strings.Contains(string(all[len(all)-1].Body), signature); h.Err != nil || sent != given {
			t.Errorf("signed by %s: sent %t, %v", provider, sent, h.Err)
		}
	}
}

func (l suite) Calls(t *testing.T) {
	big := `{"city":"Zürich","days":[1,2,3],"nested":{"q":"a \"b\" \\ c"}}`
	h := l.hear(t, Reply{Text: []string{"Looking."}, Calls: []model.ToolCall{
		{ID: "call_1", Name: "weather", Input: json.RawMessage(big), Signature: signature},
		{ID: "call_2", Name: "now"},
	}})
	if h.Err != nil || len(h.Calls) != 2 || h.Text != "Looking." || h.Finish.Reason != model.ToolUse {
		t.Fatalf("%+v", h)
	}
	var want, got any
	_ = json.Unmarshal([]byte(big), &want)
	if err := json.Unmarshal(h.Calls[0].Input, &got); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("input %s, %v", h.Calls[0].Input, err)
	}
	if c := h.Calls[0]; c.ID != "call_1" || c.Name != "weather" {
		t.Errorf("call %+v", c)
	}
	if c := h.Calls[1]; c.ID != "call_2" || c.Name != "now" || string(c.Input) != "{}" {
		t.Errorf("call without arguments: %+v, input %s", c, c.Input)
	}
	if l.API == Google && h.Calls[0].Signature != signature {
		t.Errorf("signature %q", h.Calls[0].Signature)
	}
}

var pixel = []byte("\x89PNG\r\n\x1a\n")

// Conversation sends all that a conversation may hold. The server refuses what the service would.
func (l suite) Conversation(t *testing.T) {
	s := NewServer(t, l.API)
	image := model.Part{Image: &model.Image{MimeType: "image/png", Data: pixel}}
	say := func(role model.Role, parts ...model.Part) model.Message {
		return model.Message{Role: role, Parts: parts}
	}
	call := func(id string) model.Part {
		return model.Part{Call: &model.ToolCall{ID: id, Name: "look", Input: json.RawMessage(`{"at":1}`)}}
	}
	result := func(id string, isError bool, content ...model.Part) model.Part {
		return model.Part{Result: &model.ToolResult{ID: id, Name: "look", Content: content, IsError: isError}}
	}
	r := l.ask(
		say(model.RoleUser, model.Text("What is this?"), image),
		say(model.RoleUser, model.Text("")),
		say(model.RoleUser, model.Text("And that?")),
		say(model.RoleAssistant, model.Text("I will look."), call("call_1"), call("call_2")),
		say(model.RoleTool, result("call_1", false, model.Text("a cat"), image)),
		say(model.RoleTool, result("call_2", true, model.Text("too dark"))),
		say(model.RoleUser, model.Text("Hurry.")),
		say(model.RoleAssistant, call("call_3")),
		say(model.RoleTool, result("call_3", false)),
		say(model.RoleAssistant, model.Part{Reasoning: &model.Reasoning{Text: "Unfinished", Signature: signature, Provider: l.Name}}),
		say(model.RoleAssistant, model.Text("A cat.")),
		say(model.RoleUser, model.Text("Thanks.")),
	)
	r.System = "Be brief."
	r.Tools = []model.Tool{{Name: "look", Description: "Looks.", Input: json.RawMessage(`{"type":"object","properties":{"at":{"type":"integer"}}}`)}}
	h := Hear(t, l.New(t, s.URL), r)
	if h.Err != nil {
		t.Fatal(h.Err)
	}
	sent := string(s.Requests()[0].Body)
	for _, want := range []string{"Be brief.", "What is this?", "And that?", "iVBORw0KGgo=", "too dark", "a cat", "Hurry.", "Thanks."} {
		if !strings.Contains(sent, want) {
			t.Errorf("the request lacks %q", want)
		}
	}
	if strings.Contains(sent, "Unfinished") {
		t.Error("reasoning that nothing followed was sent")
	}
}

// Settings sends every setting, for each effort.
func (l suite) Settings(t *testing.T) {
	temperature := 0.5
	for _, effort := range []string{"", "low", "medium", "high"} {
		r := l.ask()
		r.Reasoning, r.MaxTokens, r.Temperature, r.Affinity = effort, 4321, &temperature, "conv_1"
		s := NewServer(t, l.API)
		if h := Hear(t, l.New(t, s.URL), r); h.Err != nil {
			t.Errorf("effort %q: %v", effort, h.Err)
		}
		sent := strings.ToLower(string(s.Requests()[0].Body))
		thinks := strings.Contains(sent, `"`+effort+`"`) || strings.Contains(sent, "budget")
		if !strings.Contains(sent, "4321") || effort != "" && !thinks {
			t.Errorf("effort %q: sent %s", effort, sent)
		}
	}
}

func (l suite) Length(t *testing.T) {
	if h := l.hear(t, Reply{Text: []string{"And then"}, Reason: model.Length}); h.Err != nil || h.Finish.Reason != model.Length {
		t.Fatalf("%+v", h)
	}
}

// HalfACall drops a call that the bound on length cut.
func (l suite) HalfACall(t *testing.T) {
	if l.API == Google {
		t.Skip("calls are never cut")
	}
	h := l.hear(t, Reply{Calls: []model.ToolCall{{ID: "call_1", Name: "add", Input: json.RawMessage(`{"a":`)}}, Reason: model.Length})
	if h.Err != nil || len(h.Calls) != 0 || h.Finish.Reason != model.Length {
		t.Fatalf("%+v", h)
	}
}

func (l suite) BadArguments(t *testing.T) {
	for _, input := range []string{`[1]`, `"text"`, `7`} {
		h := l.hear(t, Reply{Calls: []model.ToolCall{{ID: "call_1", Name: "add", Input: json.RawMessage(input)}}})
		wantClass(t, h, model.Malformed)
		if len(h.Calls) != 0 {
			t.Errorf("%s is called with", input)
		}
	}
}

func (l suite) EveryByteByItself(t *testing.T) {
	reply := Reply{
		Reasoning: []string{"Hm."}, Signature: signature, Text: []string{"Grüß", " 👋"},
		Calls: []model.ToolCall{{ID: "call_1", Name: "add", Input: json.RawMessage(`{"a":"ü"}`)}},
	}
	whole := l.hear(t, reply)
	reply.Split = true
	if split := l.hear(t, reply); split.Err != nil || encode(split) != encode(whole) {
		t.Fatalf("%s\n%s", encode(split), encode(whole))
	}
}

// Cut breaks the connection at many places of the stream: every one is a failure of the network.
func (l suite) Cut(t *testing.T) {
	reply := whole(Reply{Text: []string{"one", "two"}, Calls: []model.ToolCall{{ID: "call_1", Name: "add", Input: json.RawMessage(`{"a":1}`)}}})
	d := dialects[l.API]
	frames := d.frames(reply, "")
	size := len(strings.Join(frames[:len(frames)-d.tail], ""))
	for at := 1; at < size; at += 1 + size/12 {
		reply.Cut = at
		wantClass(t, l.hear(t, reply), model.Network)
	}
}

func (l suite) Faults(t *testing.T) {
	for kind, class := range map[Kind]model.Class{
		RateLimit: model.RateLimited, Overload: model.Overloaded, Breakdown: model.ServerError, WrongKey: model.Unauthorized,
		TooLong: model.ContextOverflow, BadRequest: model.Rejected,
	} {
		h := l.hear(t, Reply{Fault: &Fault{Kind: kind}})
		e := wantClass(t, h, class)
		if e.Status < 400 || e.Code == "" {
			t.Errorf("%s: %+v", kind, e)
		}
		passing := class == model.RateLimited || class == model.Overloaded || class == model.ServerError
		if model.Retryable(h.Err) != passing || model.IsOverflow(h.Err) != (kind == TooLong) {
			t.Errorf("%s is taken for something else", kind)
		}
	}
}

func (l suite) FaultMidway(t *testing.T) {
	for kind, class := range map[Kind]model.Class{Overload: model.Overloaded, RateLimit: model.RateLimited, Breakdown: model.ServerError, TooLong: model.ContextOverflow} {
		h := l.hear(t, Reply{Text: []string{"So"}, Fault: &Fault{Kind: kind, Midway: true}})
		wantClass(t, h, class)
		if h.Text != "So" {
			t.Errorf("%s: text %q", kind, h.Text)
		}
	}
}

func (l suite) RetryAfter(t *testing.T) {
	for _, test := range []struct {
		header      http.Header
		least, most time.Duration
	}{
		{http.Header{"Retry-After": {"7"}}, 7 * time.Second, 7 * time.Second},
		{http.Header{"Retry-After-Ms": {"1500"}, "Retry-After": {"2"}}, 1500 * time.Millisecond, 1500 * time.Millisecond},
		{http.Header{"Retry-After": {time.Now().Add(time.Minute).UTC().Format(http.TimeFormat)}}, 50 * time.Second, time.Minute},
	} {
		h := l.hear(t, Reply{Fault: &Fault{Kind: RateLimit, Header: test.header}})
		if after := model.RetryAfter(h.Err); after < test.least || after > test.most {
			t.Errorf("%v: %v", test.header, after)
		}
	}
}

// WrongKey finds a message that says what to set, and not the key.
func (l suite) WrongKey(t *testing.T) {
	s := NewServer(t, l.API, Reply{Fault: &Fault{Kind: WrongKey}}, Reply{Raw: "data: {\"error\":{\"message\":\"" + Key + "\",\"type\":\"server_error\",\"code\":500}}\n\n"})
	p := l.New(t, s.URL)
	e := wantClass(t, Hear(t, p, l.ask()), model.Unauthorized)
	if !strings.Contains(e.Message, "_API_KEY") {
		t.Errorf("message %q", e.Message)
	}
	if h := Hear(t, p, l.ask()); h.Err == nil || strings.Contains(h.Err.Error(), Key) || strings.Contains(e.Error(), Key) {
		t.Errorf("the key is shown: %v", h.Err)
	}
}

func (l suite) Malformed(t *testing.T) {
	wantClass(t, l.hear(t, Reply{Raw: "data: {\"type\": oops}\n\n"}), model.Malformed)
	wantClass(t, l.hear(t, Reply{Raw: "data: [1,2]\n\n"}), model.Malformed)
	unknown := "event: later\ndata: {\"type\":\"later\"}\n\n: comment\n\n"
	wantClass(t, l.hear(t, Reply{Raw: unknown}), model.Network)
}

func (l suite) NotAStream(t *testing.T) {
	for _, kind := range []string{"text/html", "application/json; charset=utf-8"} {
		h := l.against(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = w.Write([]byte("<h1>Sign in</h1>"))
		})
		wantClass(t, h, model.Malformed)
	}
	elsewhere := NewServer(t, l.API)
	h := l.against(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	})
	wantClass(t, h, model.Rejected)
	if len(elsewhere.Requests()) != 0 {
		t.Error("the key followed a redirect")
	}
}

func (l suite) SlowFirstToken(t *testing.T) {
	if h := l.hear(t, Reply{Delay: Idle / 3}); h.Err != nil || h.Text != "Hello" {
		t.Fatalf("%+v", h)
	}
}

// Silence finds a timeout before the first byte of an answer and after it.
func (l suite) Silence(t *testing.T) {
	s := NewServer(t, l.API, Reply{Silent: true})
	start := time.Now()
	h := Hear(t, l.New(t, s.URL), l.ask())
	wantClass(t, h, model.Timeout)
	if took := time.Since(start); took < Idle || took > soon/2 {
		t.Errorf("after %v", took)
	}
	wantLeft(t, s)
	h = l.against(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	wantClass(t, h, model.Timeout)
}

func (l suite) Cancel(t *testing.T) {
	why := errors.New("changed my mind")
	s := NewServer(t, l.API, Reply{Silent: true})
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(Idle/10, func() { cancel(why) })
	start := time.Now()
	for _, err := range l.New(t, s.URL).Turn(ctx, l.ask()) {
		if err != nil && (!errors.Is(err, why) || model.Retryable(err)) {
			t.Errorf("ended by %v", err)
		}
	}
	if took := time.Since(start); took > Idle {
		t.Errorf("it took %v", took)
	}
	wantLeft(t, s)
}

func (l suite) Break(t *testing.T) {
	s := NewServer(t, l.API, Reply{Silent: true})
	for range l.New(t, s.URL).Turn(t.Context(), l.ask()) {
		break
	}
	wantLeft(t, s)
}

// against hears a provider that meets a server of another kind.
func (l Law) against(t *testing.T, h http.HandlerFunc) Heard {
	t.Helper()
	return Hear(t, l.New(t, serve(t, h)), l.ask())
}

func (l suite) Unreachable(t *testing.T) {
	wantClass(t, Hear(t, l.New(t, "http://127.0.0.1:1"), l.ask()), model.Network)
}

func (l suite) SideBySide(t *testing.T) {
	p := l.New(t, NewServer(t, l.API, Reply{Text: strings.SplitAfter("a b c d e f g h", " ")}).URL)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if h := Hear(t, p, l.ask()); h.Text != "a b c d e f g h" {
				t.Errorf("%+v", h)
			}
		})
	}
	wg.Wait()
}

func wantClass(t *testing.T, h Heard, class model.Class) *model.Error {
	t.Helper()
	e, ok := errors.AsType[*model.Error](h.Err)
	if !ok || e.Class != class || h.Finish != nil {
		t.Fatalf("ended by %v, want %s", h.Err, class)
	}
	return e
}

func wantLeft(t *testing.T, s *Server) {
	t.Helper()
	select {
	case <-s.Left():
	case <-time.After(soon):
		t.Error("the server does not know that its client left")
	}
}
