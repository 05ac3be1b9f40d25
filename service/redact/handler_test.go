package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/slogtest"
	"time"

	"svc.dev/svc/service/redact"
)

const planted = "hunter2-hunter2"

type valuer struct{ v any }

func (v valuer) LogValue() slog.Value { return slog.AnyValue(v.v) }

type broken struct{ text string }

func (b *broken) Error() string { return b.text }

func TestLogLinesAreRedacted(t *testing.T) {
	redactor := redact.New()
	redactor.Add([]byte(planted))
	type nested struct {
		Token []byte
		inner map[string]any
	}
	deep := nested{[]byte(planted), map[string]any{"k": []string{planted}}}
	var nobody *broken
	attrs := []any{
		"string", planted, "bytes", []byte(planted), "error", fmt.Errorf("call: %w", errors.New("bad key "+planted)), "struct", deep, "pointer", &deep,
		"map", map[string]string{planted: planted}, "slice", []any{planted, []byte(planted)}, "valuer", valuer{valuer{planted}}, "valuer of group", valuer{slog.GroupValue(slog.String("x", planted))},
		slog.Group("group", "inner", planted, slog.Group("deeper", "err", errors.New(planted))), planted, "as key", "json", json.RawMessage(`{"a":"` + planted + `"}`),
		"base64", base64.StdEncoding.EncodeToString([]byte("u:" + planted)), "stringer", stringer{}, "nil error", error(nobody),
		"token", "ghu_16C7e42F292c6912E7710c838347Ae178B4a", "nil", nil,
	}
	for name, handler := range map[string]func(*bytes.Buffer) slog.Handler{
		"json": func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
		"text": func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
	} {
		var b bytes.Buffer
		log := slog.New(redactor.Handler(handler(&b)))
		log.Info("message with "+planted, attrs...)
		log.With(attrs...).WithGroup("g "+planted).With("bound", planted).Error("again", attrs...)
		out := b.String()
		for what, encode := range encoders {
			if strings.Contains(out, encode(planted)) {
				t.Errorf("%s: %s in %s", name, what, out)
			}
		}
		if strings.Contains(out, "ghu_") || strings.Count(out, "[redacted]") < 40 {
			t.Errorf("%s: %s", name, out)
		}
	}
}

type stringer struct{}

func (stringer) String() string { return "I am " + planted }

// TestValueLearnedLaterIsRedactedToo binds the value to a logger before anybody knows that it is one.
func TestValueLearnedLaterIsRedactedToo(t *testing.T) {
	redactor := redact.New()
	var b bytes.Buffer
	log := slog.New(redactor.Handler(slog.NewTextHandler(&b, nil))).With("bound", planted)
	redactor.Add([]byte(planted))
	log.Info("message")
	if strings.Contains(b.String(), planted) {
		t.Error(b.String())
	}
}

func TestWhatIsNoTextStaysWhatItIs(t *testing.T) {
	var b bytes.Buffer
	log := slog.New(redact.New().Handler(slog.NewJSONHandler(&b, nil)))
	log.Info("message", "n", 7, "u", uint64(8), "f", 1.5, "b", true, "d", time.Second, "t", time.UnixMilli(0).UTC(), "nil", nil)
	if !strings.HasSuffix(b.String(), `"n":7,"u":8,"f":1.5,"b":true,"d":1000000000,"t":"1970-01-01T00:00:00Z","nil":null}`+"\n") {
		t.Error(b.String())
	}
}

func TestHandlerKeepsTheLawOfHandlers(t *testing.T) {
	var b bytes.Buffer
	h := redact.New().Handler(slog.NewJSONHandler(&b, nil))
	err := slogtest.TestHandler(h, func() (all []map[string]any) {
		for line := range strings.Lines(b.String()) {
			var m map[string]any
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatal(err)
			}
			all = append(all, m)
		}
		return all
	})
	if err != nil {
		t.Fatal(err)
	}
}
