// Package cluster runs a PostgreSQL of a test's own, which may be killed, restarted, starved and made to speak another
// language.
package cluster

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"svc.dev/svc/internal/child"
	"svc.dev/svc/internal/outage/loopback"
)

// Options are how a server is set up. The zero value is a roomy one.
type Options struct {
	// Settings are those of postgresql.conf.
	Settings map[string]string
	// German makes the server say what it says in German, where that can be.
	German bool
}

// Cluster is a PostgreSQL server and its data, in a folder of its own.
type Cluster struct {
	bin    string
	folder string // made by us, and removed in the end
	port   *loopback.Port
	env    []string
	run    *syscall.Credential // nil: as we are

	mu     sync.Mutex
	server *exec.Cmd
	ended  chan struct{}
}

// ErrMissing says that a server cannot be run here, ErrNoGerman that it cannot speak German.
var (
	ErrMissing  = errors.New("PostgreSQL's programs are missing")
	ErrNoGerman = errors.New("no German locale can be made")
)

// Start makes a cluster and starts it; both end with the test. Where PostgreSQL's programs are missing the test is skipped,
// and fails when CI=true. Where only the language is missing it is skipped.
func Start(t testing.TB, o Options) *Cluster {
	t.Helper()
	c, err := New(o)
	Need(t, err)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// Need ends the test if a cluster could not be made: it is skipped where a program or the language is missing, and fails else,
// with CI=true also where a program is.
func Need(t testing.TB, err error) {
	t.Helper()
	missing := errors.Is(err, ErrMissing)
	switch {
	case err == nil:
	case missing && os.Getenv("CI") == "true":
		t.Fatalf("a PostgreSQL of the test's own is needed when CI=true: %v", err)
	case missing:
		t.Skipf("no PostgreSQL of the test's own: %v", err)
	case errors.Is(err, ErrNoGerman):
		t.Skip(err)
	default:
		t.Fatal(err)
	}
}

// New makes a cluster and starts it. Close must follow.
func New(o Options) (*Cluster, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	c := &Cluster{bin: bin}
	if err := c.create(o); err != nil {
		return nil, errors.Join(fmt.Errorf("make cluster: %w", err), c.Close())
	}
	if err := c.Start(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// programs finds the folder of initdb and postgres: on the PATH, or the newest where Debian keeps them.
func programs() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path), nil
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return "", fmt.Errorf("%w: no initdb", ErrMissing)
	}
	return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })), nil
}

func version(path string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
	return n
}

func (c *Cluster) create(o Options) (err error) {
	sweep()
	if c.folder, err = os.MkdirTemp("", fmt.Sprintf("%s%d-", prefix, os.Getpid())); err != nil {
		return err
	}
	if c.run, err = unprivileged(); err != nil {
		return err
	}
	if c.run != nil {
		if err := os.Chown(c.folder, int(c.run.Uid), int(c.run.Gid)); err != nil {
			return err
		}
	}
	if o.German {
		if err := c.learnGerman(); err != nil {
			return err
		}
	}
	if c.port, err = loopback.Reserve(); err != nil {
		return err
	}
	if err := c.command("initdb", "-D", c.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync").Run(); err != nil {
		return fmt.Errorf("initdb: %w", err)
	}
	return c.configure(o)
}

// prefix begins the names of folders; the id of the process that made them follows.
const prefix = "svc-cluster-"

// sweep removes the folders of processes that were killed before they could.
func sweep() {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*"))
	for _, path := range left {
		id, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(path), prefix), "-")
		if pid, err := strconv.Atoi(id); err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.RemoveAll(path)
		}
	}
}

// unprivileged is whom the server runs as where we are root, which it refuses.
func unprivileged() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, _ := strconv.ParseUint(u.Uid, 10, 32)
		gid, _ := strconv.ParseUint(u.Gid, 10, 32)
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, fmt.Errorf("%w: root may not run the server, and there is nobody else", ErrMissing)
}

func (c *Cluster) data() string { return filepath.Join(c.folder, "data") }

func (c *Cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.bin, name), args...)
	cmd.Dir = c.folder
	cmd.Env = append(append(os.Environ(), "LC_ALL=C", "TZ=UTC"), c.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.run}
	return cmd
}

// learnGerman compiles the locale that the server needs to find its own translations.
func (c *Cluster) learnGerman() error {
	locales := filepath.Join(c.folder, "locales")
	if err := os.Mkdir(locales, 0o755); err != nil {
		return err
	}
	if out, err := exec.Command("localedef", "-i", "de_DE", "-f", "UTF-8", filepath.Join(locales, "de_DE.UTF-8")).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: localedef: %w %s", ErrNoGerman, err, bytes.TrimSpace(out))
	}
	c.env = []string{"LOCPATH=" + locales, "LC_ALL=", "LC_MESSAGES=de_DE.UTF-8"}
	return nil
}

// configure writes the settings. The kernel keeps what it was given when every process of the server dies, so fsync would
// only cost time.
func (c *Cluster) configure(o Options) error {
	var text strings.Builder
	fmt.Fprintf(&text, "listen_addresses = '127.0.0.1'\nport = %d\nunix_socket_directories = ''\n", c.port.Number)
	fmt.Fprintf(&text, "fsync = off\nmax_connections = 300\nshared_buffers = 32MB\nrestart_after_crash = on\nlog_min_messages = fatal\n")
	if o.German {
		fmt.Fprintln(&text, "lc_messages = 'de_DE.UTF-8'")
	}
	for name, value := range o.Settings {
		fmt.Fprintf(&text, "%s = %s\n", name, value)
	}
	f, err := os.OpenFile(filepath.Join(c.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text.String())
	return errors.Join(err, f.Close())
}

// patience is how long a server may take to start or to end.
const patience = 30 * time.Second

// Start starts the server and returns when it answers.
func (c *Cluster) Start() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server != nil {
		return errors.New("the server runs already")
	}
	log, err := os.OpenFile(filepath.Join(c.folder, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	server := c.command("postgres", "-D", c.data())
	server.Stdout, server.Stderr = log, log
	// Killed with us, the server would leave its children; told to quit it ends them.
	if err := child.Spawn(server, syscall.SIGQUIT); err != nil {
		return fmt.Errorf("start server: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		_ = server.Wait()
		close(ended)
	}()
	c.server, c.ended = server, ended
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		err := c.Execute("postgres", "SELECT 1")
		if err == nil {
			return nil
		}
		select {
		case <-ended:
			c.server = nil
			return fmt.Errorf("start server: it ended\n%s", c.Log())
		default:
		}
		if time.Now().After(end) {
			return fmt.Errorf("start server: %w\n%s", err, c.Log())
		}
	}
}

// Folder is where all of the cluster lies.
func (c *Cluster) Folder() string { return c.folder }

// Log is the end of what the server wrote.
func (c *Cluster) Log() string {
	text, _ := os.ReadFile(filepath.Join(c.folder, "log"))
	return string(text[max(0, len(text)-2000):])
}

// Kill ends the server as a failing machine does: no process of it learns.
func (c *Cluster) Kill() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server == nil {
		return errors.New("the server does not run")
	}
	// Sessions end by themselves when their postmaster is gone, but not before their statement has.
	all := append([]int{c.server.Process.Pid}, childrenOf(c.server.Process.Pid)...)
	for _, pid := range all {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err := c.gone(); err != nil {
		return err
	}
	// The next server does not start while a process of this one holds its memory.
	for _, pid := range all[1:] {
		for end := time.Now().Add(patience); lives(pid) && time.Now().Before(end); time.Sleep(time.Millisecond) {
		}
	}
	return nil
}

// Quit ends the server at once, its sessions with a word of farewell.
func (c *Cluster) Quit() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server == nil {
		return nil
	}
	_ = c.server.Process.Signal(syscall.SIGQUIT)
	return c.gone()
}

// gone waits for the end of the server.
func (c *Cluster) gone() error {
	select {
	case <-c.ended:
	case <-time.After(patience):
		_ = c.server.Process.Kill()
		<-c.ended
		return fmt.Errorf("the server did not end in %v", patience)
	}
	c.server = nil
	return nil
}

// childrenOf are the processes that a process has started, as the kernel knows them.
func childrenOf(pid int) (list []int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, path := range tasks {
		text, _ := os.ReadFile(path)
		for _, word := range strings.Fields(string(text)) {
			if n, err := strconv.Atoi(word); err == nil {
				list = append(list, n)
			}
		}
	}
	return list
}

// lives reports whether a process is there and no zombie.
func lives(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := bytes.Cut(text, []byte(") "))
	return !bytes.HasPrefix(state, []byte("Z"))
}

// Close ends the server and removes its folder.
func (c *Cluster) Close() error {
	err := c.Quit()
	if c.folder == "" {
		return err
	}
	if c.port != nil {
		err = errors.Join(err, c.port.Close())
	}
	return errors.Join(err, os.RemoveAll(c.folder))
}

// Address is that of a database of the server.
func (c *Cluster) Address(database string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s?sslmode=disable", c.port.Number, database)
}

// Database makes a database and gives its address. It goes with the cluster.
func (c *Cluster) Database(t testing.TB) string {
	t.Helper()
	name := "t_" + strings.ToLower(rand.Text()[:10])
	if err := c.Execute("postgres", "CREATE DATABASE "+name+" TEMPLATE template0"); err != nil {
		t.Fatalf("make database: %v", err)
	}
	return c.Address(name)
}

// Execute runs one statement in a database, on a session of its own.
func (c *Cluster) Execute(database, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.Address(database))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, statement)
	return err
}
