// Package flood besieges a running service, from processes of its own: its sign-in, and all that takes memory.
package flood

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// server is svc serve as a process.
type server struct {
	cmd     *exec.Cmd
	address string // host:port of the public listener
	origin  string
	agents  string // origin of the agents
	ops     string // host:port of operations
}

// workshop is where the binary is built.
var workshop string

// built is the binary, which is built once.
var built = sync.OnceValues(func() (binary string, err error) {
	if workshop, err = os.MkdirTemp("", "flood"); err != nil {
		return "", err
	}
	binary = filepath.Join(workshop, "svc")
	if out, err := exec.Command("go", "build", "-o", binary, "svc.dev/svc/cmd/svc").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return binary, nil
})

// start runs the binary on an empty folder until the test ends, with settings as NAME=value.
func start(t *testing.T, settings ...string) *server {
	t.Helper()
	dir := t.TempDir()
	binary, err := built()
	if err != nil {
		t.Fatal(err)
	}
	s := &server{address: free(t), ops: free(t)}
	_, port, err := net.SplitHostPort(s.address)
	if err != nil {
		t.Fatal(err)
	}
	s.origin, s.agents = "http://svc.localhost:"+port, "http://agents.svc.localhost:"+port
	s.cmd = exec.Command(binary, "serve", "--data", filepath.Join(dir, "data"), "--listen", s.address, "--ops-listen", s.ops, "--log-format", "json")
	s.cmd.Env = append(os.Environ(), settings...)
	out, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		_ = s.cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	var told strings.Builder
	for lines.Scan() {
		told.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), `"msg":"serving"`) {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return s
		}
	}
	t.Fatal("the service did not start: " + told.String())
	return nil
}

// free is an address that nobody listens on at this moment.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// memory is the most that the service has held, in MiB.
func (s *server) memory(t *testing.T) int { return s.status(t, "VmHWM:") }

// status is a line of what the kernel tells of the service, in MiB.
func (s *server) status(t *testing.T, line string) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for told := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(told, line); found {
			kib, _ := strconv.Atoi(strings.Fields(rest)[0])
			return kib >> 10
		}
	}
	t.Fatal("memory is not told")
	return 0
}

// visitor is a client at an address of its own, of which loopback has many.
type visitor struct {
	*http.Client
	server string
	origin string
}

func visit(address, origin, from string) visitor {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 20 * time.Second}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, address)
		},
		DisableKeepAlives: true,
	}
	return visitor{&http.Client{Transport: transport, Timeout: 60 * time.Second}, address, origin}
}

// from is one of 127/8, never 127.0.0.1.
func from(n int) string { return fmt.Sprintf("127.%d.%d.%d", 1+n>>16&127, n>>8&255, 1+n%250) }

// post sends JSON as a page of the platform does.
func (v visitor) post(path, cookie string, body any) (*http.Response, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequest(http.MethodPost, v.origin+path, strings.NewReader(string(text)))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Origin", v.origin)
	r.Header.Set("Content-Type", "application/json")
	if cookie != "" {
		r.Header.Set("Cookie", cookie)
	}
	answer, err := v.Do(r)
	if err != nil {
		return nil, err
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer, answer.Body.Close()
}

type credentials struct {
	Email    string `json:"email"`
	Password string `json:"password"`
}

const password = "a calm and long password"

// join signs somebody up and returns the cookie of the browser that did.
func (s *server) join(t *testing.T, n int) (email, device string) {
	t.Helper()
	email = fmt.Sprintf("known%d@example.com", n)
	answer, err := visit(s.address, s.origin, from(1<<20+n)).post("/api/auth/password/register", "", credentials{email, password})
	if err != nil || answer.StatusCode != http.StatusCreated {
		t.Fatalf("register: %v, %v", answer, err)
	}
	for _, c := range answer.Cookies() {
		if c.Name == "svc_device" {
			device = c.Name + "=" + c.Value
		}
	}
	return email, device
}
