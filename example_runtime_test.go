package svc_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"

	"svc.dev/svc"
	"svc.dev/svc/conversation"
	"svc.dev/svc/fault"
	"svc.dev/svc/model"
	"svc.dev/svc/model/scripted"
	"svc.dev/svc/sqlstore"
)

// check ends an example that cannot go on.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// openStore opens a SQLite database in a new folder; closing it removes both.
func openStore() (store *sqlstore.Store, closed func()) {
	folder, err := os.MkdirTemp("", "svc-example")
	check(err)
	store, err = sqlstore.Open(context.Background(), "sqlite:"+filepath.Join(folder, "svc.db"), sqlstore.Config{Synchronous: "NORMAL"})
	check(err)
	return store, func() {
		check(store.Close())
		check(os.RemoveAll(folder))
	}
}

// serve runs what is declared, on a database of its own and with a model that plays turns, until it is stopped.
func serve(declare func(*svc.Runtime), turns ...scripted.Turn) (rt *svc.Runtime, stop func()) {
	store, closed := openStore()
	models := model.Providers{"scripted": scripted.New(turns...)}
	rt, err := svc.New(svc.Config{Store: store, Model: models.Find, Log: slog.New(slog.DiscardHandler)})
	check(err)
	declare(rt)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- rt.Run(ctx) }()
	return rt, func() {
		cancel()
		check(<-ended)
		closed()
	}
}

// settle waits until nothing of an agent's instance is unsettled.
func settle(rt *svc.Runtime, agent, id string) {
	f := rt.Follow(rt.AgentStream(agent, id))
	defer f.Close()
	for {
		wake := f.Wake()
		waiting, err := rt.Submissions(context.Background(), agent, id)
		check(err)
		if len(waiting) == 0 {
			return
		}
		<-wake
	}
}

func ExampleNew() {
	store, closed := openStore() // sqlstore.Open
	defer closed()

	rt, err := svc.New(svc.Config{Store: store})
	fmt.Println(rt.State(), err)

	_, err = svc.New(svc.Config{})
	fmt.Println(err)
	// Output:
	// serving <nil>
	// svc: Config.Store is missing
}

func ExampleRuntime_Run() {
	store, closed := openStore()
	defer closed()
	rt, err := svc.New(svc.Config{Store: store})
	check(err)
	greet(rt)

	ctx, cancel := context.WithCancel(context.Background())
	cancel() // as signal.NotifyContext does when the process is told to end
	fmt.Println(rt.Run(ctx), rt.State())

	_, err = rt.Invoke(context.Background(), "greet", svc.Invocation{})
	fmt.Println(fault.Is(err, fault.Unavailable))
	// Output:
	// <nil> draining
	// true
}

func ExampleRuntime_AddWorkflow() {
	store, closed := openStore()
	defer closed()
	rt, err := svc.New(svc.Config{Store: store})
	check(err)

	type order struct {
		ID     string `json:"id"`
		Amount int    `json:"amount"`
	}
	refund := svc.NewWorkflow("refund", func(ctx context.Context, w *svc.Work, o order) (string, error) {
		return "refunded " + o.ID, nil
	})
	refund.Route = svc.Open // whoever may reach it over HTTP may start it
	rt.AddWorkflow(refund)

	for _, wf := range rt.Workflows() {
		fmt.Printf("%s %s\n", wf.Name, wf.InputSchema())
	}
	// The input is held to the type of the function.
	err = refund.CheckInput(context.Background(), []byte(`{"id": "A1", "amount": "much"}`))
	fmt.Println(fault.From(err).Type)
	// Output:
	// refund {"type":"object","properties":{"id":{"type":"string"},"amount":{"type":"integer"}},"required":["id","amount"],"additionalProperties":false}
	// action_input_validation
}

func ExampleRuntime_AddAgent() {
	store, closed := openStore()
	defer closed()
	models := model.Providers{"scripted": scripted.Words()}
	rt, err := svc.New(svc.Config{Store: store, Model: models.Find})
	check(err)

	rt.AddAgent(&svc.Agent{
		Name: "support", Description: "Helps customers.", Instructions: "Be kind.", Model: "scripted/words", Route: svc.Open,
	})
	for _, a := range rt.ListAgents() {
		fmt.Println(a.Name, a.Description, a.Transports.HTTP)
	}
	// Output: support Helps customers. true
}

// A channel turns what a provider sends into work. Those in svc.dev/svc/channel also prove who sent it.
func ExampleRuntime_AddChannel() {
	store, closed := openStore()
	defer closed()
	rt, err := svc.New(svc.Config{Store: store})
	check(err)

	rt.AddAgent(&svc.Agent{Name: "support", Model: "scripted/words"})
	rt.AddChannel(&svc.Channel{Name: "mail", Routes: []svc.ChannelRoute{{
		Method: "POST", Path: "/in", Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			message := conversation.Message{Kind: conversation.KindUser, Body: r.FormValue("text")}
			if _, err := rt.Dispatch(r.Context(), "support", r.FormValue("from"), svc.Prompt{Message: message}); err != nil {
				http.Error(w, "later", http.StatusServiceUnavailable)
			}
		}),
	}}})
	for _, route := range rt.Channel("mail").Routes {
		fmt.Println(route.Method, "/channels/mail"+route.Path)
	}
	// Output: POST /channels/mail/in
}

// A scope is a tenant: what is in one cannot be seen from another.
func ExampleRuntime_In() {
	rt, stop := serve(func(rt *svc.Runtime) {
		rt.AddWorkflow(svc.NewWorkflow("count", func(context.Context, *svc.Work, struct{}) (int, error) { return 7, nil }))
	})
	defer stop()
	ctx := context.Background()

	invoked, err := rt.In("acme").Invoke(ctx, "count", svc.Invocation{Wait: true})
	check(err)
	run, err := rt.In("acme").GetRun(ctx, invoked.RunID)
	fmt.Println(run.Scope, run.Status, err)

	_, err = rt.In("umbrella").GetRun(ctx, invoked.RunID)
	fmt.Println(fault.Is(err, fault.RunNotFound))
	// Output:
	// acme completed <nil>
	// true
}
