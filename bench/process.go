package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/sqlstore"
)

// Usage is what a process has used so far, and what it holds.
type Usage struct {
	CPU       time.Duration `json:"cpu"` // user and system
	RSS       int64         `json:"rss"`
	HighWater int64         `json:"highWater"` // of RSS
	Written   int64         `json:"written"`   // bytes on their way to the disk
	Admits    int64         `json:"admits"`    // that the runtime has asked of its store
	Appends   int64         `json:"appends"`
}

// Server is an engine in a process of its own: this binary, which says in a line of JSON where it serves and ends when its
// input does.
type Server struct {
	Addresses
	db      Database
	address string // of the database
	cmd     *exec.Cmd
	input   io.Closer
}

// Addresses is where a server is found: what is measured, and the control beside it.
type Addresses struct {
	Served  string `json:"served"` // host and port
	Control string `json:"control"`
	Door    door   `json:"door"` // to what is measured
}

// Setting is how a server is begun: ours, on an empty database.
type Setting struct {
	Engine string                // defaults to ours
	Fill   func(svc.Store) error // writes to the database before; nil: it stays empty
	Under  []string              // a command that watches the process
}

// stopTimeout is how long a process may take to end by itself.
const stopTimeout = 15 * time.Second

// withServer runs fn against a server on a fresh database, and ends both.
func (b *Bench) withServer(ctx context.Context, db Database, how Setting, fn func(*Server) error) error {
	address, drop, err := db.make(ctx)
	if err != nil {
		return err
	}
	defer drop()
	if how.Fill != nil {
		if err := fill(ctx, address, how.Fill); err != nil {
			return fmt.Errorf("fill: %w", err)
		}
	}
	if how.Engine == "" {
		how.Engine = ours
	}
	s := &Server{db: db, address: address}
	err = s.start(ctx, append(how.Under, b.self, serveRole, "-engine", how.Engine, "-db", address, "-profile", b.profile(how.Engine, db)))
	if err != nil {
		return fmt.Errorf("start %s: %w", how.Engine, err)
	}
	if err := errors.Join(fn(s), s.stop()); err != nil {
		return fmt.Errorf("%s: %w", how.Engine, err)
	}
	return nil
}

func fill(ctx context.Context, address string, write func(svc.Store) error) error {
	store, err := sqlstore.Open(ctx, address, sqlstore.Config{})
	if err != nil {
		return err
	}
	return errors.Join(write(store), store.Close())
}

// start runs the process, which ends with ctx, and waits until it says where it serves.
func (s *Server) start(ctx context.Context, command []string) error {
	s.cmd = exec.CommandContext(ctx, command[0], command[1:]...)
	s.cmd.Stderr, s.cmd.SysProcAttr = os.Stderr, endsWithUs()
	input, err := s.cmd.StdinPipe()
	if err != nil {
		return err
	}
	output, err := s.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.input = input
	line, err := bufio.NewReader(output).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &s.Addresses)
	}
	if err != nil {
		return errors.Join(err, s.stop())
	}
	return nil
}

// stop ends the process.
func (s *Server) stop() error { return end(s.cmd, s.input.Close) }

// end asks a process to end, and kills it if it does not for a while.
func end(cmd *exec.Cmd, ask func() error) error {
	err := ask()
	late := time.AfterFunc(stopTimeout, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	return errors.Join(err, cmd.Wait())
}

// control asks the control of the server; the answer goes to v, unless that is nil.
func (s *Server) control(ctx context.Context, path string, v any) error {
	resp, err := s.ask(ctx, path)
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

func (s *Server) ask(ctx context.Context, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.Control+path, nil)
	if err != nil {
		return nil, err
	}
	return http.DefaultClient.Do(req)
}

// Spent is what so many things cost.
type Spent struct {
	N        int
	Took     time.Duration
	Database time.Duration // CPU of PostgreSQL's processes; zero where they are not on this machine
	WAL      int64         // of PostgreSQL
	Usage                  // of the server: what was added, and the memory that it holds now
}

func (s Spent) perSecond() float64 { return float64(s.N) / s.Took.Seconds() }

// cpu is what the server spent for one.
func (s Spent) cpu() time.Duration { return s.CPU / time.Duration(max(1, s.N)) }

// whole is what the server and PostgreSQL spent for one.
func (s Spent) whole() time.Duration { return (s.CPU + s.Database) / time.Duration(max(1, s.N)) }

// each is the share of one.
func (s Spent) each(n int64) float64 { return float64(n) / float64(max(1, s.N)) }

// spend is what the server and its database use while so many things are done.
func (s *Server) spend(ctx context.Context, do func() (n int, err error)) (spent Spent, err error) {
	before, err := s.used(ctx)
	if err != nil {
		return spent, err
	}
	began := time.Now()
	spent.N, err = do()
	spent.Took = time.Since(began)
	if err != nil {
		return spent, err
	}
	after, err := s.used(ctx)
	spent.Database, spent.WAL, spent.Usage = after.databaseSince(before), after.wal-before.wal, after.Usage
	spent.CPU -= before.CPU
	spent.Written -= before.Written
	spent.Admits -= before.Admits
	spent.Appends -= before.Appends
	return spent, err
}

// do lets the engine do a task, and sees what that cost.
func (s *Server) do(ctx context.Context, t Task) (Spent, error) {
	return s.spend(ctx, func() (n int, err error) {
		err = s.control(ctx, t.path(), &n)
		return n, err
	})
}

// used is what a server and its database have used so far.
type used struct {
	Usage
	backends map[int32]time.Duration // CPU of PostgreSQL's processes on this machine
	wal      int64                   // bytes that PostgreSQL has logged in its life
}

func (s *Server) used(ctx context.Context) (u used, err error) {
	if s.db.Name == postgres {
		if err := ask(ctx, s.address, "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint", &u.wal); err != nil {
			return u, err
		}
		if u.backends, err = backendsOf(ctx, s.address); err != nil {
			return u, err
		}
	}
	err = s.control(ctx, "/usage", &u.Usage)
	return u, err
}

// databaseSince is the CPU that PostgreSQL used after an earlier look. What a process used that has ended in between is lost:
// engines keep their connections.
func (u used) databaseSince(before used) (sum time.Duration) {
	for pid, cpu := range u.backends {
		sum += cpu - before.backends[pid]
	}
	return sum
}

// backendsOf is the CPU of the processes that serve a database of PostgreSQL, and of those that write for all of them.
func backendsOf(ctx context.Context, address string) (map[int32]time.Duration, error) {
	var pids []int32
	err := ask(ctx, address, `SELECT array_agg(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()
		AND (datname = current_database() OR backend_type IN ('walwriter', 'checkpointer', 'background writer'))`, &pids)
	all := map[int32]time.Duration{}
	for _, pid := range pids {
		if cpu, err := cpuOf(int(pid)); err == nil {
			all[pid] = cpu
		}
	}
	return all, err
}
