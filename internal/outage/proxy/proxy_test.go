package proxy_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"svc.dev/svc/internal/outage/cluster"
	"svc.dev/svc/internal/outage/proxy"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// start is a proxy before a database of its own, and that database's own address.
func start(t *testing.T) (p *proxy.Proxy, direct string) {
	t.Helper()
	direct = cluster.Shared(t).Database(t)
	return proxy.Start(t, direct), direct
}

func connect(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(within(t, 10*time.Second), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(within(t, time.Second)) })
	return conn
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// one asks the server for a number.
func one(t *testing.T, conn *pgx.Conn, limit time.Duration) error {
	t.Helper()
	var n int
	err := conn.QueryRow(within(t, limit), "SELECT 1 + $1::int", 1).Scan(&n)
	if err == nil && n != 2 {
		return fmt.Errorf("1 + 1 is %d", n)
	}
	return err
}

// eventually waits for something to come true.
func eventually(t *testing.T, what string, true func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !true(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not in 10 s", what)
		}
	}
}

func TestEverythingPassesByDefault(t *testing.T) {
	t.Parallel()
	p, _ := start(t)
	conn := connect(t, p.Address())
	long := strings.Repeat("x", 5<<20)
	var back string
	if err := conn.QueryRow(t.Context(), "SELECT $1::text", long).Scan(&back); err != nil || back != long {
		t.Errorf("5 MiB came back as %d bytes: %v", len(back), err)
	}
	_, err := conn.Exec(t.Context(), "SELECT 1/0")
	if said, ok := errors.AsType[*pgconn.PgError](err); !ok || said.Code != "22012" || said.Severity != "ERROR" {
		t.Errorf("a division by zero is %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if _, err := conn.Exec(ctx, "SELECT pg_sleep(5)"); err == nil {
		t.Error("a statement outlived its context")
	}
}

func TestEncryptionIsDeclined(t *testing.T) {
	t.Parallel()
	p, _ := start(t)
	if err := one(t, connect(t, strings.Replace(p.Address(), "sslmode=disable", "sslmode=prefer", 1)), 20*time.Second); err != nil {
		t.Error(err)
	}
}

func TestHeldBytesGoOn(t *testing.T) {
	t.Parallel()
	for name, side := range map[string]proxy.Side{"of the client": proxy.Client, "of the server": proxy.Server, "of both": proxy.Both} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := start(t)
			conn := connect(t, p.Address())
			p.Apply(proxy.Rule{Hold: side})
			answer := make(chan error, 1)
			go func() { answer <- one(t, conn, 10*time.Second) }()
			select {
			case err := <-answer:
				t.Fatalf("answered while bytes were held: %v", err)
			case <-time.After(200 * time.Millisecond):
			}
			p.Heal()
			if err := <-answer; err != nil {
				t.Errorf("once let go: %v", err)
			}
		})
	}
}

func TestOneConnectionCanBeHeld(t *testing.T) {
	t.Parallel()
	p, _ := start(t)
	first := connect(t, p.Address())
	all := p.Conns()
	second := connect(t, p.Address())
	all[0].Apply(proxy.Rule{Hold: proxy.Both})
	if err := one(t, second, 5*time.Second); err != nil {
		t.Errorf("the other connection: %v", err)
	}
	if err := one(t, first, 200*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the held connection: %v", err)
	}
}

func TestLostBytesNeverArrive(t *testing.T) {
	t.Parallel()
	p, direct := start(t)
	conn := connect(t, p.Address())
	var pid int
	if err := conn.QueryRow(t.Context(), "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		t.Fatal(err)
	}
	outside := connect(t, direct)
	sessions := func() (n int) {
		_ = outside.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE pid = $1", pid).Scan(&n)
		return n
	}
	p.Apply(proxy.Rule{Lose: proxy.Both})
	if err := one(t, conn, 200*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("silence is %v, want no answer", err)
	}
	// The client gives up and closes: the server does not learn of it before the network is whole again.
	_ = conn.PgConn().Conn().Close()
	if n := sessions(); n != 1 {
		t.Errorf("%d sessions in the silence, want 1", n)
	}
	p.Heal()
	eventually(t, "the server learns that its client is gone", func() bool { return sessions() == 0 })
	if err := one(t, connect(t, p.Address()), 5*time.Second); err != nil {
		t.Errorf("a new connection: %v", err)
	}
}

func TestConnectionsAreCut(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]proxy.Ending{"with a reset": proxy.Reset, "in order": proxy.Finish} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := start(t)
			raw, err := net.Dial("tcp", p.Host())
			if err != nil {
				t.Fatal(err)
			}
			defer raw.Close()
			conn := connect(t, p.Address())
			eventually(t, "both are known", func() bool { return len(p.Conns()) == 2 })
			p.Cut(how)
			if err := one(t, conn, 20*time.Second); err == nil || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a cut connection: %v", err)
			}
			_, err = raw.Read(make([]byte, 1))
			if got := errors.Is(err, syscall.ECONNRESET); got != (how == proxy.Reset) {
				t.Errorf("a cut connection reads %v", err)
			}
			if how == proxy.Finish && !errors.Is(err, io.EOF) {
				t.Errorf("a finished connection reads %v", err)
			}
		})
	}
}

func TestBytesAreDelayed(t *testing.T) {
	t.Parallel()
	p, _ := start(t)
	conn := connect(t, p.Address())
	if err := one(t, conn, 20*time.Second); err != nil { // prepares the statement
		t.Fatal(err)
	}
	p.Apply(proxy.Rule{Delay: 50 * time.Millisecond})
	began := time.Now()
	if err := one(t, conn, 20*time.Second); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 100*time.Millisecond {
		t.Errorf("there and back took %v, with 50 ms each way", took)
	}
}

func TestNewConnections(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		door    func(*proxy.Proxy) error
		refused bool // at once; else there is no answer
	}{
		"are refused":   {door: (*proxy.Proxy).Refuse, refused: true},
		"are not heard": {door: (*proxy.Proxy).Vanish},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := start(t)
			for range 2 { // a door can be shut again
				if err := test.door(p); err != nil {
					t.Fatal(err)
				}
				_, err := net.DialTimeout("tcp", p.Host(), 2*time.Second)
				if err == nil || errors.Is(err, syscall.ECONNREFUSED) != test.refused {
					t.Errorf("dialling gives %v", err)
				}
				began := time.Now()
				_, err = pgx.Connect(within(t, 2*time.Second), p.Address())
				if err == nil || test.refused == (time.Since(began) > 1900*time.Millisecond) {
					t.Errorf("connecting gives %v after %v", err, time.Since(began))
				}
				p.Heal()
				if err := one(t, connect(t, p.Address()), 5*time.Second); err != nil {
					t.Errorf("once healed: %v", err)
				}
			}
		})
	}
}

func TestAnswerToACommitIsLost(t *testing.T) {
	t.Parallel()
	kinds := map[string]func(ctx context.Context, conn *pgx.Conn) error{
		"of a transaction": func(ctx context.Context, conn *pgx.Conn) error {
			tx, err := conn.Begin(ctx)
			if err != nil {
				return err
			}
			for n := range 3 {
				if _, err := tx.Exec(ctx, "INSERT INTO kept VALUES ($1)", n); err != nil {
					return fmt.Errorf("before the commit: %w", err)
				}
			}
			return tx.Commit(ctx)
		},
		"of a statement": func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, "INSERT INTO kept SELECT generate_series(1, $1)", 3)
			return err
		},
		"of a batch": func(ctx context.Context, conn *pgx.Conn) error {
			var batch pgx.Batch
			for n := range 3 {
				batch.Queue("INSERT INTO kept VALUES ($1)", n)
			}
			return conn.SendBatch(ctx, &batch).Close()
		},
	}
	for name, commit := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, direct := start(t)
			outside := connect(t, direct)
			if _, err := outside.Exec(t.Context(), "CREATE TABLE kept (n int)"); err != nil {
				t.Fatal(err)
			}
			conn := connect(t, p.Address())
			p.LoseCommits(1, func(statement string) bool { return strings.Contains(statement, "INSERT INTO kept") })
			if err := one(t, conn, 5*time.Second); err != nil {
				t.Fatalf("another statement: %v", err)
			}
			err := commit(within(t, 5*time.Second), conn)
			if err == nil || strings.HasPrefix(err.Error(), "before") || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the commit says %v", err)
			}
			var rows int
			if err := outside.QueryRow(t.Context(), "SELECT count(*) FROM kept").Scan(&rows); err != nil || rows != 3 {
				t.Errorf("%d rows, want 3: %v", rows, err)
			}
			if n := p.LostCommits(); n != 1 {
				t.Errorf("%d answers lost, want 1", n)
			}
			if err := commit(within(t, 5*time.Second), connect(t, p.Address())); err != nil {
				t.Errorf("the next commit says %v", err)
			}
		})
	}
}

func TestServerSpeaksAnotherLanguage(t *testing.T) {
	t.Parallel()
	p, direct := start(t)
	p.Apply(proxy.Rule{Foreign: true})
	_, err := connect(t, p.Address()).Exec(t.Context(), "SELECT 1/0")
	_, plain := connect(t, direct).Exec(t.Context(), "SELECT 1/0")
	said, ok := errors.AsType[*pgconn.PgError](err)
	meant, _ := errors.AsType[*pgconn.PgError](plain)
	if !ok {
		t.Fatalf("a division by zero is %v", err)
	}
	if said.Severity != "FEHLER" || strings.Contains(said.Message, "zero") {
		t.Errorf("for people: %s %q", said.Severity, said.Message)
	}
	if said.Code != meant.Code || said.SeverityUnlocalized != "ERROR" || said.File != meant.File || said.Routine != meant.Routine {
		t.Errorf("for machines: %+v, want %+v", said, meant)
	}
}

func TestClientTriesTheNextOfSeveralAddresses(t *testing.T) {
	t.Parallel()
	p, direct := start(t)
	dead := proxy.Start(t, direct)
	if err := dead.Refuse(); err != nil {
		t.Fatal(err)
	}
	if err := one(t, connect(t, proxy.Via(direct, dead.Host(), p.Host())), 5*time.Second); err != nil {
		t.Error(err)
	}
}

// The proxy stands in the way of every statement of every test that uses it.
func BenchmarkStatement(b *testing.B) {
	direct := cluster.Shared(b).Database(b)
	addresses := map[string]string{"direct": direct, "by way of the proxy": proxy.Start(b, direct).Address()}
	for name, address := range addresses {
		b.Run(name, func(b *testing.B) {
			conn, err := pgx.Connect(b.Context(), address)
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close(context.Background())
			for b.Loop() {
				var n int
				if err := conn.QueryRow(b.Context(), "SELECT 1 + $1::int", 1).Scan(&n); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
