package operate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"syscall"

	"svc.dev/svc/service/audit"
)

// remote is an operator who asks the service that runs.
type remote struct{ client *http.Client }

// Reach is the service that answers on a socket, and nil where none listens.
func Reach(ctx context.Context, socket string) (Operator, error) {
	conn, err := dialSocket(ctx, socket)
	switch {
	case err == nil:
		conn.Close()
		return newErrand(socket), nil
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("admin_socket: %s belongs to another user: run this as the user that runs svc", socket)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return nil, nil
	}
	return nil, fmt.Errorf("admin_socket: %w", err)
}

func dialSocket(ctx context.Context, path string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "unix", path)
}

func newErrand(socket string) *remote {
	return &remote{&http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return dialSocket(ctx, socket) },
	}}}
}

// CreateAdmin makes an account that administers the service.
func (e *remote) CreateAdmin(ctx context.Context, n NewAdmin) (p Person, err error) {
	return p, e.ask(ctx, createAdminPath, n, &p, nil)
}

// Grant gives an account a role over the whole service.
func (e *remote) Grant(ctx context.Context, g Grant) (p Person, err error) {
	return p, e.ask(ctx, grantPath, g, &p, nil)
}

// VerifyAudit looks through the audit log.
func (e *remote) VerifyAudit(ctx context.Context) (r audit.Report, err error) {
	return r, e.ask(ctx, verifyPath, struct{}{}, &r, nil)
}

// RotateKeys moves every secret to a new key.
func (e *remote) RotateKeys(ctx context.Context, q Rotate, tell func(Rotation)) (done Rotation, err error) {
	return done, e.ask(ctx, rotatePath, q, &done, func(text json.RawMessage) error {
		var so Rotation
		if err := json.Unmarshal(text, &so); err != nil {
			return err
		}
		tell(so)
		return nil
	})
}

// Close does nothing: every question has a connection of its own.
func (e *remote) Close() error { return nil }

// ask puts one question and reads its answer, whose lines of progress go to tell.
func (e *remote) ask(ctx context.Context, path string, question, answer any, tell func(json.RawMessage) error) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://svc"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	res, err := e.client.Do(req)
	if err != nil {
		return fmt.Errorf("ask the service: %w", err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the service answers %s: use the same version of svc", res.Status)
	}
	for lines := json.NewDecoder(res.Body); ; {
		var r reply
		switch err := lines.Decode(&r); {
		case errors.Is(err, io.EOF):
			return errors.New("the service ended before it had answered")
		case err != nil:
			return fmt.Errorf("read the service's answer: %w", err)
		case r.Error != "":
			return errors.New(r.Error)
		case r.Result != nil:
			return json.Unmarshal(r.Result, answer)
		case tell != nil:
			if err := tell(r.Progress); err != nil {
				return err
			}
		}
	}
}
