package repository

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/project"
)

// maxToken is more than any token is long.
const maxToken = 4096

// remote is a repository at its provider and a folder, outside all projects, that git works in.
type remote struct {
	program string
	scratch *project.Scratch
	url     string
	branch  string
	token   string
}

// reach gets ready to ask a repository, with a token that the scope has a right to.
func (s *Repositories) reach(ctx context.Context, scope string, r project.Repository) (*remote, error) {
	if s.Token == nil {
		return nil, fault.New(fault.ProviderConnectionRequired, "There is no connection to the provider.", "Connect one first.")
	}
	program, err := exec.LookPath(s.Git)
	if err != nil {
		return nil, fault.New(fault.ProviderNotConfigured, "This server cannot fetch repositories.", "The program git is not installed on it.").Because(err)
	}
	host, err := url.Parse(s.Hosts[r.Provider])
	if err != nil || host.Host == "" || host.User != nil || (host.Scheme != "https" && host.Scheme != "http") {
		return nil, errors.New("address of the provider is not one of the web")
	}
	token, err := s.Token(ctx, r.Provider, scope, r.InstallationID, r.Owner, r.Name)
	if err != nil {
		return nil, err
	}
	if token == "" || len(token) > maxToken || strings.ContainsAny(token, "\r\n\x00") {
		return nil, unavailable("unauthorized", errors.New("the token is not one"))
	}
	scratch, err := s.Projects.Scratch()
	if err != nil {
		return nil, fmt.Errorf("make folder for git: %w", err)
	}
	return &remote{program, scratch, host.JoinPath(r.Owner, r.Name+".git").String(), r.Branch, token}, nil
}

// close deletes the folder; what cannot be deleted now is swept.
func (f *remote) close() { _ = f.scratch.Close() }

// command is git with these arguments; when ctx ends, it and all it has started are killed.
func (f *remote) command(ctx context.Context, far bool, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, f.program, args...)
	c.Dir = f.scratch.Path
	c.Env = f.environment(far)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error {
		if err := syscall.Kill(-c.Process.Pid, syscall.SIGKILL); !errors.Is(err, syscall.ESRCH) {
			return err
		}
		return os.ErrProcessDone
	}
	c.WaitDelay = 5 * time.Second
	return c
}

// trouble is a command of git that did not succeed.
type trouble struct {
	what string
	said string // on its standard error, cut and without the token and the address
	err  error
}

func (t *trouble) Error() string { return "git " + t.what + ": " + t.err.Error() + ": " + t.said }
func (t *trouble) Unwrap() error { return t.err }

// maxSaid is how much is kept of what git says.
const maxSaid = 4096

// run runs git and gives what it printed, of which there may be only so much.
func (f *remote) run(ctx context.Context, far bool, most int, args ...string) (string, error) {
	var out, said bounded
	out.left, said.left = most, maxSaid
	c := f.command(ctx, far, args...)
	c.Stdout, c.Stderr = &out, &said
	if err := c.Run(); err != nil {
		return "", f.trouble(ctx, args[0], said.String(), err)
	}
	return out.String(), nil
}

func (f *remote) trouble(ctx context.Context, what, said string, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	for _, secret := range []string{f.token, base64.StdEncoding.EncodeToString([]byte("x-access-token:" + f.token))} {
		said = strings.ReplaceAll(said, secret, "[redacted]")
	}
	// Its name is anybody's choice and must not pass for what git says.
	said = strings.ReplaceAll(said, f.url, "the repository")
	return &trouble{what, strings.TrimSpace(said), err}
}

// bounded keeps the first bytes that are written to it and drops the rest.
type bounded struct {
	bytes.Buffer
	left int
}

func (b *bounded) Write(data []byte) (int, error) {
	n := min(len(data), b.left)
	b.left -= n
	b.Buffer.Write(data[:n])
	return len(data), nil
}

// size is how many bytes lie in the folder.
func (f *remote) size() (total int64) {
	_ = filepath.WalkDir(f.scratch.Path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // deleted since it was listed
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		return nil
	})
	return total
}
