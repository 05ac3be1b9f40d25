package httpapi_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/httpapi"
	"svc.dev/svc/model"
	"svc.dev/svc/model/scripted"
	"svc.dev/svc/stream"
)

// receipt is the answer to a prompt.
type receipt struct {
	StreamURL    string `json:"streamUrl"`
	Offset       string `json:"offset"`
	SubmissionID string `json:"submissionId"`
}

// prompt sends a user's text, and fails the test unless it is taken.
func (s *server) prompt(t *testing.T, path, text string) receipt {
	t.Helper()
	got := s.do(t, "POST", path, strings.NewReader(said(text)), "Content-Type", jsonType)
	if got.status != 202 {
		t.Fatalf("prompt %s: %d %s", path, got.status, got.body)
	}
	return decode[receipt](t, got.body)
}

func said(text string) string {
	data, _ := stream.Encode(map[string]string{"kind": "user", "body": text})
	return string(data)
}

func TestRacingFirstPromptsCreateOneConversation(t *testing.T) {
	s := newServer(t, settings{})
	const path, racers = "/agents/assistant/race", 16
	receipts := make([]receipt, racers)
	var group sync.WaitGroup
	for i := range receipts {
		group.Go(func() { receipts[i] = s.prompt(t, path, "n=1") })
	}
	group.Wait()
	s.settles(t, path, racers)
	all, _ := s.updates(t, path, "-1")
	resets := slices.DeleteFunc(slices.Clone(all), func(u update) bool { return u.Type != "conversation-reset" })
	if len(resets) != 1 || all[0].Type != "conversation-reset" {
		t.Errorf("%d conversations were created", len(resets))
	}
	ids := map[string]bool{}
	for _, r := range receipts {
		ids[r.SubmissionID] = true
		behind, _ := s.updates(t, path, r.Offset)
		if r.Offset == "-1" || !slices.ContainsFunc(behind, func(u update) bool { return u.Type == "message-appended" && u.Message.SubmissionID == r.SubmissionID }) {
			t.Errorf("what %s produced does not lie behind %s", r.SubmissionID, r.Offset)
		}
	}
	if len(ids) != racers {
		t.Errorf("%d submissions of %d", len(ids), racers)
	}
}

func TestPromptsAndDispatchesShareOneQueue(t *testing.T) {
	s := newServer(t, settings{})
	const path = "/agents/assistant/queue"
	var admitted []string
	for i := range 6 {
		text := fmt.Sprintf("n=2 delay=5 number %d", i)
		if i%3 == 1 {
			got := s.do(t, "POST", "/channels/echo/in", strings.NewReader(fmt.Sprintf(`{"id":"queue","text":%q}`, text)))
			admitted = append(admitted, decode[struct{ DispatchID string }](t, got.body).DispatchID)
			continue
		}
		admitted = append(admitted, s.prompt(t, path, text).SubmissionID)
	}
	var heard []string
	open := ""
	s.settles(t, path, 4)
	all, _ := s.updates(t, path, "-1")
	for _, u := range all {
		switch u.Type {
		case "message-appended":
			heard = append(heard, u.Message.SubmissionID)
			if open != "" {
				t.Errorf("%s began inside a reply", u.Message.SubmissionID)
			}
		case "message-started":
			open = u.MessageID
		case "message-completed":
			open = ""
		}
	}
	if diff := diff(admitted, heard); diff != "" {
		t.Errorf("order (-admitted +heard)\n%s", diff)
	}
}

func TestInstancesDoNotWaitForOneAnother(t *testing.T) {
	s := newServer(t, settings{stop: time.Millisecond})
	s.prompt(t, "/agents/assistant/same", "n=2 delay=400000")
	s.prompt(t, "/agents/tooluser/same", "x")
	s.prompt(t, "/agents/assistant/other", "n=1")
	s.settles(t, "/agents/tooluser/same", 1)
	s.settles(t, "/agents/assistant/other", 1)
}

func TestVanishedClientStillGetsItsReply(t *testing.T) {
	s := newServer(t, settings{})
	conn, err := net.Dial("tcp", s.address())
	if err != nil {
		t.Fatal(err)
	}
	body := said("n=3 delay=50")
	fmt.Fprintf(conn, "POST /agents/assistant/gone HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	eventually(t, "it is admitted", func() bool { return s.get(t, "/agents/assistant/gone").status == 200 })
	conn.Close()
	if p := s.settles(t, "/agents/assistant/gone", 1); p.Settlements[0].Outcome != "completed" {
		t.Errorf("settled %+v", p.Settlements)
	}
}

// every mode of reading updates.
var updateModes = []string{"", "&live=long-poll", "&live=sse"}

func TestStoppingRefusesPromptsAndReaders(t *testing.T) {
	s := newServer(t, settings{stop: 900 * time.Millisecond, Config: httpapi.Config{LongPoll: time.Minute, Heartbeat: time.Minute}})
	const path = "/agents/assistant/stop"
	first := s.do(t, "POST", path, strings.NewReader(said("n=0")), "Content-Type", jsonType, "Idempotency-Key", "k")
	at := s.settles(t, path, 1).Offset
	const other = "/agents/assistant/stop-too"
	s.prompt(t, other, "n=0")
	too := s.settles(t, other, 1).Offset
	ended := make(chan answer, 2)
	go func() { ended <- s.get(t, path+"?view=updates&live=sse&offset="+at) }()
	go func() { ended <- s.get(t, other+"?view=updates&live=long-poll&offset="+too) }()
	eventually(t, "both wait", func() bool { return s.serving.Load() == 2 && s.rt.Followed() == 2 })
	go s.stop()
	<-s.rt.Stopping()

	s.do(t, "POST", path, strings.NewReader(said("n=1")), "Content-Type", jsonType).wants(t, 503, "runtime_unavailable")
	s.do(t, "POST", path, strings.NewReader(said("n=1")), "Content-Type", jsonType, "Idempotency-Key", "k").wants(t, 409, "idempotency_conflict")
	again := s.do(t, "POST", path, strings.NewReader(said("n=0")), "Content-Type", jsonType, "Idempotency-Key", "k")
	if again.status != 202 || again.body != first.body || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("replayed: %d %s, at first %s", again.status, again.body, first.body)
	}
	s.do(t, "POST", path, strings.NewReader(`{}`), "Content-Type", jsonType).wants(t, 400, "invalid_request")
	for _, mode := range updateModes {
		got := s.get(t, path+"?view=updates&offset=-1"+mode)
		got.wants(t, 503, "runtime_unavailable")
		if !strings.Contains(got.body, `"meta":{"state":"draining"}`) || got.header.Get("Retry-After") != "1" {
			t.Errorf("answer %v %s", got.header, got.body)
		}
	}
	s.get(t, path+"?view=updates&offset=bad").wants(t, 400, "invalid_request")
	s.history(t, path)
	for range 2 {
		got := <-ended
		if got.err != nil || got.status != 200 || got.body != "[]" && !strings.HasSuffix(got.body, "\n\n") {
			t.Errorf("answer %d %q ended with %v", got.status, got.body, got.err)
		}
	}
}

func TestRacingPromptsWithOneKeyAdmitOnce(t *testing.T) {
	s := newServer(t, settings{})
	const path = "/agents/assistant/key"
	answers := make([]answer, 16)
	var group sync.WaitGroup
	for i := range answers {
		group.Go(func() {
			answers[i] = s.do(t, "POST", path, strings.NewReader(said("n=1")), "Content-Type", jsonType, "Idempotency-Key", "race")
		})
	}
	group.Wait()
	first := 0
	for _, got := range answers {
		if got.status != 202 || got.body != answers[0].body || got.header.Get("Location") == "" || got.header.Get(stream.HeaderNextOffset) != offset("0") {
			t.Errorf("answer %d %v %s", got.status, got.header, got.body)
		}
		if got.header.Get("Idempotency-Replayed") == "" {
			first++
		}
	}
	if p := s.settles(t, path, 1); first != 1 || len(p.Messages) != 2 {
		t.Errorf("%d of them were the first, %d messages", first, len(p.Messages))
	}
}

func TestStreamURLIsAbsolute(t *testing.T) {
	public := func(r *http.Request) string { return "https://api.example.test/w/" + r.Header.Get("X-Workspace") }
	for name, c := range map[string]struct {
		settings
		want string
	}{
		"as received": {settings{mount: "/v1/api"}, "http://ADDRESS/v1/api/agents/assistant/a%2fb"},
		"public":      {settings{mount: "/v1/api", Config: httpapi.Config{PublicURL: public}}, "https://api.example.test/w/7/agents/assistant/a%2fb"},
	} {
		s := newServer(t, c.settings)
		got := s.do(t, "POST", "/v1/api/agents/assistant/a%2fb?x=1", strings.NewReader(said("n=0")), "Content-Type", jsonType, "X-Workspace", "7", "X-Forwarded-Proto", "https", "X-Forwarded-Host", "else.test")
		want := strings.ReplaceAll(c.want, "ADDRESS", s.address())
		if url := decode[receipt](t, got.body).StreamURL; url != want || got.header.Get("Location") != want {
			t.Errorf("%s: %s, Location %s, want %s", name, url, got.header.Get("Location"), want)
		}
	}
}

func TestStreamURLOfATLSConnectionIsHTTPS(t *testing.T) {
	s := newServer(t, settings{})
	secure := httptest.NewTLSServer(s.Config.Handler)
	defer secure.Close()
	response, err := secure.Client().Post(secure.URL+"/agents/assistant/tls", jsonType, strings.NewReader(said("n=0")))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if got := response.Header.Get("Location"); got != secure.URL+"/agents/assistant/tls" {
		t.Errorf("Location %s", got)
	}
}

// many is a user's message with so many small images.
func many(images int) string {
	const image = `{"type":"image","mimeType":"image/png","data":"aGVsbG8="}`
	return `{"kind":"user","body":"n=1","attachments":[` + strings.TrimSuffix(strings.Repeat(image+",", images), ",") + `]}`
}

// attributes is a signal with so many of them.
func attributes(n int) string {
	var pairs []string
	for i := range n {
		pairs = append(pairs, fmt.Sprintf(`"%d":""`, i))
	}
	return `{"kind":"signal","type":"t","body":"","attributes":{` + strings.Join(pairs, ",") + `}}`
}

func TestMegabytesDoNotStopTheQueue(t *testing.T) {
	patience(t)
	const longest = 1 << 20
	s := newServer(t, settings{Config: httpapi.Config{MaxBody: longest}})
	for i, sent := range []struct{ name, body, fault string }{
		{"base64 of the other alphabet", `{"kind":"user","body":"x","attachments":[{"type":"image","mimeType":"a","data":"ab-_"}]}`, "invalid_request"},
		{"the second of two images", `{"kind":"user","body":"x","attachments":[{"type":"image","mimeType":"a","data":"aGk="},{"type":"image","mimeType":"a","data":"%"}]}`, "invalid_request"},
		{"1,024 images", many(1024), ""},
		{"1,025 images", many(1025), "invalid_request"},
		{"10,000 images", many(10_000), "invalid_request"},
		{"256 attributes", attributes(256), ""},
		{"257 attributes", attributes(257), "invalid_request"},
		{"80,000 attributes", attributes(80_000), "invalid_request"},
		{"attributes that are long", `{"kind":"signal","type":"t","body":"","attributes":{"a":"` + strings.Repeat("x", 64<<10) + `"}}`, "invalid_request"},
		{"attributes that are markup", `{"kind":"signal","type":"\"><x","body":"</signal>","attributes":{"a=\"1\" b":"\"/>","</signal>":"<","":"","__proto__":"x"},"tagName":"x"}`, ""},
		{"an attribute that is no string", `{"kind":"signal","type":"t","body":"","attributes":{"a":{"b":1}}}`, "invalid_request"},
		{"a tag name that is markup", `{"kind":"signal","type":"t","body":"","tagName":"x><y"}`, "invalid_request"},
		{"a tag name with a line break", `{"kind":"signal","type":"t","body":"","tagName":"x\n"}`, "invalid_request"},
		{"an empty tag name", `{"kind":"signal","type":"t","body":"","tagName":""}`, "invalid_request"},
		{"unknown fields", `{"kind":"user","body":"n=1","extra":{"deep":[1]},"attachments":[],"Attachments":7}`, ""},
		{"a case variant beside the right key", `{"kind":"user","body":"n=1","Body":"x","KIND":"signal"}`, ""},
		{"a case variant of kind", `{"Kind":"user","body":"x"}`, "invalid_request"},
		{"a case variant of body", `{"kind":"user","Body":"x"}`, "invalid_request"},
		{"a body over the cap", `{"kind":"user","body":"` + strings.Repeat("x", longest) + `"}`, "body_too_large"},
		{"deep nesting", `{"kind":"user","body":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`, "invalid_json"},
	} {
		path, settled := fmt.Sprint("/agents/assistant/hostile-", i), 1
		got := s.do(t, "POST", path, strings.NewReader(sent.body), "Content-Type", jsonType)
		switch {
		case sent.fault == "" && got.status == 202:
			settled++
		case sent.fault == "" || !strings.Contains(got.body, `"type":"`+sent.fault+`"`):
			t.Fatalf("%s: %d %.200s", sent.name, got.status, got.body)
		}
		s.prompt(t, path, "n=1")
		for _, ended := range s.settles(t, path, settled).Settlements {
			if ended.Outcome != "completed" {
				t.Errorf("%s: settlement %+v", sent.name, ended)
			}
		}
	}
}

func TestOffsetOfAnotherDatabaseIsGoneAndTheQueueGoesOn(t *testing.T) {
	older, newer := newServer(t, settings{}), newServer(t, settings{})
	const path = "/agents/assistant/moved"
	for i := range 3 {
		older.prompt(t, path, "n=1")
		older.settles(t, path, i+1)
	}
	offset := older.get(t, path).header.Get(stream.HeaderNextOffset)
	newer.prompt(t, path, "n=0")
	newer.settles(t, path, 1)
	for _, mode := range []string{"", "&live=long-poll", "&live=sse"} {
		newer.get(t, path+"?view=updates&offset="+offset+mode).wants(t, 410, "stream_offset_gone")
	}
	newer.prompt(t, path, "n=1")
	newer.settles(t, path, 2)
}

func TestParkedWorkIsListedWithItsReason(t *testing.T) {
	failing := model.Providers{"scripted": scripted.Choose(func(model.Request) scripted.Turn {
		return scripted.Turn{scripted.Fail(&model.Error{Class: model.Overloaded, Message: "later"})}
	})}
	s := newServer(t, settings{tune: func(c *svc.Config) { c.Model, c.ModelRetry = failing.Find, time.Hour }})
	const path = "/agents/assistant/parked"
	s.prompt(t, path, "x")
	eventually(t, "it is parked", func() bool {
		return strings.Contains(s.get(t, path+"/submissions").body, `"state":"parked","reason":"model_backoff"}]}`)
	})
	if got := s.do(t, "POST", path+"/abort", nil); got.body != `{"aborted":true}` {
		t.Errorf("abort: %s", got.body)
	}
	s.settles(t, path, 1)
}
