package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"time"
)

// Usage is what a process has used so far, and what it holds.
type Usage struct {
	CPU        time.Duration `json:"cpu"` // user and system
	RSS        int64         `json:"rss"`
	HighWater  int64         `json:"highWater"` // of RSS
	Written    int64         `json:"written"`   // bytes on their way to the disk
	Goroutines int           `json:"goroutines"`
}

// Process is this binary at work in another role. It speaks in lines of JSON on its output, and ends when its input does.
type Process struct {
	role  string
	cmd   *exec.Cmd
	input io.Closer
	lines *bufio.Reader
}

// stopTimeout is how long a process may take to end by itself.
const stopTimeout = 15 * time.Second

// start runs a role; its process ends with ctx.
func (b *Bench) start(ctx context.Context, role string, args ...string) (*Process, error) {
	return startCommand(ctx, role, append([]string{b.self, role}, args...))
}

// startCommand runs a role as the end of a command: of this binary, or of one that watches it.
func startCommand(ctx context.Context, role string, command []string) (*Process, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = endsWithUs()
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", role, err)
	}
	return &Process{role: role, cmd: cmd, input: input, lines: bufio.NewReader(output)}, nil
}

// hear waits for the next line.
func (p *Process) hear(v any) error {
	line, err := p.lines.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("%s ended early: %w", p.role, err)
	}
	return json.Unmarshal(line, v)
}

// stop ends the process: kindly first, for a while.
func (p *Process) stop() error {
	p.input.Close()
	late := time.AfterFunc(stopTimeout, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w", p.role, err)
	}
	return nil
}

// say writes one line for whoever started this process.
func say(v any) error { return json.NewEncoder(os.Stdout).Encode(v) }

// untilInputEnds gives a context that ends when whoever started this process closes its input, or is gone.
func untilInputEnds(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	return ctx, cancel
}

// Addresses is where a server is found: what is measured, and the control beside it.
type Addresses struct {
	Served  string `json:"served"` // host and port
	Control string `json:"control"`
}

// Server is a process that is measured.
type Server struct {
	*Process
	Addresses
}

func (b *Bench) startServer(ctx context.Context, role string, args ...string) (*Server, error) {
	p, err := b.start(ctx, role, args...)
	if err != nil {
		return nil, err
	}
	return newServer(p)
}

// newServer waits until a process says where it serves.
func newServer(p *Process) (*Server, error) {
	s := &Server{Process: p}
	if err := p.hear(&s.Addresses); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return s, nil
}

// withServer runs fn against a bench server on a fresh database, and ends both.
func (b *Bench) withServer(ctx context.Context, d Database, fn func(*Server) error) (err error) {
	address, drop, err := d.make(ctx)
	if err != nil {
		return err
	}
	defer drop()
	return b.withServerOn(ctx, address, fn)
}

// withServerOn runs fn against a bench server on a database that is there already, and ends the server.
func (b *Bench) withServerOn(ctx context.Context, address string, fn func(*Server) error) (err error) {
	s, err := b.startServer(ctx, "server", "-db", address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	return fn(s)
}

// control asks the control of a server; the answer goes to v, unless that is nil.
func control(ctx context.Context, address, path string, v any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+path, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		return fmt.Errorf("control %s: %s: %s", path, resp.Status, text)
	}
	if v == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(v)
}

// spent is what a server used while something was done to it. Its CPU profile goes to a file, if one is named.
func spent(ctx context.Context, address, profile string, do func() error) (before, after Usage, err error) {
	if profile != "" {
		if err := control(ctx, address, "/profile?to="+url.QueryEscape(profile), nil); err != nil {
			return before, after, err
		}
		defer func() { err = errors.Join(err, control(ctx, address, "/profiled", nil)) }()
	}
	if err := control(ctx, address, "/usage", &before); err != nil {
		return before, after, err
	}
	if err := do(); err != nil {
		return before, after, err
	}
	err = control(ctx, address, "/usage", &after)
	return before, after, err
}
