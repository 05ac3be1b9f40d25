package scripted_test

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"svc.dev/svc/model"
	"svc.dev/svc/model/modeltest"
	"svc.dev/svc/model/scripted"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ask(text string) model.Request {
	return model.Request{Model: "words", Messages: []model.Message{{Role: model.RoleUser, Parts: []model.Part{model.Text(text)}}}}
}

func TestWordsAreSteeredByTheText(t *testing.T) {
	for text, want := range map[string]string{
		"n=3":            "word0 word1 word2 ",
		"say n=2 please": "word0 word1 ",
		"n=0":            "",
		"n=1 size=10":    "word0 xxxx",
		"n=1 size=3":     "word0 ",
	} {
		h := modeltest.Hear(t, scripted.Words(), ask(text))
		if h.Err != nil || h.Text != want || h.Finish.Usage != (model.Usage{Input: 1, Output: h.Deltas, TotalTokens: 1 + h.Deltas}) {
			t.Errorf("%q: %+v", text, h)
		}
	}
	if h := modeltest.Hear(t, scripted.Words(), ask("hello")); h.Deltas != 20 || !strings.HasSuffix(h.Text, " word19 ") {
		t.Errorf("heard %+v; want 20 words by default", h)
	}
}

// TestALongTextIsNotReadThrough: all of it would take a second and more. Another process may take the processor once, but hardly
// each time.
func TestALongTextIsNotReadThrough(t *testing.T) {
	text := "n=3 " + strings.Repeat("n=1 ", 4<<20)
	fastest := time.Hour
	for range 5 {
		began := time.Now()
		if h := modeltest.Hear(t, scripted.Words(), ask(text)); h.Err != nil || h.Deltas != 3 {
			t.Errorf("%d words, %v", h.Deltas, h.Err)
		}
		fastest = min(fastest, time.Since(began))
	}
	if fastest > 500*time.Millisecond {
		t.Errorf("took %v", fastest)
	}
}

func TestWordsTellTheTime(t *testing.T) {
	h := modeltest.Hear(t, scripted.Words(), ask("n=2 ts=1"))
	if !regexp.MustCompile(`^t\d{16} t\d{16} $`).MatchString(h.Text) {
		t.Errorf("heard %q; want two times of 16 digits", h.Text)
	}
}

func TestWordsThinkFirst(t *testing.T) {
	h := modeltest.Hear(t, scripted.Words(), ask("think n=2"))
	if h.Reasoning == "" || h.Text != "word0 word1 " || h.Finish.Usage.Output != h.Deltas {
		t.Errorf("heard %+v; want thoughts and two words, all counted", h)
	}
}

func TestWordsGoOnWhereTheyBrokeOff(t *testing.T) {
	signal := func(kind string) model.Message {
		return ask(`<signal type="` + kind + `">` + "\nx\n</signal>").Messages[0]
	}
	broken := func(parts ...model.Part) []model.Message {
		return []model.Message{{Role: model.RoleAssistant, Parts: parts}, signal("stream_interrupted"), signal("stream_continued")}
	}
	said, thought := model.Text, func(text string) model.Part { return model.Part{Reasoning: &model.Reasoning{Text: text}} }
	for name, c := range map[string]struct {
		asked           string
		told            []model.Message
		words, thoughts string
	}{
		"in the middle":         {"n=4", broken(said("word0 word1 ")), "word2 word3 ", ""},
		"twice":                 {"n=4", slices.Concat(broken(said("word0 ")), broken(said("word1 word2 "))), "word3 ", ""},
		"twice at one place":    {"n=2", slices.Concat(broken(said("word0 ")), broken(thought(""))), "word1 ", ""},
		"after the last word":   {"n=2", broken(said("word0 word1 ")), "", ""},
		"by default":            {"hello", broken(said("word0 word1 word2 word3 word4 word5 word6 word7 word8 word9 word10 word11 word12 word13 word14 word15 word16 word17 ")), "word18 word19 ", ""},
		"padded":                {"n=3 size=8", broken(said("word0 xxword1 xx")), "word2 xx", ""},
		"while it thought":      {"think n=2", broken(thought("thought0 ")), "word0 word1 ", "thought1 thought2 "},
		"after it had thought":  {"think n=2", broken(thought("thought0 thought1 thought2 ")), "word0 word1 ", ""},
		"after a word":          {"think n=2", broken(thought("thought0 thought1 thought2 "), said("word0 ")), "word1 ", ""},
		"in an older one":       {"n=2", slices.Concat(broken(said("word0 ")), []model.Message{{Role: model.RoleAssistant, Parts: []model.Part{said("word1 ")}}, ask("n=2").Messages[0]}), "word0 word1 ", ""},
		"and nothing was told":  {"n=2", nil, "word0 word1 ", ""},
		"with more than wished": {"n=1", broken(said("word0 word1 ")), "", ""},
	} {
		r := ask(c.asked)
		r.Messages = append(r.Messages, c.told...)
		h := modeltest.Hear(t, scripted.Words(), r)
		if h.Err != nil || h.Text != c.words || h.Reasoning != c.thoughts || h.Finish.Usage.Output != h.Deltas {
			t.Errorf("%s: %+v", name, h)
		}
	}
	h := modeltest.Hear(t, scripted.Words(), model.Request{Messages: append(ask("n=3 ts=1").Messages, broken(said("t1700000000000000 t1700000000000001 "))...)})
	if !regexp.MustCompile(`^t\d{16} $`).MatchString(h.Text) {
		t.Errorf("times: %+v", h)
	}
}

func TestWordsFailForGood(t *testing.T) {
	h := modeltest.Hear(t, scripted.Words(), ask("fail n=3"))
	if h.Err == nil || model.Retryable(h.Err) || h.Deltas != 0 {
		t.Errorf("heard %+v; want an error that stays, and no word", h)
	}
	if h := modeltest.Hear(t, scripted.Words(), model.Request{Model: "poems"}); h.Err == nil {
		t.Error("there are no poems")
	}
}

func TestWordsRestBetweenDeltas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		for _, err := range scripted.Words().Turn(t.Context(), ask("n=4 delay=50")) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took != 150*time.Millisecond {
			t.Errorf("four words took %v, want three rests of 50ms", took)
		}
	})
}

func TestWordsEndWithTheirContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	var last error
	for _, err := range scripted.Words().Turn(ctx, ask("n=1000000000")) {
		if n++; n == 10 {
			cancel()
		}
		last = err
	}
	if n != 11 || !errors.Is(last, context.Canceled) {
		t.Errorf("%d events, %v", n, last)
	}
}

func TestScriptIsPlayedInOrder(t *testing.T) {
	p := scripted.New(
		scripted.Turn{scripted.Think("sig", "Hm."), scripted.Say("Let ", "me."), scripted.Call("add", map[string]int{"a": 2})},
		scripted.Turn{scripted.Say("5")},
		scripted.Turn{scripted.Say("So"), scripted.Fail(&model.Error{Class: model.Overloaded})},
	)
	h := modeltest.Hear(t, p, ask("1"))
	if h.Reasoning != "Hm." || h.Signature != "sig" || h.Text != "Let me." || len(h.Calls) != 1 || string(h.Calls[0].Input) != `{"a":2}` || h.Finish.Reason != model.ToolUse {
		t.Errorf("the first turn is %+v; want a thought, a text and a call", h)
	}
	if h := modeltest.Hear(t, p, ask("2")); h.Text != "5" || h.Finish.Reason != model.Stop {
		t.Errorf("the second turn is %+v; want 5 and an end", h)
	}
	if h := modeltest.Hear(t, p, ask("3")); h.Text != "So" || !model.Retryable(h.Err) {
		t.Errorf("the third turn is %+v; want a text and an error to retry", h)
	}
	if h := modeltest.Hear(t, p, ask("4")); h.Err == nil {
		t.Error("a turn more than there are")
	}
	if len(p.Requests()) != 4 {
		t.Errorf("%d requests", len(p.Requests()))
	}
}

func TestScriptHangsUntilItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		p := scripted.Choose(func(model.Request) scripted.Turn {
			return scripted.Turn{scripted.Wait(time.Second), scripted.Say("Hi"), scripted.Hang()}
		})
		h := modeltest.Listen(t, p.Turn(ctx, ask("")))
		if h.Text != "Hi" || !errors.Is(h.Err, context.DeadlineExceeded) {
			t.Errorf("heard %+v; want Hi, and then the end of the context", h)
		}
	})
}
