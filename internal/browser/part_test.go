package browser

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// part is a process of a service: all of it, its gateway or its runtime.
type part struct {
	serving
	args   []string
	env    []string // its settings
	binary string
	listen string // where it is to listen; from its first start on, where it was
	cmd    *exec.Cmd
	ended  chan struct{} // closed when it has said its last word; nil: it does not run
	mu     sync.Mutex
	log    strings.Builder
}

// serving is what a part says when it serves.
type serving struct {
	Address   string `json:"address"`
	Platform  string `json:"platform"`
	Agents    string `json:"agents"`
	Admin     string `json:"admin"`
	SetupLink string `json:"setup_link"`
}

// newPart is a part that has not begun. Each setting is a variable of its environment.
func newPart(settings []string, args ...string) *part {
	p := &part{args: append(args, "--ops-listen", "127.0.0.1:0", "--log-format", "json"), binary: studio.binary, listen: "127.0.0.1:0"}
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "SVC_") {
			p.env = append(p.env, variable)
		}
	}
	p.env = append(p.env, settings...)
	return p
}

// start runs the part, and returns when it serves.
func (p *part) start() error {
	p.cmd = exec.Command(p.binary, p.args...)
	p.cmd.Env = append(p.env, "SVC_LISTEN="+p.listen)
	out, err := p.cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	begun, ended := make(chan serving, 1), make(chan struct{})
	go func() {
		defer close(ended)
		p.hear(out, begun)
	}()
	select {
	case p.serving = <-begun:
		p.ended = ended
		return nil
	case <-ended:
		return fmt.Errorf("svc %s did not start:\n%s", p.args[0], p.said())
	case <-time.After(30 * time.Second):
		_ = p.cmd.Process.Kill()
		return fmt.Errorf("svc %s does not start:\n%s", p.args[0], p.said())
	}
}

// hear keeps what the part says, and tells when it has begun.
func (p *part) hear(out io.Reader, begun chan<- serving) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		p.mu.Lock()
		fmt.Fprintln(&p.log, lines.Text())
		p.mu.Unlock()
		var said struct {
			Msg string
			serving
		}
		if json.Unmarshal(lines.Bytes(), &said) == nil && said.Msg == "serving" {
			begun <- said.serving
		}
	}
}

func (p *part) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// kill ends the part without a word of warning.
func (p *part) kill() error {
	if err := p.cmd.Process.Kill(); err != nil {
		return err
	}
	_ = p.wait() // killed, as was wanted
	return nil
}

// stop has the part end its work, and says how that went.
func (p *part) stop() error {
	if p.ended == nil {
		return nil
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	return p.wait()
}

func (p *part) wait() error {
	<-p.ended
	p.ended = nil
	return p.cmd.Wait()
}

// dismiss ends the part with its test. Whatever a browser does, a service has no reason to complain of itself.
func (p *part) dismiss(t *testing.T) {
	if err := p.stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	if said := p.said(); t.Failed() || complains(said) {
		t.Errorf("svc %s said:\n%s", p.args[0], said)
	}
}

// expected are what a script brings about: a model that fails, a runtime that is dead, and a project that is broken. A browser is told of
// each, which is judged there.
var expected = []string{`"msg":"submission failed"`, `"msg":"runtime does not answer"`, `"msg":"build failed"`}

// complains reports whether a part found something wrong with itself.
func complains(said string) bool {
	for line := range strings.Lines(said) {
		wanted := slices.ContainsFunc(expected, func(text string) bool { return strings.Contains(line, text) })
		if strings.Contains(line, `"level":"ERROR"`) && !wanted {
			return true
		}
	}
	return false
}
