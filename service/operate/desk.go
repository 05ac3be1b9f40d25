package operate

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
)

// maxErrand bounds what a command may send.
const maxErrand = 64 << 10

// The paths of the desk.
const (
	createAdminPath = "/admin/create"
	grantPath       = "/admin/grant"
	verifyPath      = "/audit/verify"
	rotatePath      = "/secrets/rotate"
)

// desk does for commands, on the admin socket, what an Operator promises.
type desk struct{ machine *Machine }

// NewDesk answers on the admin socket.
func NewDesk(m *Machine) http.Handler {
	d := desk{m}
	mux := http.NewServeMux()
	mux.Handle("POST "+createAdminPath, errandOf(m.CreateAdmin))
	mux.Handle("POST "+grantPath, errandOf(m.Grant))
	mux.Handle("POST "+verifyPath, errandOf(func(ctx context.Context, _ struct{}) (any, error) { return m.VerifyAudit(ctx) }))
	mux.HandleFunc("POST "+rotatePath, d.rotate)
	return mux
}

// reply is one line of an answer: how far it is, or what came of it.
type reply struct {
	Progress json.RawMessage `json:"progress,omitempty"`
	Result   json.RawMessage `json:"result,omitempty"`
	Error    string          `json:"error,omitempty"` // for a person
}

// errandOf reads a question, asks it, and writes the answer.
func errandOf[Q, A any](do func(context.Context, Q) (A, error)) http.Handler {
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
func (d desk) rotate(w http.ResponseWriter, r *http.Request) {
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
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxErrand))
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
