package client_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"svc.dev/svc/client"
	"svc.dev/svc/stream"
)

// TestTheServersTranscriptsAreUnderstood gives the client each answer of httpapi/testdata to the request that it was recorded for.
func TestTheServersTranscriptsAreUnderstood(t *testing.T) {
	files, err := filepath.Glob("../httpapi/testdata/*.txtar")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d transcripts, %v", len(files), err)
	}
	verbs := map[string]int{}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			values := &values{known: map[string]string{}}
			archive := txtar.Parse(text)
			for i := 0; i+1 < len(archive.Files); i += 2 {
				x := &recorded{t: t, answer: values.fill(string(archive.Files[i+1].Data))}
				x.ask(values.fill(string(archive.Files[i].Data)))
				verbs[x.verb]++
			}
		})
	}
	t.Logf("%v", verbs)
	for _, verb := range []string{"send", "abort", "history", "updates", "submissions", "attachment", "invoke", "record", "stream", "refused"} {
		if verbs[verb] == 0 {
			t.Errorf("no transcript is of %s: %v", verb, verbs)
		}
	}
}

// values fills the placeholders of a transcript with something that fits.
type values struct {
	known map[string]string
	batch int
}

var placeholder = regexp.MustCompile(`\{\{([^{}]+)\}\}`)

func (v *values) fill(text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(p string) string {
		name, arg, _ := strings.Cut(p[2:len(p)-2], ":")
		switch name {
		case "position":
			v.batch++
			return fmt.Sprintf(`{"batch":%d,"index":0}`, v.batch)
		case "offset":
			n, _ := strconv.ParseInt(arg, 10, 64)
			return stream.Offset(n).String()
		case "direct", "dispatch":
			return "entry_" + name + "_" + base64.RawURLEncoding.EncodeToString([]byte(v.id(arg)))
		case "events":
			return events(arg)
		case "repeat":
			count, unit, _ := strings.Cut(arg, ":")
			n, _ := strconv.Atoi(count)
			return strings.Repeat(unit, n)
		case "byte":
			n, _ := strconv.ParseUint(arg, 16, 8)
			return string([]byte{byte(n)})
		case "etag":
			return `"tag"`
		}
		return v.id(name)
	})
}

// id is the same for the same name throughout a transcript.
func (v *values) id(name string) string {
	if _, ok := v.known[name]; !ok {
		n := len(v.known)
		v.known[name] = map[string]string{
			"iso": "2026-07-01T12:05:00.120Z", "int": "7", "host": "server",
			"at": stream.Offset(n).String(), "uuid": fmt.Sprintf("5b0e4c1e-7c55-4c0e-9a51-%012d", n),
		}[strings.TrimRight(name, "0123456789")]
		if v.known[name] == "" {
			v.known[name] = fmt.Sprintf("%s_%d", name, n)
		}
	}
	return v.known[name]
}

func events(span string) string {
	from, to, _ := strings.Cut(span, "-")
	first, _ := strconv.Atoi(from)
	last, _ := strconv.Atoi(to)
	var list []string
	for i := first; i <= last; i++ {
		list = append(list, fmt.Sprintf(`{"type":"log","runId":"r","v":3,"eventIndex":%d,"timestamp":"2026-07-01T12:05:00.120Z"}`, i))
	}
	return strings.Join(list, ",")
}

// recorded is one exchange of a transcript, and a server that has only its answer.
type recorded struct {
	t      *testing.T
	answer string
	verb   string

	status int
	header http.Header
	body   string
	asked  []*http.Request
	sent   string
}

func (x *recorded) RoundTrip(r *http.Request) (*http.Response, error) {
	x.asked = append(x.asked, r)
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		x.sent = string(body)
	}
	if len(x.asked) > 1 {
		over := `{"error":{"type":"transcript_over","message":"There is no more.","details":""}}`
		return &http.Response{StatusCode: 404, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(over)), Request: r}, nil
	}
	return &http.Response{StatusCode: x.status, Header: x.header, Body: io.NopCloser(strings.NewReader(x.body)), ContentLength: -1, Request: r}, nil
}

// parse reads the recorded answer.
func (x *recorded) parse() {
	head, body, _ := strings.Cut(x.answer, "\n\n")
	lines := strings.Split(strings.TrimSuffix(head, "\n"), "\n")
	x.status, _ = strconv.Atoi(strings.Fields(lines[0])[1])
	x.header = http.Header{"X-Request-Id": {"req_1"}}
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ": ")
		x.header.Add(name, value)
	}
	body = strings.TrimSuffix(body, "\n")
	body, _ = strings.CutSuffix(body, "<still open>")
	x.body, _ = strings.CutSuffix(body, "<end of body>")
}

// ask does what a client does to send the recorded request, and judges what it makes of the answer.
func (x *recorded) ask(request string) {
	x.parse()
	head, body, _ := strings.Cut(request, "\n\n")
	lines := strings.Split(strings.TrimSuffix(head, "\n"), "\n")
	words := strings.Fields(lines[0])
	target, err := url.Parse(words[1])
	if err != nil {
		x.refused(words[0], words[1])
		return
	}
	c := ask(x.t, "http://server", func(c *client.Config) {
		c.HTTP, c.Backoff, c.Patience = &http.Client{Transport: x}, 1, 1
	})
	path := strings.Split(strings.TrimPrefix(target.EscapedPath(), "/"), "/")
	for i := range path {
		if path[i], err = url.PathUnescape(path[i]); err != nil {
			x.refused(words[0], words[1])
			return
		}
	}
	if !x.understood(c, words[0], path, target.Query(), strings.TrimSuffix(body, "\n")) {
		x.refused(words[0], words[1])
	}
}

// understood asks by the verb that the request is of, and reports whether there is one.
func (x *recorded) understood(c *client.Client, method string, path []string, query url.Values, body string) bool {
	ctx, t := x.t.Context(), x.t
	switch {
	case method == "GET" && len(path) == 3 && path[0] == "agents" && query.Get("view") == "updates" && query.Has("offset"):
		x.verb = "updates"
		var got []json.RawMessage
		for u, err := range c.Agents.Updates(ctx, path[1], path[2], x.options(query)) {
			if err != nil {
				x.over(err)
				break
			}
			got = append(got, mustPrint(t, u))
		}
		x.wantItems(got)
	case method == "GET" && len(path) == 3 && path[0] == "agents" && query.Encode() == "" || len(path) == 3 && query.Encode() == "view=history" && method == "GET":
		x.verb = "history"
		got, err := c.Agents.History(ctx, path[1], path[2])
		x.want(got, err)
	case method == "POST" && len(path) == 3 && path[0] == "agents" && len(query) == 0 && promptOf(body) != nil:
		x.verb = "send"
		sent, err := c.Agents.Send(ctx, path[1], path[2], *promptOf(body))
		if !same([]byte(x.sent), []byte(body)) {
			t.Errorf("sent %s, want %s", x.sent, body)
		}
		x.want(map[string]string{"streamUrl": sent.StreamURL, "offset": sent.Offset, "submissionId": sent.SubmissionID}, err)
	case method == "POST" && len(path) == 4 && path[3] == "abort" && len(query["submission"]) <= 1:
		x.verb = "abort"
		aborted, err := c.Agents.Abort(ctx, path[1], path[2], query.Get("submission"))
		x.want(map[string]bool{"aborted": aborted}, err)
	case method == "GET" && len(path) == 4 && path[3] == "submissions":
		x.verb = "submissions"
		list, err := c.Agents.Submissions(ctx, path[1], path[2])
		x.want(map[string]any{"submissions": list}, err)
	case method == "GET" && len(path) == 5 && path[3] == "attachments":
		x.verb = "attachment"
		file, err := c.Agents.Attachment(ctx, path[1], path[2], path[4])
		if err != nil {
			x.wantError(err)
			break
		}
		defer file.Body.Close()
		if got, err := io.ReadAll(file.Body); err != nil || string(got) != x.body || file.MediaType != x.header.Get("Content-Type") {
			t.Errorf("%q of %q, %v", got, file.MediaType, err)
		}
	case method == "POST" && len(path) == 2 && path[0] == "workflows" && len(query) == 0 && (body == "" || json.Valid([]byte(body))):
		x.verb = "invoke"
		in := client.Invocation{}
		if body != "" {
			in.Input = json.RawMessage(body)
		}
		id, err := c.Workflows.Invoke(ctx, path[1], in)
		x.want(map[string]string{"runId": id}, err)
	case method == "GET" && len(path) == 2 && path[0] == "runs" && query.Has("meta"):
		x.verb = "record"
		run, err := c.Runs.Get(ctx, path[1])
		x.want(run, err)
	case method == "GET" && len(path) == 2 && path[0] == "runs" && x.status != http.StatusNotModified:
		x.verb = "stream"
		var got []json.RawMessage
		for e, err := range c.Runs.Stream(ctx, path[1], x.options(query)) {
			if err != nil {
				x.over(err)
				break
			}
			got = append(got, mustPrint(t, e))
		}
		x.wantItems(got)
	default:
		return false
	}
	return true
}

func (x *recorded) options(query url.Values) client.StreamOptions {
	o := client.StreamOptions{After: query.Get("offset"), Live: client.Live(query.Get("live"))}
	if o.Live == "" {
		o.Live = client.CatchUp
	}
	o.Tail, _ = strconv.Atoi(query.Get("tail"))
	return o
}

// promptOf is a prompt whose JSON is that body, nil where there is none.
func promptOf(body string) *client.Prompt {
	var m struct {
		Kind, Body, Type, TagName string
		Attributes                client.Attributes
		Attachments               []struct {
			Data               []byte
			MimeType, Filename string
		}
	}
	if json.Unmarshal([]byte(body), &m) != nil {
		return nil
	}
	p := &client.Prompt{Body: m.Body, Type: m.Type, TagName: m.TagName, Attributes: m.Attributes}
	for _, a := range m.Attachments {
		p.Attachments = append(p.Attachments, client.Image{MediaType: a.MimeType, Filename: a.Filename, Data: a.Data})
	}
	server := &recorded{status: 202, header: http.Header{"Content-Type": {"application/json"}}, body: `{"submissionId":"s","offset":"o"}`}
	c, _ := client.New(client.Config{BaseURL: "http://server", HTTP: &http.Client{Transport: server}})
	if _, err := c.Agents.Send(context.Background(), "a", "i", *p); err != nil || !same([]byte(server.sent), []byte(body)) {
		return nil
	}
	return p
}

// refused sends a request for which there is no verb, and wants its refusal or its text.
func (x *recorded) refused(method, target string) {
	x.verb = "refused"
	c := ask(x.t, "http://server", func(c *client.Config) { c.HTTP, c.Patience = &http.Client{Transport: x}, 1 })
	if _, err := url.Parse("http://server" + target); err != nil {
		target = "/"
	}
	answer, err := c.Do(x.t.Context(), client.Request{Method: method, Path: target})
	if err != nil {
		x.wantError(err)
		return
	}
	defer answer.Body.Close()
	if got, err := io.ReadAll(answer.Body); err != nil || string(got) != x.body || x.status > 299 {
		x.t.Errorf("%s %s: %q, %v, want %q", method, target, got, err, x.body)
	}
}

// over is the end of a stream that was read as far as it was recorded.
func (x *recorded) over(err error) {
	x.t.Helper()
	if x.status > 299 {
		x.wantError(err)
	} else if !client.Is(err, "transcript_over") {
		x.t.Errorf("%v", err)
	}
}

// want compares what the client has made of an answer with the answer.
func (x *recorded) want(got any, err error) {
	x.t.Helper()
	if x.status > 299 {
		x.wantError(err)
		return
	}
	if text := mustPrint(x.t, got); err != nil || !same(text, []byte(x.body)) {
		x.t.Errorf("%s, %v, want %s", text, err, x.body)
	}
}

// wantItems compares the items of a stream: of all its data frames, or of its page.
func (x *recorded) wantItems(got []json.RawMessage) {
	x.t.Helper()
	if x.status > 299 || x.status == http.StatusNoContent {
		if len(got) > 0 {
			x.t.Errorf("%d items", len(got))
		}
		return
	}
	var want []json.RawMessage
	pages := []string{x.body}
	if strings.HasPrefix(x.header.Get("Content-Type"), "text/event-stream") {
		pages = nil
		for _, m := range regexp.MustCompile(`(?m)^event: data\ndata:(.*)$`).FindAllStringSubmatch(x.body, -1) {
			pages = append(pages, m[1])
		}
	}
	for _, page := range pages {
		var items []json.RawMessage
		if err := json.Unmarshal([]byte(page), &items); err != nil {
			x.t.Fatalf("%s: %v", page, err)
		}
		want = append(want, items...)
	}
	if !slices.EqualFunc(got, want, func(a, b json.RawMessage) bool { return same(a, b) }) {
		x.t.Errorf("%s\nwant %s", got, want)
	}
}

func (x *recorded) wantError(err error) {
	x.t.Helper()
	var envelope struct {
		Error struct{ Type, Message, Details string }
	}
	_ = json.Unmarshal([]byte(x.body), &envelope)
	want := envelope.Error
	e, ok := errors.AsType[*client.Error](err)
	if !ok || e.Status != x.status || e.RequestID != "req_1" || want.Type != "" && (e.Type != want.Type || e.Message != want.Message || e.Details != want.Details) {
		x.t.Errorf("%+v, want %d %s", err, x.status, x.body)
	}
}

func mustPrint(t *testing.T, v any) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// same reports whether two texts are the same JSON, to the digits of their numbers.
func same(a, b []byte) bool {
	x, y := decoded(a), decoded(b)
	return x != nil && reflect.DeepEqual(x, y)
}

func decoded(text []byte) (v any) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	_ = dec.Decode(&v)
	return v
}
