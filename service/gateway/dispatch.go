package gateway

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/installation"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/surface"
)

const (
	// maxDelivery is the longest body that the provider sends.
	maxDelivery = 25 << 20
	// commonDelivery is as long as nearly all are. Of those that are longer only a few are in memory at one time, and of these
	// not any number either.
	commonDelivery = 1 << 20
)

// slot lets a delivery into memory: nobody has proven anything yet, so all of them must not take much.
func (x *exchange) slot() (release func(), err error) {
	turns := x.g.commonDeliveries
	if n := x.Request.ContentLength; n < 0 || n > commonDelivery {
		turns = x.g.longDeliveries
	}
	ctx, cancel := context.WithTimeout(x.Ctx(), surface.BodyTimeout/2)
	defer cancel()
	if release, err := turns.Wait(ctx, x.Network()); err == nil {
		return release, nil
	}
	return func() {}, fault.New(fault.Busy, "Too many deliveries at this moment.", "Try again shortly.").After(time.Second)
}

// PassOn hands what the provider told of workspaces on to their channels, until ctx ends. Any number of nodes may do so.
func (g *Gateway) PassOn(ctx context.Context) error {
	if g.Runtime == nil {
		<-ctx.Done()
		return nil
	}
	return g.Installations.PassOn(ctx, g.pass)
}

// passedPath takes the deliveries of the service's own app. No request from outside is ever given such a path: their
// signature was checked here, and the channel's own path checks another.
func passedPath(provider string) string { return "/own/deliveries/" + provider }

// hopeless are the refusals that another attempt would meet again.
var hopeless = []string{
	fault.InvalidJSON, fault.InvalidRequest, fault.BodyTooLarge, fault.UnsupportedMediaType, fault.IdempotencyConflict,
	fault.WorkspaceNotFound, fault.WorkspaceSuspended,
}

// pass hands a delivery to the channel of a workspace.
func (g *Gateway) pass(ctx context.Context, p installation.Passing) (err error) {
	at, err := scope.Parse(p.Scope)
	if err != nil {
		return fmt.Errorf("%w: %w", installation.ErrUndeliverable, err)
	}
	// Whoever floods the public path of the channel takes nothing away from this.
	if err := g.hooks.Take("passed " + p.Scope); err != nil {
		return err
	}
	claims := scope.Claims{
		Account: at.Username, AccountID: p.Owner, Scope: p.Scope, Actor: scope.Channel(p.Provider), Authority: scope.Customer,
		Delegated: true, RequestID: "req_" + ulid.Make().String(),
	}
	r, err := http.NewRequestWithContext(g.with(ctx, claims), http.MethodPost, passedPath(p.Provider), bytes.NewReader(p.Body))
	if err != nil {
		return err
	}
	r.URL = &url.URL{Path: passedPath(p.Provider)}
	r.Header = http.Header{"Content-Type": {surface.TypeJSON}, "X-Github-Event": {p.Event}, "X-Github-Delivery": {p.Delivery}}
	return g.hand(r)
}

// hand lets the runtime take a delivery.
func (g *Gateway) hand(r *http.Request) (err error) {
	told := memo{header: http.Header{}}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the runtime broke off: %v", v)
		}
	}()
	g.Runtime.ServeHTTP(&told, r)
	if told.because != nil {
		return fmt.Errorf("%w: %w", installation.ErrAway, told.because)
	}
	if told.status >= 200 && told.status < 300 {
		return nil
	}
	err = told.fault()
	switch {
	case told.status == http.StatusServiceUnavailable || fault.Is(err, fault.BadGateway):
		return fmt.Errorf("%w: %w", installation.ErrAway, err)
	case slices.Contains(hopeless, fault.From(err).Type):
		return fmt.Errorf("%w: %w", installation.ErrUndeliverable, err)
	}
	return err
}
