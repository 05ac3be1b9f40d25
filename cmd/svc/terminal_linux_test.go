package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is one that a test sits at, and svc at its other end.
type terminal struct {
	cmd   *exec.Cmd
	hands *os.File // where the test types and looks
	other *os.File
	ended chan struct{} // closed when the program has

	mu    sync.Mutex
	shown bytes.Buffer
}

// openTerminal makes a terminal of 80 columns.
func openTerminal(t *testing.T) (hands, other *os.File) {
	t.Helper()
	hands, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminal can be made here: %v", err)
	}
	t.Cleanup(func() { hands.Close() })
	n, err := unix.IoctlGetInt(int(hands.Fd()), unix.TIOCGPTN)
	err = errors.Join(err, unix.IoctlSetPointerInt(int(hands.Fd()), unix.TIOCSPTLCK, 0),
		unix.IoctlSetWinsize(int(hands.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}))
	if err != nil {
		t.Fatal(err)
	}
	other, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close() })
	return hands, other
}

// sitDown starts svc at a terminal.
func sitDown(t *testing.T, env []string, args ...string) *terminal {
	t.Helper()
	return sitAt(t, env, "svc", args...)
}

// sitAt starts a program at a terminal.
func sitAt(t *testing.T, env []string, program string, args ...string) *terminal {
	t.Helper()
	hands, other := openTerminal(t)
	s := &terminal{hands: hands, other: other, cmd: exec.Command(program, args...), ended: make(chan struct{})}
	s.cmd.Env = append(withoutSettings(), append([]string{"TERM=xterm", "XDG_CONFIG_HOME=" + t.TempDir()}, env...)...)
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = other, other, other
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go s.look()
	go func() {
		defer close(s.ended)
		_ = s.cmd.Wait() // how it ended is for tests that ask
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill() // it may have ended before
		<-s.ended
	})
	return s
}

func (s *terminal) look() {
	var page [4096]byte
	for {
		n, err := s.hands.Read(page[:])
		s.mu.Lock()
		s.shown.Write(page[:n])
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// seen is what was shown so far.
func (s *terminal) seen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown.String()
}

func (s *terminal) types(t *testing.T, keys string) {
	t.Helper()
	if _, err := io.WriteString(s.hands, keys); err != nil {
		t.Fatal(err)
	}
}

// awaits waits until something is shown behind what was seen before.
func (s *terminal) awaits(t *testing.T, before int, text string) {
	t.Helper()
	if !eventually(func() bool { return strings.Contains(s.seen()[before:], text) }) {
		t.Fatalf("%q is not shown: %q", text, s.seen()[before:])
	}
}

// does types, and waits for what comes of it.
func (s *terminal) does(t *testing.T, keys, text string) {
	t.Helper()
	before := len(s.seen())
	s.types(t, keys)
	s.awaits(t, before, text)
}

// exits waits for the program's end, and looks at the terminal that it leaves behind.
func (s *terminal) exits(t *testing.T, code int) {
	t.Helper()
	select {
	case <-s.ended:
	case <-time.After(time.Minute):
		t.Fatalf("it does not end: %q", s.seen())
	}
	if got := s.cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("exits with %d, want %d: %q", got, code, s.seen())
	}
	state, err := unix.IoctlGetTermios(int(s.other.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	if state.Lflag&unix.ECHO == 0 || state.Lflag&unix.ICANON == 0 || state.Lflag&unix.ISIG == 0 {
		t.Errorf("the terminal is not as it was: %x", state.Lflag)
	}
}

const (
	prompt = "\x1b[1m› \x1b[0m"
	upKey  = "\x1b[A"
	ctrlC  = "\x03"
	ctrlD  = "\x04"
)

func TestChatAtATerminal(t *testing.T) {
	base := newContract(t)
	s := sitDown(t, nil, "chat", "assistant", "talk", "--base-url", base)
	s.awaits(t, 0, prompt)
	s.does(t, "n=3\r", "word0 word1 word2 \r\n"+prompt)
	s.does(t, upKey+"\r", "word0 word1 word2 \r\n"+prompt)
	s.does(t, "n=1"+upKey+"\x15"+"n=2\r", "word0 word1 \r\n"+prompt)
	// Ctrl-C stops the answer, and not the conversation.
	s.does(t, "n=100000 delay=10\r", "word5 ")
	s.does(t, ctrlC, "(stopped)\x1b[0m\r\n"+prompt)
	s.does(t, "n=1\r", "word0 \r\n"+prompt)
	// A pasted text is one message.
	s.does(t, "\x1b[200~n=1\nsecond line\x1b[201~\r", "word0 \r\n"+prompt)
	s.does(t, "fail\r", "the agent failed: ")
	s.does(t, "half a line"+ctrlC, "(Ctrl-C again leaves")
	s.does(t, ctrlC, "Go on with: svc chat assistant talk")
	s.exits(t, 0)
	if rest := s.seen()[strings.LastIndex(s.seen(), "Go on with"):]; strings.Contains(rest, "›") {
		t.Errorf("whoever has left is asked again: %q", rest)
	}

	// Whoever comes back sees what was said, and has it on the arrow keys.
	s = sitDown(t, []string{"NO_COLOR=1"}, "chat", "assistant", "talk", "--base-url", base)
	s.awaits(t, 0, "second line")
	s.awaits(t, 0, "› ")
	if strings.Contains(s.seen(), "\x1b[1m") || strings.Contains(s.seen(), "\x1b[2m") {
		t.Errorf("there are colours: %q", s.seen())
	}
	s.does(t, upKey+upKey, "n=1␤second line")
	s.does(t, "\x15"+ctrlD, "Go on with: ")
	s.exits(t, 0)
}

func TestToolsAndThoughtsAreShownAtATerminal(t *testing.T) {
	base := newContract(t)
	s := sitDown(t, nil, "chat", "tooluser", "talk", "--base-url", base)
	s.awaits(t, 0, prompt)
	s.does(t, "add\r", `• add {"a":2,"b":3}`)
	s.awaits(t, 0, "  = 5")
	s.awaits(t, 0, "\r\n5\r\n"+prompt)
	s.types(t, ctrlD)
	s.exits(t, 0)
	s = sitDown(t, nil, "agents", "send", "assistant", "thinks", "think n=1", "--base-url", base)
	s.awaits(t, 0, "\x1b[2m")
	s.awaits(t, 0, "word0")
	s.exits(t, 0)
}

func TestSecondCtrlCLeavesAnAnswer(t *testing.T) {
	s := sitDown(t, nil, "chat", "assistant", "talk", "--base-url", newContract(t))
	s.awaits(t, 0, prompt)
	s.does(t, "n=100000 delay=10\r", "word5 ")
	s.does(t, ctrlC+ctrlC, "Go on with: ")
	s.exits(t, 0)
}

func TestTerminalIsGivenBackToWhoeverEndsIt(t *testing.T) {
	base := newContract(t)
	for _, keys := range []string{"", "n=100000 delay=10\r"} {
		s := sitDown(t, nil, "chat", "assistant", "talk"+fmt.Sprint(len(keys)), "--base-url", base)
		s.awaits(t, 0, prompt)
		if keys != "" {
			s.does(t, keys, "word5 ")
		}
		if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		s.exits(t, 0)
	}
}

// TestTerminalObeysNoAgent shows what others wrote at a terminal: without what it would obey.
func TestTerminalObeysNoAgent(t *testing.T) {
	base := newContract(t)
	if out, err := exec.Command("svc", "agents", "send", "assistant", "talk", "n=1 \x1b]0;title\x07\x1b[2Jred", "--base-url", base).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for verb, args := range map[string][]string{"history": {"agents", "history"}, "tail": {"agents", "tail"}, "chat": {"chat"}} {
		s := sitDown(t, nil, append(args, "assistant", "talk", "--base-url", base)...)
		s.awaits(t, 0, "[2Jred")
		s.awaits(t, 0, "word0")
		switch verb {
		case "tail":
			s.types(t, ctrlC)
		case "chat":
			s.types(t, upKey+"\x15"+ctrlD) // what was asked comes back on the arrow keys, as clean
		}
		s.exits(t, 0)
		if strings.Contains(s.seen(), "\x1b]0") || strings.Contains(s.seen(), "\x1b[2J") {
			t.Errorf("%s: %q", verb, s.seen())
		}
	}
}

func TestProgressIsShownAtATerminalAlone(t *testing.T) {
	p := launch(t, []string{"SVC_LISTEN=127.0.0.1:" + freePort(t), "SVC_OPS_LISTEN=127.0.0.1:0"}, "serve", "--data", filepath.Join(t.TempDir(), "data"))
	ada := signUp(t, p.Serving, "ada", "projects:read", "projects:write")
	key := http.Header{"Authorization": {"Bearer " + ada.key}}
	if res := send(t, "POST", strings.Replace(ada.base, "/v1/", "/api/workspaces/", 1)+"/projects", key, `{"slug":"docs"}`); res.status != 201 {
		t.Fatalf("project: %d %s", res.status, res.body)
	}
	folder := t.TempDir()
	for i := range 40 {
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("f%02d", i)), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, filepath.Join(folder, "f00"), "\x1b]0;title\x07\x1b[2Jplain €\n")
	env := []string{"SVC_API_KEY=" + ada.key}
	s := sitDown(t, env, "projects", "sync", folder, "docs", "--base-url", ada.base)
	s.awaits(t, 0, "put f39\r\n")
	s.awaits(t, 0, "40 changed, 0 unchanged\r\n")
	s.exits(t, 0)
	if !strings.Contains(s.seen(), " of 40: f") || !strings.Contains(s.seen(), "\r\x1b[K") {
		t.Errorf("nothing says how far it is: %q", s.seen())
	}
	got := filepath.Join(folder, "got")
	s = sitDown(t, env, "projects", "get", "docs/f00", got, "--base-url", ada.base)
	s.exits(t, 0)
	// A file has all of it, and a terminal what it would not obey.
	s = sitDown(t, env, "projects", "get", "docs/f00", "--base-url", ada.base)
	s.awaits(t, 0, "plain €")
	s.exits(t, 0)
	if kept, err := os.ReadFile(got); err != nil || !strings.Contains(string(kept), "\x1b[2J") || strings.Contains(s.seen(), "\x1b") {
		t.Errorf("%q %v, and the terminal shows %q", kept, err, s.seen())
	}
}

// TestCtrlCWhileALineIsOnItsWay holds back the answer to a prompt that is admitted already: the agent is stopped all the same, and what was given up
// and is typed again is the same prompt.
func TestCtrlCWhileALineIsOnItsWay(t *testing.T) {
	at, err := url.Parse(newContract(t))
	if err != nil {
		t.Fatal(err)
	}
	contract := httputil.NewSingleHostReverseProxy(at)
	contract.FlushInterval = -1
	var holding atomic.Bool
	var mu sync.Mutex
	var keys []string
	held, release := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || strings.HasSuffix(r.URL.Path, "/abort") {
			contract.ServeHTTP(w, r)
			return
		}
		mu.Lock()
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		mu.Unlock()
		answer := httptest.NewRecorder()
		contract.ServeHTTP(answer, r)
		if holding.Load() {
			held <- struct{}{}
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	}))
	t.Cleanup(server.Close)
	s := sitDown(t, nil, "chat", "assistant", "talk", "--base-url", server.URL)
	s.awaits(t, 0, prompt)
	holding.Store(true)
	s.types(t, "n=100000 delay=10\r")
	<-held
	before := len(s.seen())
	s.types(t, ctrlC)
	release <- struct{}{}
	s.awaits(t, before, "(stopped)")
	before = len(s.seen())
	s.types(t, "n=3\r")
	<-held
	s.types(t, ctrlC+ctrlC)
	s.awaits(t, before, "interrupted")
	holding.Store(false)
	s.does(t, upKey+"\r", "word0 word1 word2")
	s.does(t, "n=3\r", "word0 word1 word2")
	s.types(t, ctrlD)
	s.exits(t, 0)
	if len(keys) != 4 || keys[0] == keys[1] || keys[1] != keys[2] || keys[2] == keys[3] {
		t.Errorf("the keys are %q", keys)
	}
}
