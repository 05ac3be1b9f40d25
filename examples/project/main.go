// Command project serves a folder of TypeScript modules: an agent, a workflow and a channel, behind an application.
//
//	npm --prefix examples/project ci
//	go run ./examples/project
//	curl -i localhost:8080/api/workflows/refund?wait=result -d '{"order":"order_1042","customer":"ada"}'
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/sync/errgroup"

	"svc.dev/svc"
	"svc.dev/svc/model"
	"svc.dev/svc/model/scripted"
	"svc.dev/svc/sqlstore"
	"svc.dev/svc/ts"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "the address to listen on")
	database := flag.String("db", "sqlite:project.db", "the database")
	project := flag.String("project", "examples/project", "the project's folder")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, *listen, *database, *project); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, listen, database, project string) error {
	store, err := sqlstore.Open(ctx, database, sqlstore.Config{})
	if err != nil {
		return err
	}
	defer store.Close()
	rt, err := svc.New(svc.Config{Store: store, Model: model.Providers{"scripted": scripted.Choose(think)}.Find})
	if err != nil {
		return err
	}
	p, err := ts.Load(ctx, rt, project, ts.Config{})
	if err != nil {
		return err
	}
	defer p.Close()
	server := &http.Server{Addr: listen, Handler: p}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return rt.Run(ctx) })
	group.Go(func() error {
		<-ctx.Done()
		return server.Close()
	})
	group.Go(func() error {
		if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	return group.Wait()
}

// think stands for a language model: it looks up an order that is named, and says what it found.
func think(r model.Request) scripted.Turn {
	last := r.Messages[len(r.Messages)-1]
	if last.Role == model.RoleTool {
		return scripted.Turn{scripted.Say("I found " + *last.Parts[0].Result.Content[0].Text)}
	}
	text := *last.Parts[0].Text
	for word := range strings.FieldsSeq(text) {
		if strings.HasPrefix(word, "order_") && len(r.Tools) > 0 {
			return scripted.Turn{scripted.Call("look_up_order", map[string]string{"order": word})}
		}
	}
	return scripted.Turn{scripted.Say("You said: " + text)}
}
