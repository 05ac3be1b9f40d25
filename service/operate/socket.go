package operate

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
)

// maxCommand bounds what a command may send.
const maxCommand = 64 << 10

// The paths of the admin socket.
const (
	createAdminPath = "/admin/create"
	grantPath       = "/admin/grant"
	verifyPath      = "/audit/verify"
	rotatePath      = "/secrets/rotate"
)

// adminSocket does for commands, on the admin socket, what an Operator promises.
type adminSocket struct{ machine *Machine }

// NewAdminSocket answers on the admin socket.
func NewAdminSocket(m *Machine) http.Handler {
	d := adminSocket{m}
	mux := http.NewServeMux()
	mux.Handle("POST "+createAdminPath, commandOf(m.CreateAdmin))
	mux.Handle("POST "+grantPath, commandOf(m.Grant))
	mux.Handle("POST "+verifyPath, commandOf(func(ctx context.Context, _ struct{}) (any, error) { return m.VerifyAudit(ctx) }))
	mux.HandleFunc("POST "+rotatePath, d.rotate)
	return mux
}

// reply is one line of an answer: how far it is, or what came of it.
type reply struct {
	Progress json.RawMessage `json:"progress,omitempty"`
	Result   json.RawMessage `json:"result,omitempty"`
	Error    string          `json:"error,omitempty"` // for a person
}

// commandOf reads a question, asks it, and writes the answer.
func commandOf[Q, A any](do func(context.Context, Q) (A, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q Q
		if err := readErrand(r, &q); err != nil {
			writeReply(w, nil, err)
			return
		}
		a, err := do(r.Context(), q)
		writeReply(w, a, err)
	})
}

// rotate answers with a line for each step, and the last is what came of it.
func (d adminSocket) rotate(w http.ResponseWriter, r *http.Request) {
	var q Rotate
	if err := readErrand(r, &q); err != nil {
		writeReply(w, nil, err)
		return
	}
	done, err := d.machine.RotateKeys(r.Context(), q, func(so Rotation) {
		text, err := json.Marshal(so)
		if err == nil {
			_ = json.NewEncoder(w).Encode(reply{Progress: text}) // a command that has gone needs no answer
			_ = http.NewResponseController(w).Flush()
		}
	})
	writeReply(w, done, err)
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

func writeReply(w io.Writer, result any, err error) {
	if err != nil {
		_ = json.NewEncoder(w).Encode(reply{Error: err.Error()})
		return
	}
	text, err := json.Marshal(result)
	if err != nil {
		_ = json.NewEncoder(w).Encode(reply{Error: err.Error()})
		return
	}
	_ = json.NewEncoder(w).Encode(reply{Result: text})
}
