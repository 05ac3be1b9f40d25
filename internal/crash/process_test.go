package crash_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// errDied is the answer of a process that is gone, as a client knows it: a connection lost.
var errDied = errors.New("the process has died")

// process is the parent's handle on a node.
type process struct {
	t      testing.TB
	cmd    *exec.Cmd
	stderr bytes.Buffer
	active map[string][]json.RawMessage // events of the runs it found active
	open   map[string]*chat             // conversations it found with work in their queue
	ended  chan struct{}                // closed when the process is gone

	mu      sync.Mutex
	in      io.WriteCloser
	next    int
	waiting map[int]chan reply
	heard   func(*page) // told what readers at the node are shown
	gone    bool
}

func command(t testing.TB, s setup) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), nodeEnv+"="+string(text), "GOTRACEBACK=single")
	return cmd
}

// startDoomed starts a node that is killed so long after, wherever it stands then.
func startDoomed(t testing.TB, s setup, after time.Duration) {
	t.Helper()
	cmd := command(t, s)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(after)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// startProcess starts a node and returns when it is about to work. The test's end kills it.
func startProcess(t testing.TB, s setup) *process {
	t.Helper()
	p := &process{t: t, waiting: map[int]chan reply{}, ended: make(chan struct{}), cmd: command(t, s)}
	p.cmd.Stderr = &p.stderr
	var err error
	p.in, err = p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	lines := json.NewDecoder(out)
	var first reply
	if err := lines.Decode(&first); err != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		close(p.ended)
		t.Fatalf("node did not start: %v\n%s", err, p.stderr.String())
	}
	p.active, p.open = first.Active, first.Open
	go p.read(lines)
	return p
}

// read hands out answers until the process is gone.
func (p *process) read(lines *json.Decoder) {
	for {
		var r reply
		if lines.Decode(&r) != nil {
			break
		}
		p.mu.Lock()
		answer, heard := p.waiting[r.ID], p.heard
		delete(p.waiting, r.ID)
		p.mu.Unlock()
		if r.Page != nil {
			heard(r.Page)
			continue
		}
		answer <- r
	}
	_ = p.cmd.Wait()
	p.mu.Lock()
	p.gone = true
	for _, answer := range p.waiting {
		close(answer)
	}
	p.mu.Unlock()
	close(p.ended)
}

// patience bounds every wait of these tests.
const patience = 60 * time.Second

// ask sends a request and returns its answer; errDied if there will be none.
func (p *process) ask(r request) (reply, error) {
	answer, err := p.send(r)
	if err != nil {
		return reply{}, err
	}
	select {
	case got, ok := <-answer:
		if !ok {
			return reply{}, errDied
		}
		if got.Error != "" {
			return got, errors.New(got.Error)
		}
		return got, nil
	case <-time.After(patience):
		return reply{}, fmt.Errorf("no answer to %s %s %s in %v", r.Op, r.Workflow, r.RunID, patience)
	}
}

func (p *process) send(r request) (chan reply, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return nil, errDied
	}
	p.next++
	r.ID = p.next
	line := json.NewEncoder(p.in)
	line.SetEscapeHTML(false)
	answer := make(chan reply, 1)
	p.waiting[r.ID] = answer
	if err := line.Encode(r); err != nil {
		delete(p.waiting, r.ID)
		return nil, errDied
	}
	return answer, nil
}

// must is ask where the process has no reason to die.
func (p *process) must(r request) reply {
	p.t.Helper()
	got, err := p.ask(r)
	if err != nil {
		p.t.Fatalf("%s %s %s: %v\n%s", r.Op, r.Workflow, r.RunID, err, p.complaints())
	}
	return got
}

func (p *process) arm(t trap) { p.must(request{Op: "arm", Trap: t}) }

// kill ends the process at this instant and returns when it is gone.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	p.wait()
}

// stop asks the process to end as an operator would, and returns when it has.
func (p *process) stop() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	p.wait()
	if state := p.cmd.ProcessState; !state.Success() {
		p.t.Errorf("graceful stop: %v\n%s", state, p.complaints())
	}
}

func (p *process) signal(s os.Signal) { _ = p.cmd.Process.Signal(s) }

func (p *process) wait() {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		<-p.ended
		p.t.Errorf("process did not end in %v", patience)
	}
}

// complaints is the end of what the process had to say; it may be read once the process is gone.
func (p *process) complaints() string {
	select {
	case <-p.ended:
	default:
		return ""
	}
	text := p.stderr.String()
	if len(text) > 4000 {
		text = text[len(text)-4000:]
	}
	return strings.TrimSpace(text)
}
