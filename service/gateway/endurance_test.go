package gateway_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/gateway"
)

// dial opens a connection of its own and sends what is given.
func (s *scene) dial(t testing.TB, text string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", s.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn
}

// ends reports whether the server has let go of a connection within the time, and what it answered before.
func ends(conn net.Conn, within time.Duration) (text string, ended bool) {
	_ = conn.SetReadDeadline(time.Now().Add(within))
	all, err := io.ReadAll(conn)
	return string(all), err == nil
}

func TestWhoseBodyNeverComesHoldsNoConnection(t *testing.T) {
	t.Parallel()
	s := quick(t)
	d := s.sit(t, "ada")
	head := func(method, path, more string) string {
		return method + " " + path + " HTTP/1.1\r\nHost: " + s.hosts[gateway.Agents] + "\r\n" + more + "\r\n"
	}
	for name, c := range map[string]struct {
		text   string
		status int
	}{
		"refused upload":           {head("PUT", d.path+"/projects/site/files/x", "Content-Length: 100\r\n"), 403},
		"refused upload, chunked":  {head("PUT", d.path+"/projects/site/files/x", "Transfer-Encoding: chunked\r\n"), 403},
		"wrong key":                {head("PUT", d.path+"/projects/site/files/x", "Authorization: Bearer svck_x\r\nContent-Length: 100\r\n"), 401},
		"no such project":          {head("PUT", d.path+"/projects/none/files/x", "Authorization: Bearer "+d.key+"\r\nContent-Length: 100\r\n"), 404},
		"no such route":            {head("POST", "/api/none", "Content-Length: 100\r\n"), 404},
		"a body that nobody reads": {head("GET", "/api/auth/session", "Content-Length: 100\r\n"), 200},
		"a long answer":            {head("GET", "/api/openapi.json", "Content-Length: 100\r\n"), 200},
		"a body that is read":      {head("POST", d.path+"/projects", "Authorization: Bearer "+d.key+"\r\nContent-Type: application/json\r\nContent-Length: 100\r\n"), 400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, ended := ends(s.dial(t, c.text), 25*time.Second)
			if !ended || !strings.HasPrefix(text, fmt.Sprintf("HTTP/1.1 %d", c.status)) {
				t.Errorf("ended %t: %.60q", ended, text)
			}
		})
	}
}

func TestACursorOfAnotherPrefixIsRefused(t *testing.T) {
	s := quick(t)
	d := s.sit(t, "ada")
	d.ask("PUT", "/projects/site/files/aa", "x").wants(t, 201, "")
	cursor := listing.Label("listFiles", listing.Cursor("a", true))
	for _, query := range []string{"?prefix=aaaa/&folded=true&cursor=", "?prefix=aaaa/&cursor="} {
		d.ask("GET", "/projects/site/files"+query+cursor, nil).wants(t, 400, "invalid_request")
	}
}

func TestWhoDribblesABodyToTheRuntimeIsGivenUp(t *testing.T) {
	t.Parallel()
	s := withRuntime(t, sqldbtest.SQLite(t), false, func(c *gateway.Config) { c.WriteTimeout = 6 * time.Second })
	d := s.sit(t, "ada")
	head := func(path, more string) string {
		return "POST /v1/ada/personal/" + path + " HTTP/1.1\r\nHost: " + s.hosts[gateway.Agents] + "\r\nContent-Type: application/json\r\nContent-Length: 100\r\n" + more + "\r\n"
	}
	signed := "X-Hub-Signature-256: sha256=" + strings.Repeat("a", 64) + "\r\nX-GitHub-Event: push\r\nX-GitHub-Delivery: a\r\n"
	for name, c := range map[string]struct{ text, status string }{
		"a prompt":                    {head("agents/central/x", "Authorization: Bearer "+d.key+"\r\n"), "400"},
		"a webhook nobody has set":    {head("channels/github/events", signed), "401"},
		"a webhook without signature": {head("channels/github/events", ""), "401"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if text, ended := ends(s.dial(t, c.text), 30*time.Second); !ended || !strings.HasPrefix(text, "HTTP/1.1 "+c.status) {
				t.Errorf("ended %t, %.80q", ended, text)
			}
		})
	}
}

func TestWhatNoListGaveIsNoFailure(t *testing.T) {
	s := withRuntime(t, sqldbtest.Schema(t), false)
	cookie, _ := s.session(t, "ada@example.com")
	zero := base64.RawURLEncoding.EncodeToString([]byte(`{"s":"\u0000","r":"\u0000"}`))
	none := listing.Cursor(1, "\x00")
	for _, path := range []string{
		"/agents/central/conversations?cursor=" + listing.Cursor("\x00", "\x00", 1), "/runs?status=%00", "/runs?workflow=%00", "/runs?workflow=%ff", "/runs?cursor=" + zero, "/runs?cursor=%00",
		"/projects?q=%00", "/projects?cursor=" + none, "/people?cursor=" + none, "/teams?cursor=" + none, "/audit?cursor=%00", "/audit?action=%00",
		"/audit?actor=%ff", "/keys?cursor=%00", "/keys?q=%ff", "/keys?cursor=" + listing.Cursor("\x00"), "/secrets?cursor=" + none, "/storage?x=%00",
		"/agents/\xff/conversations", "/workflows/\xff", "/runs/\xff", "/people/\xff", "/teams/\xff", "/secrets/\xff", "/projects/\xff/files", "/projects/site/files/\xff",
	} {
		answer, body := s.sent(t, "GET /api/workspaces/ada/personal"+path+" HTTP/1.1\r\nHost: "+s.hosts[gateway.Agents]+"\r\nCookie: "+cookie+"\r\nConnection: close\r\n\r\n")
		if answer == nil || answer.StatusCode >= 500 {
			t.Errorf("%q: %v %s", path, answer, body)
		}
	}
}

func TestNobodyHasAnyNumberOfTransfers(t *testing.T) {
	s := quick(t, func(c *gateway.Config) { c.Streams, c.Rate, c.Burst = 2, 1e6, 1e6 })
	d := s.sit(t, "ada")
	first := s.dial(t, d.put("/a", "Content-Length: 20\r\n", "x"))
	s.dial(t, d.put("/b", "Content-Length: 20\r\n", "x"))
	d.waits(t, 40)
	for _, method := range []string{"PUT", "GET"} {
		if got := d.ask(method, "/projects/site/files/c", "x").wants(t, 429, "rate_limited"); !strings.Contains(got.body, `"streams"`) {
			t.Error(got.body)
		}
	}
	first.Close()
	d.waits(t, 20)
	for began := time.Now(); d.ask("PUT", "/projects/site/files/c", "x").StatusCode == 429; {
		if time.Since(began) > 20*time.Second {
			t.Fatal("who has gone holds an upload")
		}
	}
}

// waits waits until so many bytes are reserved.
func (d *desk) waits(t testing.TB, bytes int64) {
	t.Helper()
	var storage struct{ ReservedBytes int64 }
	eventually(t, fmt.Sprintf("%d bytes are reserved", bytes), func() bool {
		d.ask("GET", "/storage", nil).read(t, &storage)
		return storage.ReservedBytes == bytes
	})
}

func TestAFullWorkspaceCancelsItsRuns(t *testing.T) {
	s := withRuntime(t, sqldbtest.SQLite(t), false)
	cookie, _ := s.session(t, "ada@example.com")
	var run struct{ RunID string }
	at := func(path string, body any) call {
		return call{on: gateway.Agents, method: "POST", path: "/api/workspaces/ada/personal" + path, cookie: cookie, body: body}
	}
	s.do(t, at("/workflows/sample/run", map[string]any{"account": "", "accountId": "", "actor": "", "scope": "", "authority": ""})).wants(t, 202, "").read(t, &run)
	s.limit(t, "users/ada/personal", 1)
	var more reply
	eventually(t, "no more runs are taken", func() bool { // it is measured once a second
		more = s.do(t, at("/workflows/sample/run", map[string]any{}))
		return more.StatusCode == http.StatusInsufficientStorage
	})
	more.wants(t, 507, "storage_quota_exceeded")
	s.do(t, at("/runs/"+run.RunID+"/cancel", nil)).wants(t, 202, "")
}

func TestWhoIsRemovedGetsNoMoreOfAFile(t *testing.T) {
	s := quick(t, func(c *gateway.Config) { c.Recheck = 50 * time.Millisecond })
	d := s.sit(t, "ada")
	const size = 32 << 20
	d.ask("PUT", "/projects/site/files/long", strings.Repeat("x", size)).wants(t, 201, "")
	conn := s.dial(t, "GET "+d.path+"/projects/site/files/long HTTP/1.1\r\nHost: "+s.hosts[gateway.Agents]+"\r\nAuthorization: Bearer "+d.key+"\r\nConnection: close\r\n\r\n")
	begun := make([]byte, len("HTTP/1.1 200"))
	if _, err := io.ReadFull(conn, begun); err != nil || string(begun) != "HTTP/1.1 200" {
		t.Fatalf("%q %v", begun, err)
	}
	execute(t, s, "UPDATE api_keys SET revoked_at = 1")
	takes(100 * time.Millisecond)
	if text, ended := ends(conn, 10*time.Second); len(text) >= size {
		t.Errorf("ended %t with all of it", ended)
	}
}

func TestWhoIsRemovedFinishesNoUpload(t *testing.T) {
	s := quick(t, func(c *gateway.Config) { c.Recheck = 50 * time.Millisecond })
	d := s.sit(t, "ada")
	conn := s.dial(t, d.put("/late", "Content-Length: 20\r\n", "0123456789"))
	d.waits(t, 20)
	execute(t, s, "UPDATE api_keys SET revoked_at = 1")
	takes(200 * time.Millisecond)
	if _, err := io.WriteString(conn, "0123456789"); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || answer.StatusCode != 401 {
		t.Errorf("%v %v", answer, err)
	}
	if all := d.onDisk(); len(all) > 0 {
		t.Errorf("%v", all)
	}
}

func TestAWorkspaceFetchesFewRepositoriesAtOnce(t *testing.T) {
	s := quick(t)
	d := s.sit(t, "ada")
	let, asked := make(chan struct{}), make(chan struct{}, 100)
	open := sync.OnceFunc(func() { close(let) })
	defer open()
	s.followed.Token = func(context.Context, string, string, int64, string, string) (string, error) {
		asked <- struct{}{}
		<-let
		return "", nil
	}
	follow := func() int {
		return d.ask("PUT", "/projects/site/repository", map[string]any{"provider": "github", "owner": "octocat", "name": "hello-world", "installationId": 1}).StatusCode
	}
	var all sync.WaitGroup
	statuses := make(chan int, 20)
	for range 20 {
		all.Go(func() { statuses <- follow() })
	}
	for range 16 {
		select {
		case status := <-statuses:
			if status != 503 {
				t.Errorf("%d", status)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%d are fetched at once", len(asked))
		}
	}
	open()
	all.Wait()
	if len(asked) != 4 || follow() == 503 {
		t.Errorf("%d were fetched", len(asked))
	}
}

func TestDeliveriesThatStandStillTakeNoMoreThanTheirPlaces(t *testing.T) {
	t.Parallel()
	s := quick(t)
	head := "POST /api/auth/oauth/github/webhook HTTP/1.1\r\nHost: " + s.hosts[gateway.Platform] + "\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
	for range 32 {
		s.dial(t, head)
	}
	accounttest.Eventually(t, "all places are taken", func() bool { return !s.gateway.TakesDelivery("127.0.0.1", false) })
	if text, _ := ends(s.dial(t, head), 12*time.Second); !strings.HasPrefix(text, "HTTP/1.1 503") {
		t.Errorf("%.100q", text)
	}
}
