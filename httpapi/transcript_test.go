package httpapi_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"svc.dev/svc/httpapi"
	"svc.dev/svc/stream"
)

var against = flag.String("against", "", "replay the transcripts against the contract program at this host:port")

// patient is how long the transcripts' servers let a reader wait: longer than the work of any transcript.
var patient = httpapi.Config{LongPoll: 4 * time.Second}

// TestTranscripts replays testdata/*.txtar, byte for byte, over a plain connection. testdata/README.md says how they read.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	address := *against
	if address == "" {
		address = newServer(t, settings{extras: true, Config: patient}).address()
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if *against != "" && bytes.HasPrefix(data, []byte("needs: extras")) {
				t.Skip("the contract program has no extras")
			}
			replay(t, address, application{}, txtar.Parse(data))
		})
	}
}

// application is what stands around the API: the prefix below which it has mounted it, and its answer to paths that are not the API's.
type application struct{ prefix, unknown string }

var noRoute = regexp.MustCompile(`(No route for [A-Z]+ )/`)

// below is a response as it is for a request below the application's prefix.
func (a application) below(want wanted) wanted {
	want.body = noRoute.ReplaceAllString(want.body, "${1}"+a.prefix+"/")
	return want
}

// owns reports whether the application has answered for a path that the API does not know. The API would have named the request.
func (a application) owns(want wanted, got exchanged) bool {
	unknown := want.status == http.StatusNotFound && (want.body == "" || noRoute.MatchString(want.body))
	return a.unknown != "" && unknown && got.status == http.StatusNotFound && got.header["X-Request-Id"] == nil && (got.body == "" || got.body == a.unknown)
}

// replay plays pairs of requests and responses in their order.
func replay(t *testing.T, address string, around application, a *txtar.Archive) {
	known := captured{"{{host}}": address + around.prefix}
	var problem string // with the last answer
	defer func() {
		if problem != "" {
			t.Log(problem)
		}
	}()
	for i := 0; i+1 < len(a.Files); i += 2 {
		request, response := a.Files[i], a.Files[i+1]
		asked := parseRequest(known.fill(string(request.Data)))
		asked.line = strings.Replace(asked.line, " /", " "+around.prefix+"/", 1)
		want := around.below(parseResponse(string(response.Data)))
		try := func() bool {
			// What an answer names counts when all of it is as written.
			learned := maps.Clone(known)
			got := asked.exchange(t, address, want)
			if around.owns(want, got) {
				return true
			}
			problem = want.compare(got, learned)
			if problem == "" {
				known = learned
			}
			return problem == ""
		}
		if request.Name == "request until" {
			eventually(t, fmt.Sprintf("exchange %d: %s", i/2+1, asked.line), try)
		} else if !try() {
			t.Fatalf("exchange %d: %s", i/2+1, asked.line)
		}
	}
}

// rawRequest is a request as the transcript writes it.
type rawRequest struct {
	line   string
	header []string
	body   string
}

func parseRequest(text string) rawRequest {
	head, body, _ := strings.Cut(text, "\n\n")
	lines := strings.Split(strings.TrimSuffix(head, "\n"), "\n")
	return rawRequest{line: lines[0], header: lines[1:], body: strings.TrimSuffix(body, "\n")}
}

func (q rawRequest) has(name string) bool {
	for _, h := range q.header {
		if key, _, _ := strings.Cut(h, ":"); strings.EqualFold(key, name) {
			return true
		}
	}
	return false
}

func (q rawRequest) bytes(host string) []byte {
	var b bytes.Buffer
	body := q.body
	fmt.Fprintf(&b, "%s\r\nHost: %s\r\n", q.line, host)
	for _, h := range q.header {
		fmt.Fprintf(&b, "%s\r\n", h)
	}
	switch {
	case q.has("Transfer-Encoding"):
		body = fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	case body != "" && !q.has("Content-Length"):
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
	}
	b.WriteString("\r\n" + body)
	return b.Bytes()
}

// exchanged is a response as it came.
type exchanged struct {
	status int
	header map[string][]string
	body   string
	open   bool // the body had not ended
}

const (
	endOfBody = "<end of body>"
	stillOpen = "<still open>"
)

func (q rawRequest) exchange(t *testing.T, address string, want wanted) exchanged {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := conn.Write(q.bytes(address)); err != nil {
		t.Fatal(err)
	}
	method, _, _ := strings.Cut(q.line, " ")
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%s: %v", q.line, err)
	}
	got := exchanged{status: response.StatusCode, header: response.Header}
	got.body, got.open = readBody(t, response.Body, want)
	return got
}

// readBody reads to the end, or as far as the transcript goes on a connection that stays open.
func readBody(t *testing.T, body io.Reader, want wanted) (text string, open bool) {
	t.Helper()
	var b strings.Builder
	chunk := make([]byte, 64<<10)
	for {
		n, err := body.Read(chunk)
		b.Write(chunk[:n])
		text = want.trim(b.String())
		switch {
		case err == io.EOF:
			return text, false
		case err != nil:
			t.Fatalf("body after %q: %v", b.String(), err)
		case want.open && strings.Count(text, "\n\n") >= strings.Count(want.body, "\n\n"):
			return upTo(text, strings.Count(want.body, "\n\n")), true
		}
	}
}

// upTo is so many blocks of a text. Where time is short, one read has more than the transcript.
func upTo(text string, blocks int) string {
	all := strings.SplitAfterN(text, "\n\n", blocks+1)
	return strings.Join(all[:min(blocks, len(all))], "")
}

// wanted is a response as the transcript writes it.
type wanted struct {
	status int
	header map[string][]string
	body   string
	open   bool
}

func parseResponse(text string) wanted {
	head, body, _ := strings.Cut(text, "\n\n")
	lines := strings.Split(strings.TrimSuffix(head, "\n"), "\n")
	w := wanted{header: map[string][]string{}, body: strings.TrimSuffix(body, "\n")}
	w.status, _ = strconv.Atoi(strings.Fields(lines[0])[1])
	for _, h := range lines[1:] {
		name, value, _ := strings.Cut(h, ": ")
		name = textproto.CanonicalMIMEHeaderKey(name)
		w.header[name] = append(w.header[name], value)
	}
	w.body, w.open = strings.CutSuffix(w.body, stillOpen)
	w.body, _ = strings.CutSuffix(w.body, endOfBody)
	return w
}

const heartbeat = ": heartbeat\n\n"

// trim leaves out the heartbeats, which come when they come, unless the transcript is about them.
func (w wanted) trim(text string) string {
	if strings.Contains(w.body, heartbeat) {
		return text
	}
	return strings.ReplaceAll(text, heartbeat, "")
}

// compare says how a response differs, and learns what it captures if it does not.
func (w wanted) compare(got exchanged, known captured) string {
	if got.status != w.status {
		return fmt.Sprintf("status %d, want %d\n%s", got.status, w.status, got.body)
	}
	if !requestID.MatchString(http.Header(got.header).Get("X-Request-Id")) {
		return fmt.Sprintf("X-Request-Id: %q", got.header["X-Request-Id"])
	}
	for _, name := range []string{"Date", "Content-Length", "Connection", "Transfer-Encoding", "X-Request-Id"} {
		delete(got.header, name)
	}
	want := map[string][]string{}
	for name, values := range w.header {
		for i, value := range values {
			if i < len(got.header[name]) && known.matches(value, got.header[name][i]) {
				value = got.header[name][i]
			}
			want[name] = append(want[name], value)
		}
	}
	if diff := cmp.Diff(want, got.header); diff != "" {
		return "header (-want +got)\n" + diff
	}
	if w.open != got.open {
		return fmt.Sprintf("body open: %v, want %v", got.open, w.open)
	}
	if !known.matches(w.body, got.body) {
		return "body (-want +got)\n" + cmp.Diff(known.fill(w.body), got.body)
	}
	return ""
}

var requestID = regexp.MustCompile(`^req_[0-9A-HJKMNP-TV-Z]{26}$`)

// captured is what earlier responses of a transcript have named.
type captured map[string]string

var placeholder = regexp.MustCompile(`\{\{([^{}]+)\}\}`)

// fill replaces every placeholder that stands for a known text.
func (c captured) fill(text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(p string) string {
		name, arg, _ := strings.Cut(p[2:len(p)-2], ":")
		switch name {
		case "offset":
			return offset(arg)
		case "etag":
			return c.etag(arg)
		case "direct", "dispatch":
			if id, ok := c["{{"+arg+"}}"]; ok {
				return "entry_" + name + "_" + base64.RawURLEncoding.EncodeToString([]byte(id))
			}
		case "repeat":
			count, unit, _ := strings.Cut(arg, ":")
			n, _ := strconv.Atoi(count)
			return strings.Repeat(unit, n)
		case "byte":
			n, _ := strconv.ParseUint(arg, 16, 8)
			return string([]byte{byte(n)})
		}
		if value, ok := c[p]; ok {
			return value
		}
		return p
	})
}

// matches compares a text with one that holds placeholders, and captures what they stand for.
func (c captured) matches(want, got string) bool {
	want = c.fill(want)
	var pattern strings.Builder
	var names []string
	last := 0
	for _, at := range placeholder.FindAllStringIndex(want, -1) {
		p := want[at[0]:at[1]]
		pattern.WriteString(regexp.QuoteMeta(want[last:at[0]]))
		pattern.WriteString("(" + shape(p) + ")")
		names = append(names, p)
		last = at[1]
	}
	pattern.WriteString(regexp.QuoteMeta(want[last:]))
	found := regexp.MustCompile(`(?s)\A` + pattern.String() + `\z`).FindStringSubmatch(got)
	if found == nil {
		return false
	}
	for i, p := range names {
		if !c.learn(p, found[i+1]) {
			return false
		}
	}
	return true
}

const ulid = `[0-9A-HJKMNP-TV-Z]{26}`

// ids are the placeholders that stand for the same text throughout a transcript; a number behind one makes it another.
var ids = map[string]string{
	"runId": `run_` + ulid,
	"uuid":  uuid,
	"conv":  `conv_` + ulid,
	"turn":  `turn_` + ulid,
	"entry": `entry_` + uuid,
	"call":  `call_[A-Z2-7]+`,
	"op":    `op_` + ulid,
	"at":    `0{16}_\d{16}`,
}

const uuid = `[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`

func idShape(name string) (string, bool) {
	shape, ok := ids[strings.TrimRight(name, "0123456789")]
	return shape, ok
}

// shape is what a placeholder may stand for.
func shape(p string) string {
	name, _, _ := strings.Cut(p[2:len(p)-2], ":")
	if shape, ok := idShape(name); ok {
		return shape
	}
	switch name {
	case "iso":
		return `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`
	case "int":
		return `\d+`
	case "position":
		return `\{"batch":\d+,"index":\d+\}`
	case "events":
		return `\{.*\}`
	}
	panic("unknown placeholder " + p)
}

// learn keeps an id, and checks the numbers of events that were left out.
func (c captured) learn(p, value string) bool {
	name, arg, _ := strings.Cut(p[2:len(p)-2], ":")
	if _, ok := idShape(name); ok {
		if known, ok := c[p]; ok && known != value {
			return false
		}
		c[p] = value
	}
	if name != "events" {
		return true
	}
	from, to, _ := strings.Cut(arg, "-")
	next, _ := strconv.Atoi(from)
	last, _ := strconv.Atoi(to)
	for _, index := range eventIndex.FindAllStringSubmatch(value, -1) {
		if index[1] != strconv.Itoa(next) {
			return false
		}
		next++
	}
	return next == last+1
}

var eventIndex = regexp.MustCompile(`"v":3,"eventIndex":(\d+),`)

func offset(text string) string {
	n, _ := strconv.ParseInt(text, 10, 64)
	return stream.Offset(n).String()
}

// etag spells the tag of a page of {{runId}} from its start, its next offset and its closing.
func (c captured) etag(arg string) string {
	parts := strings.Split(arg, ":")
	parts[0], parts[1] = offset(parts[0]), offset(parts[1])
	path := base64.StdEncoding.EncodeToString([]byte("runs/" + c["{{runId}}"]))
	return `"` + path + ":" + strings.Join(parts, ":") + `"`
}
