// Package child starts a test binary again as another process. The child finds its setup in the environment, tells its
// parent things on its standard output, a line of JSON each, and is asked on its standard input. It does not outlive its
// parent.
package child

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc.dev/svc/internal/notepad"
)

// variable holds the setup of a child, as JSON.
const variable = "SVC_TEST_CHILD"

// Main runs the tests of a package, or serve where this process is a child of them. It returns the exit code.
func Main(m interface{ Run() int }, serve func(setup []byte) error) int {
	setup := os.Getenv(variable)
	if setup == "" {
		return m.Run()
	}
	if err := serve([]byte(setup)); err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		return 1
	}
	return 0
}

// Process is the parent's handle on a child.
type Process struct {
	t      testing.TB
	cmd    *exec.Cmd
	stderr notepad.Pad
	ended  chan struct{}

	In    io.WriteCloser // the child's standard input
	Lines *json.Decoder  // the lines that it tells
}

// Start begins the test binary again. The child is killed when the test ends.
func Start(t testing.TB, setup any) *Process {
	t.Helper()
	text, err := json.Marshal(setup)
	if err != nil {
		t.Fatal(err)
	}
	p := &Process{t: t, ended: make(chan struct{}), cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), variable+"="+string(text), "GOTRACEBACK=single")
	p.cmd.Stderr = &p.stderr
	if p.In, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stdout, p.Lines = theirs, json.NewDecoder(out)
	err = Spawn(p.cmd, syscall.SIGKILL)
	theirs.Close()
	if err != nil {
		out.Close()
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.Kill()
		out.Close()
	})
	return p
}

// Hello reads the first line that the child tells; a child that tells none fails the test.
func (p *Process) Hello(first any) {
	p.t.Helper()
	if err := p.Lines.Decode(first); err != nil {
		p.Kill()
		p.t.Fatalf("child did not start: %v\n%s", err, p.Complaints())
	}
}

// Patience is how long a child may take to end.
const Patience = 60 * time.Second

// Signal sends a signal; a child that is gone ignores it.
func (p *Process) Signal(s os.Signal) { _ = p.cmd.Process.Signal(s) }

// Kill ends the child at this instant and returns when it is gone.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	p.Wait()
}

// Stop asks the child to end as an operator would, and returns when it has.
func (p *Process) Stop() {
	p.t.Helper()
	p.Signal(syscall.SIGTERM)
	p.Wait()
	if state := p.cmd.ProcessState; !state.Success() {
		p.t.Errorf("graceful stop: %v\n%s", state, p.Complaints())
	}
}

// Ended is closed when the child is gone.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Succeeded reports whether a child that is gone ended well.
func (p *Process) Succeeded() bool { return p.cmd.ProcessState.Success() }

// Wait returns when the child is gone; one that stays is killed, and fails the test.
func (p *Process) Wait() {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(Patience):
		p.Signal(syscall.SIGKILL)
		<-p.ended
		p.t.Errorf("process did not end in %v", Patience)
	}
}

// Complaints is the end of what the child wrote to its standard error.
func (p *Process) Complaints() string {
	text := p.stderr.String()
	if len(text) > 4000 {
		text = text[len(text)-4000:]
	}
	return strings.TrimSpace(text)
}
