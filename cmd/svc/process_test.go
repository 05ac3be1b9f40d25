package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"svc.dev/svc/service"
	"svc.dev/svc/service/servicetest"
)

// process is svc in a process of its own.
type process struct {
	service.Serving
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended

	mu  sync.Mutex
	log strings.Builder
}

// launch runs svc with settings of its environment until it serves, and ends it with the test.
func launch(t *testing.T, settings []string, args ...string) *process {
	t.Helper()
	return launchProgram(t, "svc", settings, args...)
}

// launchProgram is launch of another svc than this one.
func launchProgram(t *testing.T, program string, settings []string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(program, append(args, "--log-format", "json")...), done: make(chan struct{})}
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "SVC_") {
			p.cmd.Env = append(p.cmd.Env, variable)
		}
	}
	p.cmd.Env = append(p.cmd.Env, settings...)
	out, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	serving := make(chan service.Serving, 1)
	go func() {
		defer close(p.done)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.hear(lines.Text(), serving)
		}
		_ = p.cmd.Wait() // how it ended is for tests that ask
	}()
	t.Cleanup(p.kill)
	select {
	case p.Serving = <-serving:
	case <-p.done:
		t.Fatalf("svc %v ended: %s", args, p.said())
	case <-time.After(30 * time.Second):
		t.Fatalf("svc %v does not serve: %s", args, p.said())
	}
	return p
}

func (p *process) hear(line string, serving chan<- service.Serving) {
	p.mu.Lock()
	p.log.WriteString(line + "\n")
	p.mu.Unlock()
	var at struct {
		Msg string
		service.Serving
	}
	if json.Unmarshal([]byte(line), &at) == nil && at.Msg == "serving" {
		serving <- at.Serving
	}
}

func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// kill ends the process as a loss of power would.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended before
	<-p.done
}

// stop asks the process to end.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}

// freePort is a port that nobody listened on a moment ago.
func freePort(t *testing.T) string {
	t.Helper()
	return servicetest.Port(t)
}
