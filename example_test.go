package svc_test

import (
	"context"
	"log"
	"net/http"

	"svc.dev/svc"
	"svc.dev/svc/httpapi"
	"svc.dev/svc/model"
	"svc.dev/svc/model/scripted"
	"svc.dev/svc/sqlstore"
)

// Order is what a customer bought.
type Order struct {
	ID string `json:"id"`
}

// Charge is what the customer paid for it.
type Charge string

func (o Order) findCharge(context.Context) (Charge, error) { return Charge("ch_" + o.ID), nil }

func (c Charge) refund(context.Context) (string, error) { return "refunded " + string(c), nil }

// Customer is who is asked about.
type Customer struct {
	Email string `json:"email"`
}

func searchOrders(_ context.Context, c Customer) ([]Order, error) {
	return []Order{{ID: "of " + c.Email}}, nil
}

// A program of your own that serves a durable workflow and agent. It is examples/embed, and the README shows it.
func Example() {
	ctx := context.Background()
	store, err := sqlstore.Open(ctx, "sqlite:svc.db", sqlstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	models := model.Providers{"scripted": scripted.Words()}
	rt, err := svc.New(svc.Config{Store: store, Model: models.Find})
	if err != nil {
		log.Fatal(err)
	}
	refund := svc.NewWorkflow("refund", func(ctx context.Context, w *svc.Work, order Order) (string, error) {
		charge, err := svc.Step(ctx, w, "find charge", order.findCharge)
		if err != nil {
			return "", err
		}
		return svc.Step(ctx, w, "refund", charge.refund)
	})
	refund.Route, refund.Runs = svc.Open, svc.Open
	rt.AddWorkflow(refund)
	rt.AddAgent(&svc.Agent{
		Name: "support", Instructions: "Help the customer.", Model: "scripted/words",
		Tools: []svc.Tool{svc.NewTool("search_orders", "Find orders by e-mail.", searchOrders)},
		Route: svc.Open,
	})
	http.Handle("/api/", http.StripPrefix("/api", httpapi.New(rt, httpapi.Config{})))
	go http.ListenAndServe("127.0.0.1:8080", nil)
	log.Fatal(rt.Run(ctx))
}
