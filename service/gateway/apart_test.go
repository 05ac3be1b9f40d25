package gateway_test

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/model"
	"svc.dev/svc/model/scripted"
	"svc.dev/svc/service/agent"
	"svc.dev/svc/service/engine"
	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/offer"
	"svc.dev/svc/service/project"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/sqlstore"
)

// What a runtime in a process of its own is told: its database, and whose assertions it believes.
const (
	apartDatabase = "SVC_TEST_RUNTIME_DATABASE"
	apartKey      = "SVC_TEST_RUNTIME_KEY"
)

// spawn runs a runtime on the scene's database in a process of its own, until the test ends.
func (s *scene) spawn(t testing.TB) http.Handler {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), apartDatabase+"="+s.address, apartKey+"="+hex.EncodeToString(public))
	child.Stderr = os.Stderr
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := child.Wait(); err != nil {
			t.Errorf("runtime of its own: %v", err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("runtime of its own: %v", err)
	}
	s.private = strings.TrimSpace(line)
	s.forward = &scope.Forward{Token: runtimeToken, AdminToken: adminToken, Key: private}
	return gateway.NewProxy(parse(s.private), s.forward, nil, s.Accounts.Log)
}

// runApart is such a process. It says where it listens, and ends with its standard input.
func runApart(address string) (err error) {
	log := slog.New(slog.DiscardHandler)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	db, err := sqldb.Open(ctx, address, sqldb.Options{Log: log, Timeout: time.Minute})
	if err != nil {
		return err
	}
	defer db.Close()
	if err := db.Migrate(ctx, sqlstore.Migrations, project.Migrations, agent.Migrations, offer.Migrations); err != nil {
		return err
	}
	store, err := sqlstore.New(ctx, db, sqlstore.Config{Log: log})
	if err != nil {
		return err
	}
	defer store.Close()
	all, err := agents(db, nil, "", nil)
	if err != nil {
		return err
	}
	rt, err := svc.New(svc.Config{Store: store, Model: model.Providers{"scripted": scripted.Words()}.Find, Resolve: all.Resolve, Log: log, StopTimeout: time.Second})
	if err != nil {
		return err
	}
	declare(rt)
	ended := make(chan error, 1)
	go func() { ended <- rt.Run(ctx) }()
	for rt.State() != svc.Serving {
		takes(time.Millisecond)
	}
	if err := listenApart(rt, all, db, log); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	stop()
	return <-ended
}

// listenApart answers on a free port.
func listenApart(rt *svc.Runtime, all *agent.Agents, db *sqldb.DB, log *slog.Logger) error {
	key, err := hex.DecodeString(os.Getenv(apartKey))
	if err != nil {
		return err
	}
	guard, err := scope.NewGuard([]string{runtimeToken}, []string{adminToken}, []ed25519.PublicKey{key})
	if err != nil {
		return err
	}
	guard.Standing = standing(db)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() {
		_ = http.Serve(l, engine.New(engine.Config{Runtime: rt, Guard: guard, Agents: all, Log: log, Admit: admission(db), MCP: mcpOf(rt, all, db, log)}))
	}()
	_, err = fmt.Println("http://" + l.Addr().String())
	return err
}
