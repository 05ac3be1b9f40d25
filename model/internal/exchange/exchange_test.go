package exchange

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/model"
)

var plain = Client{Name: "someone", Key: "secret-key", KeyName: "SOME_KEY", Overflow: func(string, string) bool { return false }}

func TestStatusesHaveTheirClass(t *testing.T) {
	for status, want := range map[int]model.Class{
		307: model.Rejected, 400: model.Rejected, 401: model.Unauthorized, 402: model.Rejected, 403: model.Unauthorized,
		404: model.Rejected, 408: model.Timeout, 413: model.ContextOverflow, 429: model.RateLimited, 500: model.ServerError,
		502: model.ServerError, 503: model.Overloaded, 504: model.Timeout, 529: model.Overloaded,
	} {
		if got := plain.classify(Refusal{Status: status}).Class; got != want {
			t.Errorf("%d: %s, want %s", status, got, want)
		}
	}
}

func TestMessagesHideTheKeyAndAreShort(t *testing.T) {
	e := plain.classify(Refusal{Status: 401, Message: "no such key: secret-key " + strings.Repeat("ü", 10_000)})
	if strings.Contains(e.Error(), "secret-key") || len(e.Error()) > 2*longest || !strings.Contains(e.Error(), "SOME_KEY") {
		t.Errorf("the message is %d bytes, %.80q; want a short one that names SOME_KEY and not its value", len(e.Error()), e.Error())
	}
}

func TestRetryAfterIsReadInEveryForm(t *testing.T) {
	now := time.Date(2026, 11, 6, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"5": 5 * time.Second, "0.5": 500 * time.Millisecond, "-3": 0, "": 0, "soon": 0, "NaN": 0, "1e300": 24 * time.Hour,
		"Fri, 06 Nov 2026 12:00:09 GMT": 9 * time.Second, "Fri, 06 Nov 2026 11:00:00 GMT": 0,
	} {
		if got := retryAfter(http.Header{"Retry-After": {text}}, now); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestEndlessAnswerIsGivenUp(t *testing.T) {
	data, err := io.ReadAll(&bounded{strings.NewReader("data: 1\n\n"), 7})
	if string(data) != "data: 1" || !errors.Is(err, errTooLong) {
		t.Errorf("read %q, %v; want 7 bytes and errTooLong", data, err)
	}
	if e := plain.fail(t.Context(), t.Context(), err).(*model.Error); e.Class != model.Malformed {
		t.Errorf("an endless answer is %s; want %s", e.Class, model.Malformed)
	}
}
