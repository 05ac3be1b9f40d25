package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"svc.dev/svc/fault"
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
type desk struct{ house *house }

// newDesk answers on the admin socket.
func newDesk(h *house) http.Handler {
	d := desk{h}
	mux := http.NewServeMux()
	mux.Handle("POST "+createAdminPath, errandOf(h.CreateAdmin))
	mux.Handle("POST "+grantPath, errandOf(h.Grant))
	mux.Handle("POST "+verifyPath, errandOf(func(ctx context.Context, _ struct{}) (any, error) { return h.VerifyAudit(ctx) }))
	mux.HandleFunc("POST "+rotatePath, d.rotate)
	return identified(mux)
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
	done, err := d.house.RotateKeys(r.Context(), q, func(so Rotation) {
		text, err := json.Marshal(so)
		if err == nil {
			_ = json.NewEncoder(w).Encode(reply{Progress: text}) // who has gone needs no answer
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

// plain is an error as an operator reads it: a fault without its type, and with the fields that were refused.
func plain(err error) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Type == fault.Internal {
		return err
	}
	text := strings.TrimSpace(f.Message + " " + f.Details)
	var refused struct {
		Fields []struct{ Field, Type string }
	}
	if meta, err := json.Marshal(f.Meta); err == nil {
		_ = json.Unmarshal(meta, &refused) // other facts are for programs
	}
	for _, r := range refused.Fields {
		text += fmt.Sprintf(" %s: %s.", r.Field, strings.ReplaceAll(r.Type, "_", " "))
	}
	return errors.New(text)
}
