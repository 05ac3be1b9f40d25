// Package program serves the contract program inside another one: tests of clients, and what stands between them.
package program

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/httpapi"
	"svc.dev/svc/internal/contract"
	"svc.dev/svc/sqlstore"
)

// Config is where the program stands and how fast it is. Only Database is needed.
type Config struct {
	Database string         // sqlite:PATH or postgres://…
	Listen   string         // defaults to a free port of 127.0.0.1
	Node     string         // its name in leases. Defaults to contract
	Lease    time.Duration  // defaults to that of the runtime
	HTTP     httpapi.Config // defaults to short waits
}

// Program is a server that runs.
type Program struct {
	URL string

	server *http.Server
	store  *sqlstore.Store
	cancel context.CancelFunc
	ended  chan error // of what it began, twice
}

// Start serves the contract program until Stop.
func Start(ctx context.Context, c Config) (*Program, error) {
	quiet := slog.New(slog.DiscardHandler)
	store, err := sqlstore.Open(ctx, c.Database, sqlstore.Config{Poll: 100 * time.Millisecond, Log: quiet})
	if err != nil {
		return nil, err
	}
	rt, err := svc.New(svc.Config{
		Store: store, Node: cmp.Or(c.Node, "contract"), Lease: c.Lease, Model: contract.Models.Find, StopTimeout: 300 * time.Millisecond, Log: quiet,
	})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	contract.Declare(rt)
	listener, err := net.Listen("tcp", cmp.Or(c.Listen, "127.0.0.1:0"))
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	c.HTTP.LongPoll, c.HTTP.Heartbeat, c.HTTP.Log = cmp.Or(c.HTTP.LongPoll, 2*time.Second), cmp.Or(c.HTTP.Heartbeat, time.Second), quiet
	work, cancel := context.WithCancel(context.Background())
	p := &Program{
		URL: "http://" + listener.Addr().String(), server: &http.Server{Handler: httpapi.App(rt, c.HTTP)}, store: store,
		cancel: cancel, ended: make(chan error, 2),
	}
	go func() { p.ended <- p.server.Serve(listener) }()
	go func() { p.ended <- rt.Run(work) }()
	return p, nil
}

// Stop breaks all connections and gives the work back. It returns when nothing of the program is left.
func (p *Program) Stop() error {
	p.cancel()
	closed := p.server.Close()
	var ended []error
	for range cap(p.ended) {
		if err := <-p.ended; !errors.Is(err, http.ErrServerClosed) {
			ended = append(ended, err)
		}
	}
	return errors.Join(append(ended, closed, p.store.Close())...)
}
