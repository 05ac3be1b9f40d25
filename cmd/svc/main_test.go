package main

import (
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

	"github.com/rogpeppe/go-internal/testscript"

	"svc.dev/svc/service"
	"svc.dev/svc/service/config"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"svc": main, "svc-alone": beAlone, "svc-later": beLater, "svc-stuck": beStuck})
}

func TestCommands(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serve": startServer, "signal": signalServer, "exited": awaitServer, "get": get, "hang": hang, "logged": logged,
		},
	})
}

// serverProcess is the one server of a script. Its log lies in serve.log.
type serverProcess struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// servers finds the process of a script; scripts run side by side.
var servers sync.Map

func server(ts *testscript.TestScript) *serverProcess {
	p, ok := servers.Load(ts)
	if !ok {
		ts.Fatalf("no server was started")
	}
	return p.(*serverProcess)
}

// startServer is "serve ARGS…": it runs svc serve on free ports in the background, and sets ADDRESS, PLATFORM, OPERATIONS
// and PID.
func startServer(ts *testscript.TestScript, _ bool, args []string) {
	log, err := os.OpenFile(ts.MkAbs("serve.log"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	ts.Check(err)
	defer log.Close()
	path, err := exec.LookPath("svc")
	ts.Check(err)
	cmd := exec.Command(path, append([]string{"serve", "--listen=127.0.0.1:0", "--ops-listen=127.0.0.1:0"}, args...)...)
	cmd.Dir, cmd.Stderr = ts.MkAbs("."), log
	cmd.Env = append(os.Environ(), configEnv+"="+ts.Getenv(configEnv))
	for _, s := range new(config.Config).Settings() {
		cmd.Env = append(cmd.Env, s.Env+"="+ts.Getenv(s.Env))
		if name := s.FileEnv(); name != "" {
			cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
		}
	}
	ts.Check(cmd.Start())
	p := &serverProcess{cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		_ = cmd.Wait() // its state is read by awaitServer
	}()
	ts.Defer(func() {
		_ = cmd.Process.Kill() // it may have ended before
		<-p.done
	})
	servers.Store(ts, p)
	at := awaitServing(ts, p)
	ts.Setenv("ADDRESS", at.Address)
	ts.Setenv("PLATFORM", at.Platform)
	ts.Setenv("OPERATIONS", at.Operations)
	ts.Setenv("PID", strconv.Itoa(cmd.Process.Pid))
}

// awaitServing reads the log until it says where the server is found.
func awaitServing(ts *testscript.TestScript, p *serverProcess) service.Serving {
	for range 6000 {
		for line := range strings.Lines(ts.ReadFile("serve.log")) {
			var at struct {
				Msg string
				service.Serving
			}
			if json.Unmarshal([]byte(line), &at) == nil && at.Msg == "serving" {
				return at.Serving
			}
		}
		select {
		case <-p.done:
			ts.Fatalf("the server ended: %s", ts.ReadFile("serve.log"))
		case <-time.After(10 * time.Millisecond):
		}
	}
	ts.Fatalf("the server does not serve: %s", ts.ReadFile("serve.log"))
	return service.Serving{}
}

// signalServer is "signal TERM", "signal INT", "signal HUP" or "signal KILL".
func signalServer(ts *testscript.TestScript, _ bool, args []string) {
	named := map[string]os.Signal{"TERM": syscall.SIGTERM, "INT": os.Interrupt, "HUP": syscall.SIGHUP, "KILL": os.Kill}
	ts.Check(server(ts).cmd.Process.Signal(named[args[0]]))
}

// awaitServer is "exited CODE": it waits for the server's end.
func awaitServer(ts *testscript.TestScript, _ bool, args []string) {
	p := server(ts)
	select {
	case <-p.done:
	case <-time.After(time.Minute):
		ts.Fatalf("the server does not end: %s", ts.ReadFile("serve.log"))
	}
	if code := strconv.Itoa(p.cmd.ProcessState.ExitCode()); code != args[0] {
		ts.Fatalf("the server exited with %s: %s", code, ts.ReadFile("serve.log"))
	}
}

// logged is "logged TEXT": it waits until the server's log says so.
func logged(ts *testscript.TestScript, _ bool, args []string) {
	if !eventually(func() bool { return strings.Contains(ts.ReadFile("serve.log"), args[0]) }) {
		ts.Fatalf("the log does not say %q: %s", args[0], ts.ReadFile("serve.log"))
	}
}

// eventually asks until something is true, and reports false when it takes too long.
func eventually(ok func() bool) bool {
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// takes is what takes its time in a scene. Nothing is waited for.
func takes(d time.Duration) { time.Sleep(d) }

// client finds *.localhost on this machine, as browsers do.
var client = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
	if host, port, _ := net.SplitHostPort(address); strings.HasSuffix(host, ".localhost") {
		address = net.JoinHostPort("127.0.0.1", port)
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}}}

// get is "get STATUS URL": it asks until it gets that status, and leaves the answer in the file answer.
func get(ts *testscript.TestScript, _ bool, args []string) {
	var got string
	found := eventually(func() bool {
		res, err := client.Get(args[1])
		ts.Check(err)
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		ts.Check(err)
		got = fmt.Sprintf("%s\n%v\n%s", res.Status, res.Header, body)
		return strconv.Itoa(res.StatusCode) == args[0]
	})
	if !found {
		ts.Fatalf("GET %s: %s", args[1], got)
	}
	ts.Check(os.WriteFile(ts.MkAbs("answer"), []byte(got), 0o600))
}

// hang is "hang URL": it opens a request and does not end it, so that a graceful stop takes its time.
func hang(ts *testscript.TestScript, _ bool, args []string) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(args[0], "http://"))
	ts.Check(err)
	ts.Defer(func() { conn.Close() })
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n")
	ts.Check(err)
	// The server has taken the connection when it answers on a later one.
	get(ts, false, []string{"421", args[0]})
}
