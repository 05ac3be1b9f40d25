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
	"net/url"
	"syscall"

	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/backup"
	"svc.dev/svc/service/parcel"
)

// remote is an operator who asks the service that runs.
type remote struct{ client *http.Client }

// Reach is the service that answers on a socket, and nil where none listens.
func Reach(ctx context.Context, socket string) (Operator, error) {
	conn, err := dialSocket(ctx, socket)
	switch {
	case err == nil:
		conn.Close()
		return &remote{&http.Client{Transport: &http.Transport{
			DisableKeepAlives: true,
			DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return dialSocket(ctx, socket) },
		}}}, nil
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

// CreateAdmin makes an account that administers the service.
func (e *remote) CreateAdmin(ctx context.Context, n NewAdmin) (Person, error) {
	return ask[Person](ctx, e.client, createAdminPath, n, nil)
}

// Grant gives an account a role over the whole service.
func (e *remote) Grant(ctx context.Context, g Grant) (Person, error) {
	return ask[Person](ctx, e.client, grantPath, g, nil)
}

// VerifyAudit looks through the audit log.
func (e *remote) VerifyAudit(ctx context.Context) (audit.Report, error) {
	return ask[audit.Report](ctx, e.client, verifyPath, struct{}{}, nil)
}

// RotateKeys moves every secret to a new key.
func (e *remote) RotateKeys(ctx context.Context, q Rotate, tell func(Rotation)) (Rotation, error) {
	return ask(ctx, e.client, rotatePath, q, tell)
}

// Backup writes everything that the service keeps.
func (e *remote) Backup(ctx context.Context, q backup.Wish, w io.Writer) error {
	return e.fetch(ctx, backupPath, q, w)
}

// Export writes one workspace.
func (e *remote) Export(ctx context.Context, q parcel.Wish, w io.Writer) error {
	return e.fetch(ctx, exportPath, q, w)
}

func (e *remote) fetch(ctx context.Context, path string, question any, w io.Writer) error {
	res, err := post(ctx, e.client, path, question)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(w, res.Body); err != nil {
		return fmt.Errorf("read the service's answer: %w", err)
	}
	return nil
}

// Import makes a workspace of an export.
func (e *remote) Import(ctx context.Context, to parcel.Address, r io.Reader) (parcel.Unpacked, error) {
	where := url.Values{"username": {to.Username}, "business": {to.Business}}
	res, err := send(ctx, e.client, importPath+"?"+where.Encode(), r)
	if err != nil {
		return parcel.Unpacked{}, err
	}
	return answerOf[parcel.Unpacked](res, nil)
}

// Close does nothing: every question has a connection of its own.
func (e *remote) Close() error { return nil }

// post puts one question. Whoever gets an answer closes it.
func post(ctx context.Context, client *http.Client, path string, question any) (*http.Response, error) {
	body, err := json.Marshal(question)
	if err != nil {
		return nil, err
	}
	return send(ctx, client, path, bytes.NewReader(body))
}

// send puts a question whose body is ready. Whoever gets an answer closes it.
func send(ctx context.Context, client *http.Client, path string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://svc"+path, body)
	if err != nil {
		return nil, err
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the service: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		res.Body.Close()
		return nil, fmt.Errorf("the service answers %s: use the same version of svc", res.Status)
	}
	return res, nil
}

// ask puts one question and reads its answer, whose lines of progress go to tell.
func ask[A any](ctx context.Context, client *http.Client, path string, question any, tell func(A)) (answer A, err error) {
	res, err := post(ctx, client, path, question)
	if err != nil {
		return answer, err
	}
	return answerOf(res, tell)
}

// answerOf reads an answer to its last line, and closes it.
func answerOf[A any](res *http.Response, tell func(A)) (answer A, err error) {
	defer res.Body.Close()
	for lines := json.NewDecoder(res.Body); ; {
		var r reply[A]
		switch err := lines.Decode(&r); {
		case errors.Is(err, io.EOF):
			return answer, errors.New("the service ended before it had answered")
		case err != nil:
			return answer, fmt.Errorf("read the service's answer: %w", err)
		case r.Error != "":
			return answer, errors.New(r.Error)
		case r.Result != nil:
			return *r.Result, nil
		case r.Progress != nil && tell != nil:
			tell(*r.Progress)
		}
	}
}
