package client_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"svc.dev/svc/client"
)

// canned answers every request with one text, and then refuses all.
type canned struct {
	status int
	header http.Header
	body   string
	drops  bool // its body comes byte by byte
	asked  int
}

func (c *canned) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.asked++; c.asked > 1 {
		return &http.Response{StatusCode: 404, Header: http.Header{}, Request: r, Body: io.NopCloser(strings.NewReader(`{"error":{"type":"over","message":"Over."}}`))}, nil
	}
	var body io.Reader = strings.NewReader(c.body)
	if c.drops {
		body = iotest.OneByteReader(body)
	}
	return &http.Response{StatusCode: c.status, Header: c.header, Request: r, Body: io.NopCloser(body), ContentLength: -1}, nil
}

func (c *canned) client(t testing.TB) *client.Client {
	return ask(t, "http://canned", func(config *client.Config) {
		config.HTTP, config.MaxFrame, config.Backoff = &http.Client{Transport: c}, 64<<10, 1
	})
}

// FuzzEvents reads any text as the events of a run: however its bytes come, the same is read, in order and once.
func FuzzEvents(f *testing.F) {
	event := func(i int) string {
		return fmt.Sprintf(`{"type":"log","runId":"r","v":3,"eventIndex":%d,"timestamp":"2026-07-01T12:00:00.000Z"}`, i)
	}
	f.Add("event: data\ndata:[" + event(0) + "," + event(1) + "]\n\nevent: control\ndata:{\"streamNextOffset\":\"0_1\",\"upToDate\":true}\n\n: heartbeat\n\n")
	f.Add("event: data\ndata:[" + event(0) + "]\n\nevent: data\ndata:[" + event(0) + "]\n\nevent: control\ndata:{\"streamNextOffset\":\"0_1\",\"streamClosed\":true}\n\n")
	f.Add("event: control\ndata:{}\n\n")
	f.Add("event: data\ndata:[1]\n\nevent: control\ndata:{\"streamNextOffset\":\"0_1\"}\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		var first []string
		for _, drops := range []bool{false, true} {
			server := &canned{status: 200, header: http.Header{"Content-Type": {"text/event-stream"}}, body: text, drops: drops}
			var got []string
			last := int64(-1)
			for e, err := range server.client(t).Runs.Stream(t.Context(), "r", client.StreamOptions{Live: client.SSE}) {
				if err != nil {
					break
				}
				if e.Index <= last || !json.Valid(e.Raw) {
					t.Fatalf("event %d after %d: %s", e.Index, last, e.Raw)
				}
				last, got = e.Index, append(got, string(e.Raw))
			}
			if drops && !slices.Equal(first, got) {
				t.Fatalf("%q is read as %q, byte by byte as %q", text, first, got)
			}
			first = got
		}
	})
}

// FuzzUpdates folds any page of updates.
func FuzzUpdates(f *testing.F) {
	f.Add(`[{"type":"conversation-reset","conversationId":"c","snapshot":{"v":1,"conversationId":"c","messages":null},"position":{"batch":0,"index":0}}]`)
	f.Add(`[{"type":"message-appended","conversationId":"c","message":{"id":"m","parts":[null]},"position":{"batch":1,"index":0}}]`)
	f.Add(`[{"type":"message-started","messageId":"m","position":{"batch":1}},{"type":"message-delta","messageId":"m","kind":"text","delta":"x","position":{"batch":2}},{"type":"tool-input","messageId":"m","toolCallId":"t","position":{"batch":3}},{"type":"tool-output","toolCallId":"t","output":null,"position":{"batch":4}},{"type":"message-completed","messageId":"m","position":{"batch":5}},{"type":"submission-settled","submissionId":"s","outcome":"failed","position":{"batch":6}}]`)
	f.Fuzz(func(t *testing.T, text string) {
		server := &canned{status: 200, header: http.Header{"Content-Type": {"application/json"}, "Stream-Next-Offset": {"x"}, "Stream-Up-To-Date": {"true"}}, body: text}
		var c client.Conversation
		for u, err := range server.client(t).Agents.Updates(t.Context(), "a", "i", client.StreamOptions{Live: client.CatchUp}) {
			if err != nil {
				break
			}
			if !c.Apply(u) {
				t.Fatalf("%+v is given twice", u)
			}
		}
		if _, err := json.Marshal(c.Clone()); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzAttributes reads objects of strings in their order, and nothing else.
func FuzzAttributes(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":"b","a":"c"}`, `{"b":"1","a":"2"}`, `null`, `[]`, `{"a":1}`, `{"a":{}}`, `{"a"`, `"\ud800"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var a client.Attributes
		if err := json.Unmarshal([]byte(text), &a); err != nil || a == nil {
			return
		}
		printed, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		var again client.Attributes
		var want map[string]string
		if err := json.Unmarshal(printed, &again); err != nil || !slices.Equal(a, again) {
			t.Fatalf("%s is %v, printed %s: %v, %v", text, a, printed, again, err)
		}
		if err := json.Unmarshal([]byte(text), &want); err != nil || len(want) != len(a) {
			t.Fatalf("%s is %v, want %v, %v", text, a, want, err)
		}
		for name, value := range want {
			if a.Get(name) != value {
				t.Fatalf("%s: %q is %q, want %q", text, name, a.Get(name), value)
			}
		}
	})
}

// FuzzRefusal reads any answer as an error that names its status.
func FuzzRefusal(f *testing.F) {
	f.Add(400, `{"error":{"type":"invalid_request","message":"Malformed request.","details":"x","meta":{"a":1}}}`, "")
	f.Add(503, `{"error":{"type":"runtime_unavailable"}}`, "1")
	f.Add(429, "<html>", "Wed, 21 Oct 2026 07:28:00 GMT")
	f.Add(302, "", "-1")
	f.Add(404, "\xff\x00{", "99999999999999999999")
	f.Add(503, "", "Fri, 31 Dec 9999 23:59:59 GMT")
	f.Add(503, "", "2592000")
	f.Fuzz(func(t *testing.T, status int, body, retry string) {
		if status < 300 || status > 599 {
			return
		}
		server := &canned{status: status, header: http.Header{"Retry-After": {retry}}, body: body}
		c := ask(t, "http://canned", func(config *client.Config) { config.HTTP, config.Patience = &http.Client{Transport: server}, 1 })
		_, err := c.Runs.Get(t.Context(), "r")
		e, ok := err.(*client.Error)
		if !ok || e.Status != status || e.Type == "" || e.RetryAfter < 0 || e.RetryAfter > 10*time.Minute || e.Error() == "" {
			t.Fatalf("%d %q is %+v", status, body, err)
		}
	})
}
