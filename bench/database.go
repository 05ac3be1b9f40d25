package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	sqlite3 "modernc.org/sqlite/lib"

	"svc.dev/svc/internal/sqldb/sqldbtest"
)

// The names of databases.
const (
	sqlite   = "SQLite"
	postgres = "PostgreSQL"
)

// Database is where a measurement's data is kept. Each measurement gets a fresh database of it.
type Database struct {
	Name    string
	Version string
	make    func(ctx context.Context) (address string, drop func(), err error)
}

func sqliteIn(folder string) Database {
	d := Database{Name: sqlite, Version: "SQLite " + sqlite3.SQLITE_VERSION + " (synchronous=FULL)"}
	d.make = func(context.Context) (string, func(), error) {
		own, err := os.MkdirTemp(folder, "sqlite-")
		return "sqlite:" + filepath.Join(own, "svc.db"), func() { os.RemoveAll(own) }, err
	}
	return d
}

// findPostgres is the PostgreSQL that tests use, if it answers.
func findPostgres(ctx context.Context) (Database, error) {
	server := os.Getenv("SVC_TEST_POSTGRES")
	if server == "" {
		server = sqldbtest.Default
	}
	u, err := url.Parse(server)
	if err != nil {
		return Database{}, errors.New("its address is not a URL")
	}
	var version string
	if err := ask(ctx, server, "SHOW server_version", &version); err != nil {
		return Database{}, err
	}
	number, _, _ := strings.Cut(version, " ")
	d := Database{Name: postgres, Version: "PostgreSQL " + number}
	d.make = func(ctx context.Context) (string, func(), error) {
		name := fmt.Sprintf("svc_bench_%d_%s", os.Getpid(), strings.ToLower(rand.Text()[:8]))
		if err := ask(ctx, server, "CREATE DATABASE "+name+" TEMPLATE template0", nil); err != nil {
			return "", nil, err
		}
		own := *u
		own.Path = "/" + name
		return own.String(), func() {
			// The run may have been told to stop: what it made goes all the same.
			if err := ask(context.Background(), server, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)", nil); err != nil {
				fmt.Fprintf(os.Stderr, "bench: drop database %s: %v\n", name, err)
			}
		}, nil
	}
	return d, nil
}

// ask runs one statement on a connection of its own; its value goes to v, unless that is nil.
func ask(ctx context.Context, address, statement string, v any) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if v == nil {
		_, err = conn.Exec(ctx, statement)
		return err
	}
	return conn.QueryRow(ctx, statement).Scan(v)
}
