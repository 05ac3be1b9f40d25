package flood

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// tally counts what many meet.
type tally struct {
	mu  sync.Mutex
	all seen
}

func newTally() *tally { return &tally{all: seen{}} }

func (t *tally) add(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all[what]++
}

// takes is what takes its time in a scene: an attacker's pause, or a connection that is held. Nothing is waited for.
func takes(d time.Duration) { time.Sleep(d) }

// crowd lets so many do something again and again until the attack is over, as fast as is no attack on the processor alone.
func (o order) crowd(n int, do func(t *tally, who int, until time.Time)) seen {
	t, until := newTally(), time.Now().Add(o.For)
	var all sync.WaitGroup
	for who := range n {
		all.Go(func() {
			for time.Now().Before(until) {
				do(t, who, until)
				takes(500 * time.Millisecond)
			}
		})
	}
	all.Wait()
	return t.all
}

// dial comes from an address of its own for each two hundred, and takes in little.
func (o order) dial(who int, until time.Time) (net.Conn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from(1<<10 + who/200))}, Timeout: 5 * time.Second}
	conn, err := d.Dial("tcp", o.Address)
	if err != nil {
		return nil, err
	}
	_ = conn.SetDeadline(until)
	return conn, nil
}

// head is the beginning of a request, without the empty line.
func head(method, path, origin, cookie string) string {
	text := method + " " + path + " HTTP/1.1\r\nHost: " + strings.TrimPrefix(origin, "http://") + "\r\nOrigin: " + origin + "\r\nContent-Type: application/json\r\n"
	if cookie != "" {
		text += "Cookie: " + cookie + "\r\n"
	}
	return text
}

// outcome is the status of an answer, or that there was none.
func outcome(conn net.Conn) string {
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return "closed"
	}
	return answer.Status[:3]
}

// tiny is a head of as many fields as fit into so many bytes.
func tiny(n int) string {
	var text strings.Builder
	for i := 0; text.Len() < n; i++ {
		fmt.Fprintf(&text, "%x:\r\n", i)
	}
	return text.String()
}

// heads sends heads of tiny fields. Every other is not finished; the rest are, and then their bodies do not come.
func heads(o order) seen {
	fields := tiny(60 << 10)
	return o.crowd(o.Count, func(t *tally, who int, until time.Time) {
		conn, err := o.dial(who, until)
		if err != nil {
			t.add("no connection")
			return
		}
		defer conn.Close()
		text := head("POST", "/api/auth/password/login", o.Origin, "") + fields
		if who%2 == 0 {
			text += "Content-Length: 1000\r\n\r\n{"
		}
		if _, err := io.WriteString(conn, text); err != nil {
			t.add("closed")
			return
		}
		t.add(outcome(conn))
	})
}

// slowBodies announces much, sends some of it at once, and the rest hardly faster than is allowed. The attackers take turns.
func slowBodies(o order) seen {
	begin := append([]byte(`{"kind":"user","body":"`), bytes.Repeat([]byte("x"), 6<<20)...)
	more := bytes.Repeat([]byte("x"), 48<<10)
	return o.crowd(o.Count, func(t *tally, who int, until time.Time) {
		p := o.People[who%len(o.People)]
		conn, err := o.dial(who, until)
		if err != nil {
			t.add("no connection")
			return
		}
		defer conn.Close()
		path := fmt.Sprintf("%s/agents/central/slow%d", p.base(), who)
		if _, err := io.WriteString(conn, head("POST", path, o.Agents, p.Cookie)+"Content-Length: 8000000\r\n\r\n"); err != nil {
			t.add("closed")
			return
		}
		answered := make(chan string, 1)
		go func() { answered <- outcome(conn) }()
		_, err = conn.Write(begin)
		for err == nil {
			select {
			case status := <-answered:
				t.add(status)
				return
			case <-time.After(time.Second):
			}
			_, err = conn.Write(more)
		}
		_ = conn.SetReadDeadline(time.Now().Add(time.Second))
		t.add(<-answered)
	})
}

// opened is where a conversation stands before its first message.
const opened = "0000000000000000_0000000000000000"

// unreadAnswers asks for much and takes nothing of it.
func unreadAnswers(o order) seen {
	return o.crowd(o.Count, func(t *tally, who int, until time.Time) {
		p := o.People[who%len(o.People)]
		conn, err := o.dial(who, until)
		if err != nil {
			t.add("no connection")
			return
		}
		defer conn.Close()
		_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
		asks := []string{
			p.base() + "/agents/central/large", p.base() + "/agents/central/large?view=updates&offset=-1", p.base() + "/agents/central/large?view=updates&offset=-1&live=sse",
			p.files() + "/large", "/api/openapi.json", p.base() + "/agents/central/large/submissions",
			p.base() + "/agents/central/long", p.base() + "/agents/central/long?view=updates&offset=" + opened, p.base() + "/agents/central/long?view=updates&live=sse&offset=" + opened,
		}
		text := strings.Replace(head("GET", asks[who/len(o.People)%len(asks)], o.Agents, p.Cookie), "Content-Type: application/json\r\n", "", 1)
		if _, err := io.WriteString(conn, text+"\r\n"); err != nil {
			t.add("closed")
			return
		}
		begin := make([]byte, 12)
		if _, err := io.ReadFull(conn, begin); err != nil {
			t.add("closed")
			return
		}
		t.add(string(begin[9:]))
		takes(min(time.Until(until), 20*time.Second))
	})
}

// bomb is a text of so many bytes, about, that is small and means much.
type bomb struct {
	name string
	make func(n int) string
}

func repeated(open, item, end string, n int) string {
	return open + strings.Repeat(item, max(1, (n-len(open)-len(end))/len(item))) + end
}

var allBombs = []bomb{
	{"deep lists", func(n int) string { return repeated("", "[", "", n/2) + repeated("", "]", "", n/2) }},
	{"deep objects", func(n int) string { return repeated("", `{"a":`, "1", n*5/6) + repeated("", "}", "", n/6) }},
	{"empty objects", func(n int) string { return repeated(`{"kind":"user","body":[{}`, ",{}", "]}", n) }},
	{"empty lists", func(n int) string { return repeated("[[]", ",[]", "]", n) }},
	{"numbers", func(n int) string { return repeated(`{"a":[1`, ",1", "]}", n) }},
	{"objects of one", func(n int) string { return repeated(`[{"a":1}`, `,{"a":1}`, "]", n) }},
	{"one long number", func(n int) string { return repeated(`{"a":1`, "1", "}", n) }},
	{"a long exponent", func(n int) string { return repeated(`{"a":1e`, "9", "}", n) }},
	{"one long text", func(n int) string { return repeated(`{"kind":"user","body":"fail `, "x", `"}`, n) }},
	{"escapes", func(n int) string { return repeated(`{"kind":"user","body":"fail `, `\u0001`, `"}`, n) }},
	{"one long name", func(n int) string { return repeated(`{"`, "x", `":1}`, n) }},
	{"one name again and again", func(n int) string { return repeated(`{"a":1`, `,"a":1`, "}", n) }},
	{"attributes", func(n int) string {
		return `{"kind":"signal","type":"x","body":"b","attributes":` + keys(n) + `}`
	}},
	{"a million keys", keys},
	{"attachments", func(n int) string {
		return repeated(`{"kind":"user","body":"fail","attachments":[{"type":"image","data":"","mimeType":"image/png"}`, `,{"type":"image","data":"","mimeType":"image/png"}`, "]}", n)
	}},
	{"spaces", func(n int) string { return repeated("", " ", "{}", n) }},
	{"no text at all", func(n int) string { return repeated("", "\x00", "", n) }},
}

// keys is an object of as many keys as fit.
func keys(n int) string {
	var text bytes.Buffer
	text.WriteString(`{"x":1`)
	for i := 0; text.Len() < n; i++ {
		fmt.Fprintf(&text, `,"%x":1`, i)
	}
	text.WriteString("}")
	return text.String()
}

// route is where a body is sent.
type route struct{ method, origin, path string }

// takers are all routes that take a body: those that the service describes, and those that are the runtime's and GitHub's.
func (o order) takers(p person) ([]route, error) {
	answer, err := visit(o.Address, o.Origin, "127.0.0.1").Get(o.Origin + "/api/openapi.json")
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	type server struct {
		Surface string `json:"x-surface"`
	}
	var described struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.NewDecoder(answer.Body).Decode(&described); err != nil {
		return nil, err
	}
	fill := strings.NewReplacer("{username}", p.Username, "{business}", "personal", "{provider}", "github", "{slug}", "files", "{", "", "}", "")
	var all []route
	for path, methods := range described.Paths {
		origin := o.Origin
		var servers []server
		if raw, found := methods["servers"]; found && json.Unmarshal(raw, &servers) == nil && !slices.ContainsFunc(servers, func(s server) bool { return s.Surface == "platform" }) {
			origin = o.Agents
		}
		for method, raw := range methods {
			var operation struct{ RequestBody json.RawMessage }
			if slices.Contains([]string{"post", "put", "patch", "delete"}, method) && json.Unmarshal(raw, &operation) == nil && operation.RequestBody != nil {
				all = append(all, route{strings.ToUpper(method), origin, fill.Replace(path)})
			}
		}
	}
	for _, path := range []string{"/agents/central/bomb", "/agents/central/bomb/abort", "/workflows/workspace-verification", "/channels/github/events", "/channels/github/webhook"} {
		all = append(all, route{"POST", o.Agents, p.base() + path})
	}
	return all, nil
}

// bombs sends every bomb to every route, small enough to be read where little is, and large.
func bombs(o order) seen {
	t := newTally()
	routes, err := o.takers(o.People[0])
	if err != nil {
		return seen{"bad: " + err.Error(): 1}
	}
	t.all["routes"] = len(routes)
	work := make(chan func())
	var workers sync.WaitGroup
	for range o.Parallel {
		workers.Go(func() {
			for do := range work {
				do()
			}
		})
	}
	who := 0
	for _, size := range []int{16 << 10, o.Count} {
		for _, b := range allBombs {
			text := b.make(size)
			for _, r := range routes {
				who++
				v, p := visit(o.Address, r.origin, from(1<<12+who%64)), o.People[who%len(o.People)]
				work <- func() { t.add(v.throw(r, p, b.name, text)) }
			}
		}
	}
	close(work)
	workers.Wait()
	return t.all
}

// throw sends a bomb, and returns how it was refused. What is no clear answer is bad.
func (v visitor) throw(to route, p person, name, text string) string {
	conn, err := v.Transport.(*http.Transport).DialContext(context.Background(), "tcp", v.server)
	if err != nil {
		return "bad: " + err.Error()
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	// An answer may come before all was sent, and nothing more is read then.
	go func() {
		_, _ = io.WriteString(conn, head(to.method, to.path, v.origin, p.Cookie)+fmt.Sprintf("Connection: close\r\nContent-Length: %d\r\n\r\n", len(text)))
		_, _ = io.WriteString(conn, text)
	}()
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return fmt.Sprintf("bad: %s to %s %s: %v", name, to.method, to.path, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return fmt.Sprintf("bad: %s to %s %s: %v", name, to.method, to.path, err)
	}
	var told struct{ Error struct{ Type string } }
	_ = json.Unmarshal(body, &told)
	unclear := answer.StatusCode >= 400 && told.Error.Type == "" || answer.StatusCode >= 500 && answer.StatusCode != http.StatusServiceUnavailable
	if name == "image" && answer.StatusCode != http.StatusAccepted && answer.StatusCode != http.StatusServiceUnavailable && answer.StatusCode != http.StatusRequestEntityTooLarge {
		unclear = true
	}
	if unclear || answer.StatusCode == http.StatusServiceUnavailable && answer.Header.Get("Retry-After") == "" {
		return fmt.Sprintf("bad: %s to %s %s: %s %.200s", name, to.method, to.path, answer.Status, body)
	}
	return answer.Status[:3]
}

// images prompts with large images, and tries again where there was no room.
func images(o order) seen {
	t := newTally()
	data := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{0x89, 'P', 'N', 'G'}, 14<<20/4*3/4-3)) // as long as one may be
	until := time.Now().Add(o.For)
	var all sync.WaitGroup
	work := make(chan int)
	for range o.Parallel {
		all.Go(func() {
			for n := range work {
				p := o.People[n%len(o.People)]
				to := route{"POST", o.Agents, fmt.Sprintf("%s/agents/central/images%d", p.base(), n%(2*len(o.People)))}
				text := fmt.Sprintf(`{"kind":"user","body":"n=1","attachments":[{"type":"image","mimeType":"image/png","data":"%012d%s"}]}`, n, data) // each its own
				for status := "503"; status == "503"; {
					if time.Now().After(until) {
						t.add("given up")
						break
					}
					status = visit(o.Address, o.Agents, from(1<<13+n)).throw(to, p, "image", text)
					t.add(status)
					takes(50 * time.Millisecond)
				}
			}
		})
	}
	for n := range o.Count {
		work <- n
	}
	close(work)
	all.Wait()
	return t.all
}
