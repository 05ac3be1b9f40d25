package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"svc.dev/svc/service"
	"svc.dev/svc/service/config"
)

// productName is the product as a whole: a gateway before the runtime, in one process.
const productName = "product"

// throughGateway is how much more a prompt may cost with a key, through the gateway, than without.
const throughGateway = 1.25

// measureGateway prompts the product with a key, and the runtime alone, in turns; each prompt is read until it settles.
func measureGateway(ctx context.Context, b *Bench, db Database) error {
	d := pick(b, 3*time.Second, 800*time.Millisecond)
	for _, writers := range []int{1, 64} {
		talk, cost := Talk{Writers: writers, Followed: true}, map[string]time.Duration{}
		for _, name := range []string{ours, productName} {
			err := b.withServer(ctx, db, Setting{Engine: name}, func(s *Server) error {
				if _, err := talk.run(ctx, s, d/5); err != nil { // not counted
					return err
				}
				done, err := talk.run(ctx, s, d)
				cost[name] = done.whole()
				return err
			})
			if err != nil {
				return err
			}
		}
		ratio := float64(cost[productName]) / float64(cost[ours])
		b.Report.add(Row{
			Measurement: fmt.Sprintf("prompts of 20 deltas through the gateway with a key, %s, %s", db.Name, talk),
			Figure:      fmt.Sprintf("%s CPU each, ratio %.2f", ms(cost[productName]), ratio),
			Beside:      fmt.Sprintf("without the gateway %s", ms(cost[ours])),
			Target:      fmt.Sprintf("ratio ≤ %.2f", throughGateway), Met: met(ratio <= throughGateway),
		})
	}
	return nil
}

// openProduct serves the product, with a person in it who has made a key.
func openProduct(ctx context.Context, address string, log *slog.Logger, control *http.ServeMux) (e engine, err error) {
	control.HandleFunc("POST /crowd", addsCrowd(address))
	folder, err := os.MkdirTemp("", "svc-bench-product-")
	if err != nil {
		return e, err
	}
	ctx, cancel := context.WithCancel(ctx)
	serving, ended := make(chan service.Serving, 1), make(chan error, 1)
	go func() {
		const unlimited = 1_000_000_000
		ended <- service.Serve(ctx, config.Whole, config.Config{
			DataDir: folder, Database: address, Listen: "127.0.0.1:0", OpsListen: "127.0.0.1:0",
			LimitRate: unlimited, LimitBurst: unlimited, LimitStreams: 1000, StopTimeout: stopTimeout / 3,
		}, log, service.Caller{Announce: func(s service.Serving) { serving <- s }})
	}()
	e.close = func() error {
		cancel()
		return errors.Join(<-ended, os.RemoveAll(folder))
	}
	select {
	case s := <-serving:
		e.door, err = enter(ctx, s)
	case err = <-ended:
		ended <- nil
	}
	if err != nil {
		err = errors.Join(err, e.close())
	}
	return e, err
}

// enter signs somebody up, and is the way to their agents with a key.
func enter(ctx context.Context, s service.Serving) (d door, err error) {
	const name = "bench"
	var made struct{ Key string }
	cookie, err := post(ctx, s, s.Platform, "/api/auth/password/register", "", map[string]any{
		"email": name + "@example.com", "username": name, "password": "a long word for a short while",
	}, nil)
	if err != nil {
		return d, err
	}
	if err := storeAgent(ctx, s, name+"/personal", cookie); err != nil {
		return d, err
	}
	_, err = post(ctx, s, s.Agents, "/api/workspaces/"+name+"/personal/keys", cookie, map[string]any{
		"name": name, "scopes": []string{"agents:read", "agents:write"},
	}, &made)
	return door{
		Address: host(s.Address), Host: host(s.Agents), Base: "/v1/" + name + "/personal", Agent: "central",
		Head: "Authorization: Bearer " + made.Key + "\r\n",
	}, err
}

// post sends something to a surface, as a page there does, and returns the cookies that it was given.
func post(ctx context.Context, s service.Serving, surface, path, cookie string, body, answer any) (cookies string, err error) {
	text, err := json.Marshal(body)
	if err != nil {
		return "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Address+path, bytes.NewReader(text))
	if err != nil {
		return "", err
	}
	r.Host = host(surface)
	r.Header = http.Header{"Content-Type": {"application/json"}, "Origin": {surface}, "Cookie": {cookie}}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		return "", fmt.Errorf("%s: %s", path, resp.Status)
	}
	for _, c := range resp.Cookies() {
		cookies += c.Name + "=" + c.Value + "; "
	}
	if answer == nil {
		return cookies, nil
	}
	return cookies, json.NewDecoder(resp.Body).Decode(answer)
}
