package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/service/gateway"
)

// put is a request for a file, as it goes over the wire.
func (d *desk) put(path, head, body string) string {
	return "PUT " + d.path + "/projects/site/files" + path + " HTTP/1.1\r\nHost: " + d.hosts[gateway.Agents] + "\r\nAuthorization: Bearer " + d.key + "\r\nConnection: close\r\n" + head + "\r\n" + body
}

// onDisk are the files of all projects, by their paths below the folder of files.
func (d *desk) onDisk() (all []string) {
	d.t.Helper()
	root := d.files.Root
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			short, _ := filepath.Rel(root, path)
			all = append(all, short)
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		d.t.Fatal(err)
	}
	return all
}

func TestAPathOfAFileIsDecodedOnceAndLeadsNowhereElse(t *testing.T) {
	s := quick(t, func(c *gateway.Config) { c.Burst = 1000 })
	d := s.sit(t, "ada")
	long := strings.Repeat("x", 255)
	for _, c := range []struct{ path, file string }{ // without a file it is refused
		{"/..", ""}, {"/../x", ""}, {"/a/../x", ""}, {"/a/..", ""}, {"/.", ""}, {"/a/./x", ""},
		{"/%2e%2e", ""}, {"/%2e%2e/x", ""}, {"/a/%2E%2e/x", ""}, {"/%2e", ""}, {"/.%2e/.%2e/x", ""},
		{"/a%2fx", ""}, {"/..%2fx", ""}, {"/a%2Fx", ""}, {"/%2fetc%2fpasswd", ""},
		{`/a\x`, ""}, {`/..\x`, ""}, {"/a%5cx", ""}, {"/..%5cx", ""},
		{"/a%00", ""}, {"/a%00.md", ""}, {"/a%0ax", ""}, {"/a%7f", ""}, {"/%c2%85", ""}, {"/%ff", ""}, {"/%c0%ae%c0%ae/x", ""},
		{"/%", ""}, {"/%2", ""}, {"/%zz", ""}, {"//x", ""}, {"/a//x", ""}, {"/a/", ""}, {"/", ""},
		{"/" + long + "x", ""}, {"/" + strings.Repeat("%c3%a4", 128), ""}, {"/.svc-1", "?"}, {"/" + strings.Repeat("d/", 300) + "x", ""},
		{"/100%25.md", "100%.md"}, {"/%252e%252e", "%2e%2e"}, {"/d/%252e%252e/x", "d/%2e%2e/x"}, {"/%252fx", "%2fx"},
		{"/" + long, long}, {"/" + strings.Repeat("%c3%a4", 127), strings.Repeat("ä", 127)}, {"/a;b", "a;b"}, {"/a%3fb", "a?b"}, {"/a%23b", "a#b"}, {"/...", "..."}, {"/..x", "..x"},
		{"/a+b", "a+b"}, {"/a%20b", "a b"}, {"/~x", "~x"}, {"/.git/config", ".git/config"},
	} {
		answer, body := s.sent(t, d.put(c.path, "Content-Length: 1\r\n", "x"))
		if answer == nil {
			t.Fatalf("%s: no answer", c.path)
		}
		switch {
		case c.file == "?": // either is good, as long as it stays there
		case c.file == "" && (answer.StatusCode != 400 && answer.StatusCode != 404):
			t.Errorf("%.80s: %d %s", c.path, answer.StatusCode, body)
		case c.file != "" && answer.StatusCode != 201:
			t.Errorf("%.80s: %d %s", c.path, answer.StatusCode, body)
		case c.file != "":
			if got, err := os.ReadFile(filepath.Join(d.files.Root, "ada/personal/projects/site", c.file)); err != nil || string(got) != "x" {
				t.Errorf("%.80s: %q %v", c.path, got, err)
			}
		}
	}
	for _, path := range d.onDisk() {
		if !strings.HasPrefix(path, "ada/personal/projects/site/") {
			t.Errorf("%s is elsewhere", path)
		}
	}
	for _, path := range []string{d.path + "/projects/s%69te/files/x", d.path + "/projects/site;x/files/x", d.path + "/projects/%2e%2e/files/x", d.path + "/projects/site/fil%65s/x", "/api/workspaces/%61da/personal/projects/site/files/x"} {
		s.do(t, call{on: gateway.Agents, path: path, header: by(d.key)}).wants(t, 400, "invalid_path")
	}
}

func TestAnUploadThatLiesAboutItsLengthLeavesNothing(t *testing.T) {
	s := quick(t, func(c *gateway.Config) { c.WriteTimeout = time.Second })
	s.files.MaxFile = 1000
	d := s.sit(t, "ada")
	chunk := func(n int) string { return fmt.Sprintf("%x\r\n%s\r\n", n, strings.Repeat("x", n)) }
	for name, c := range map[string]struct {
		head, body string
		status     int // 0: the connection may be closed without a word
	}{
		"shorter than said":    {"Content-Length: 100\r\n", "x", 400},
		"larger than allowed":  {"Content-Length: 1001\r\n", "", 413},
		"enormous":             {"Content-Length: 9223372036854775807\r\n", "", 413},
		"beyond numbers":       {"Content-Length: 9223372036854775808\r\n", "", 400},
		"negative":             {"Content-Length: -1\r\n", "", 400},
		"two lengths":          {"Content-Length: 1\r\nContent-Length: 2\r\n", "xx", 400},
		"chunks without end":   {"Transfer-Encoding: chunked\r\n", chunk(100), 400},
		"too many chunks":      {"Transfer-Encoding: chunked\r\n", strings.Repeat(chunk(100), 11) + "0\r\n\r\n", 413},
		"encoded":              {"Content-Length: 1\r\nContent-Encoding: gzip\r\n", "x", 415},
		"a part":               {"Content-Length: 1\r\nContent-Range: bytes 0-0/2\r\n", "x", 400},
		"as many as allowed":   {"Content-Length: 1000\r\n", strings.Repeat("x", 1000), 201},
		"as many, in chunks":   {"Transfer-Encoding: chunked\r\n", strings.Repeat(chunk(100), 10) + "0\r\n\r\n", 201},
		"nothing":              {"Content-Length: 0\r\n", "", 201},
		"nothing, not even so": {"", "", 201},
	} {
		answer, body := s.sent(t, d.put("/"+strings.ReplaceAll(strings.ReplaceAll(name, " ", "-"), ",", ""), c.head, c.body))
		if answer == nil || answer.StatusCode != c.status {
			t.Errorf("%s: %v %s", name, answer, body)
		}
	}
	if all := d.onDisk(); len(all) != 4 {
		t.Errorf("%v", all)
	}
	if drift, err := s.files.Recount(t.Context(), "users/ada/personal"); err != nil || !drift.None() {
		t.Errorf("%+v %v", drift, err)
	}
}

// TestASlowUploadIsTakenAsLongAsItComes sends a file for longer than one step may take, and one that stands still.
func TestASlowUploadIsTakenAsLongAsItComes(t *testing.T) {
	t.Parallel()
	s := quick(t, func(c *gateway.Config) { c.WriteTimeout = 2 * time.Second })
	d := s.sit(t, "ada")
	conn, err := net.Dial("tcp", s.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, d.put("/slow", "Content-Length: 20\r\n", ""))
	for range 20 {
		takes(150 * time.Millisecond)
		if _, err := io.WriteString(conn, "x"); err != nil {
			t.Fatal(err)
		}
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || answer.StatusCode != 201 {
		t.Fatalf("%v %v", answer, err)
	}
	answer.Body.Close()
	began := time.Now()
	if answer, body := s.sent(t, d.put("/still", "Content-Length: 20\r\n", "x")); answer == nil || answer.StatusCode != 400 || time.Since(began) > 20*time.Second {
		t.Errorf("%v %s after %v", answer, body, time.Since(began))
	}
	d.ask("GET", "/projects/site/files/still", nil).wants(t, 404, "item_not_found")
}
