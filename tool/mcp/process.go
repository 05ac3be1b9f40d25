package mcp

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"syscall"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// process is a server that we started. It is a carrier.
type process struct {
	sdk.IOTransport
	cmd    *exec.Cmd
	grace  time.Duration
	exited chan struct{} // closed when it is gone and all that it said is read
}

func startProcess(c Config) (*process, error) {
	cmd := exec.Command(c.Command[0], c.Command[1:]...)
	cmd.Env = append(inherited(), c.Env...)
	cmd.Stderr = &lines{log: c.Log}
	// A grandchild may hold the pipes open for ever.
	cmd.WaitDelay = c.Grace
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, w := io.Pipe()
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, grace: c.Grace, exited: make(chan struct{})}
	p.Reader, p.Writer = out, in
	go func() {
		defer close(p.exited)
		err := cmd.Wait()
		c.Log.Debug("mcp process ended", "pid", cmd.Process.Pid, "err", err)
		_ = w.Close()
	}()
	return p, nil
}

// inherited is what a program needs of our environment to be found and to run, and nothing else.
func inherited() []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TMPDIR", "SYSTEMROOT"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

func (p *process) broken() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

func (p *process) denied() bool { return false }

// sever closes the pipes: whoever reads or writes them is told so.
func (p *process) sever() {
	_ = p.Writer.Close()
	_ = p.Reader.Close()
}

// end returns when the process is gone: by itself once its input is closed, else asked to, else killed.
func (p *process) end() error {
	p.sever()
	if p.gone(p.grace) || p.cmd.Process.Signal(syscall.SIGTERM) == nil && p.gone(p.grace) {
		return nil
	}
	err := p.cmd.Process.Kill()
	// Wait itself gives the pipes as long as the grace.
	if p.gone(2 * p.grace) {
		return nil
	}
	return fmt.Errorf("process %d does not end: %w", p.cmd.Process.Pid, err)
}

func (p *process) gone(within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
		return false
	}
}

// maxLine bounds what is kept of a line on standard error.
const maxLine = 4096

// lines logs what is written to it, line by line.
type lines struct {
	log  *slog.Logger
	rest []byte
}

func (l *lines) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		l.rest = append(l.rest, line[:min(len(line), maxLine-len(l.rest))]...)
		if line[len(line)-1] == '\n' {
			l.log.Debug("mcp process says", "line", string(bytes.TrimSpace(l.rest)))
			l.rest = l.rest[:0]
		}
	}
	return len(p), nil
}
