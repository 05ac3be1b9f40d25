package cluster_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"svc.dev/svc/internal/outage/cluster"
)

func connect(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func TestWhatWasCommittedSurvivesEveryEndOfTheServer(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Options{Settings: map[string]string{"max_connections": "20"}})
	address := c.Database(t)
	conn := connect(t, address)
	if _, err := conn.Exec(t.Context(), "CREATE TABLE kept (n int)"); err != nil {
		t.Fatal(err)
	}
	for n, end := range []func() error{c.Kill, c.Quit} {
		if _, err := conn.Exec(t.Context(), "INSERT INTO kept VALUES ($1)", n); err != nil {
			t.Fatal(err)
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if err := conn.Ping(t.Context()); err == nil {
			t.Errorf("end %d: the session lives", n)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		conn = connect(t, address)
		var kept int
		if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM kept").Scan(&kept); err != nil || kept != n+1 {
			t.Errorf("end %d: %d rows of %d were kept: %v", n, kept, n+1, err)
		}
	}
	var most string
	if err := conn.QueryRow(t.Context(), "SHOW max_connections").Scan(&most); err != nil || most != "20" {
		t.Errorf("max_connections is %s: %v", most, err)
	}
}

func TestServerSpeaksGerman(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Options{German: true})
	_, err := connect(t, c.Address("postgres")).Exec(t.Context(), "SELECT 1/0")
	said, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || said.Code != "22012" || said.SeverityUnlocalized != "ERROR" {
		t.Fatalf("a division by zero is %v", err)
	}
	if said.Severity != "FEHLER" {
		t.Errorf("the severity is %q, want FEHLER: %s", said.Severity, said.Message)
	}
}

func TestClusterLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	c, err := cluster.New(cluster.Options{})
	cluster.Need(t, err)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(c.Folder()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its folder: %v", err)
	}
	if _, err := pgx.Connect(t.Context(), c.Address("postgres")); err == nil {
		t.Error("the server answers")
	}
}
