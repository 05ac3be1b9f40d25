package operate

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"svc.dev/svc/service/parcel"
)

// maxCommand bounds what a command may send.
const maxCommand = 64 << 10

// The paths of the admin socket.
const (
	createAdminPath = "/admin/create"
	grantPath       = "/admin/grant"
	verifyPath      = "/audit/verify"
	rotatePath      = "/secrets/rotate"
	backupPath      = "/backup"
	exportPath      = "/export"
	importPath      = "/import"
)

// NewAdminSocket answers on the admin socket: it does for commands what an Operator promises.
func NewAdminSocket(m *Machine) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST "+createAdminPath, commandOf(atOnce(m.CreateAdmin)))
	mux.Handle("POST "+grantPath, commandOf(atOnce(m.Grant)))
	mux.Handle("POST "+verifyPath, commandOf(atOnce(func(ctx context.Context, _ struct{}) (any, error) { return m.VerifyAudit(ctx) })))
	mux.Handle("POST "+rotatePath, commandOf(m.RotateKeys))
	mux.HandleFunc("POST "+backupPath, sender(m, "backup", m.Backup))
	mux.HandleFunc("POST "+exportPath, sender(m, "export", m.Export))
	mux.HandleFunc("POST "+importPath, m.receiveImport)
	return mux
}

// atOnce is a command that has no progress to tell.
func atOnce[Q, A any](do func(context.Context, Q) (A, error)) func(context.Context, Q, func(A)) (A, error) {
	return func(ctx context.Context, q Q, _ func(A)) (A, error) { return do(ctx, q) }
}

// reply is one line of an answer: how far it is, or what came of it.
type reply[A any] struct {
	Progress *A     `json:"progress,omitempty"`
	Result   *A     `json:"result,omitempty"`
	Error    string `json:"error,omitempty"` // for a person
}

// commandOf reads a question, asks it, and answers with a line for each step; the last is what came of it.
func commandOf[Q, A any](do func(context.Context, Q, func(A)) (A, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lines := json.NewEncoder(insistOn(w)) // a command that has gone needs no answer
		var q Q
		if err := readErrand(r, &q); err != nil {
			_ = lines.Encode(reply[A]{Error: err.Error()})
			return
		}
		a, err := do(r.Context(), q, func(so A) {
			_ = lines.Encode(reply[A]{Progress: &so})
			_ = http.NewResponseController(w).Flush()
		})
		if err != nil {
			_ = lines.Encode(reply[A]{Error: err.Error()})
			return
		}
		_ = lines.Encode(reply[A]{Result: &a})
	})
}

func readErrand(r *http.Request, into any) error {
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxCommand))
	if err != nil {
		return err
	}
	// The parser's error may quote what it read.
	if json.Unmarshal(body, into) != nil {
		return errors.New("the command and the service do not understand each other: use the same version of svc")
	}
	return nil
}

// sender answers with a stream that says itself what went wrong. A command that reads slowly holds up no writer: what is sent lies
// in files by then. One that reads nothing for long is given up: while a backup is made nothing is erased, and no other is begun.
func sender[Q any](m *Machine, what string, send func(context.Context, Q, io.Writer) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var q Q
		if err := readErrand(r, &q); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if err := send(r.Context(), q, insistOn(w)); err != nil {
			m.Keys.config.Log.Error(what, "error", err)
		}
	}
}

// receiveImport takes an export as its body, and answers with what came of it.
func (m *Machine) receiveImport(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	u, err := m.Import(r.Context(), parcel.Address{Username: q.Get("username"), Business: q.Get("business")}, &attentive{r.Body, http.NewResponseController(w)})
	answer := reply[parcel.Unpacked]{Result: &u}
	if err != nil {
		answer = reply[parcel.Unpacked]{Error: err.Error()}
	}
	_ = json.NewEncoder(w).Encode(answer) // a command that has gone needs no answer
}
