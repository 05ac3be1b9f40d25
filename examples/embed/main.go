// Command embed is svc inside a program of your own: one workflow whose steps survive a crash, served below /api/.
package main

import (
	"context"
	"log"
	"net/http"

	"svc.dev/svc"
	"svc.dev/svc/httpapi"
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

func main() {
	ctx := context.Background()
	store, err := sqlstore.Open(ctx, "sqlite:svc.db", sqlstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	rt, err := svc.New(svc.Config{Store: store})
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
	http.Handle("/api/", http.StripPrefix("/api", httpapi.New(rt, httpapi.Config{})))
	go http.ListenAndServe("127.0.0.1:8080", nil)
	log.Fatal(rt.Run(ctx))
}
