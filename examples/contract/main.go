// Command contract serves the contract program: a runtime without accounts, with known agents, workflows and channels, that
// a client in any language can be tested against.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"golang.org/x/sync/errgroup"

	"svc.dev/svc"
	"svc.dev/svc/httpapi"
	"svc.dev/svc/internal/contract"
	"svc.dev/svc/sqlstore"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:3583", "the address to listen on")
	db := flag.String("db", "sqlite:"+filepath.Join(os.TempDir(), "svc-contract", "svc.db"), "the database: sqlite:PATH or postgres://…")
	flag.Parse()
	if err := run(*listen, *db); err != nil {
		log.Fatal(err)
	}
}

func run(listen, db string) error {
	// The first signal lets the work in flight come to a recorded point. The second ends the process.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)

	store, err := sqlstore.Open(ctx, db, sqlstore.Config{})
	if err != nil {
		return err
	}
	defer store.Close()
	rt, err := svc.New(svc.Config{Store: store, Model: contract.Models.Find})
	if err != nil {
		return err
	}
	contract.Declare(rt)

	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	return serve(ctx, rt, listener)
}

// serve answers requests until the runtime has stopped and its last reader has gone.
func serve(ctx context.Context, rt *svc.Runtime, listener net.Listener) error {
	server := &http.Server{Handler: httpapi.App(rt, httpapi.Config{})}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		err := rt.Run(ctx)
		late, cancel := context.WithTimeout(context.Background(), rt.StopTimeout())
		defer cancel()
		return errors.Join(err, server.Shutdown(late))
	})
	return group.Wait()
}
