package ts

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/httpapi"
	"svc.dev/svc/internal/script"
)

// write writes an answer: whole, as it comes from elsewhere, or piece by piece as the script makes it.
func (x *exchange) write(got scriptReply) {
	if got.err == nil && (got.status < 200 || got.status > 999) {
		got.err = fmt.Errorf("%d is not the status of an answer", got.status)
	}
	if got.err != nil {
		x.p.refuse(x.w, x.r, got.err)
		return
	}
	h := x.w.Header()
	for name, values := range got.header {
		h[name] = values
	}
	// How a body is sent is not the script's to say.
	h.Del("Transfer-Encoding")
	switch got.kind {
	case "text":
		x.writeWhole(got.status, []byte(got.value.(string)))
	case "bytes":
		data, err := base64.StdEncoding.DecodeString(got.value.(string))
		if err != nil {
			x.p.refuse(x.w, x.r, err)
			return
		}
		x.writeWhole(got.status, data)
	case "held":
		x.writeHeld(got)
	case "stream":
		h.Del("Content-Length")
		x.writeStream(got.status)
	default:
		x.release()
		x.w.WriteHeader(got.status)
	}
}

func (x *exchange) writeWhole(status int, body []byte) {
	x.release()
	x.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	x.w.WriteHeader(status)
	_, _ = x.w.Write(body) // a client that has gone needs no answer
}

// writeHeld writes a body that Go held while the script decided.
func (x *exchange) writeHeld(got scriptReply) {
	defer x.abortIfLeft()
	id := script.Args{got.value}.Int(0)
	switch body := x.act.Engine.Body(id).(type) {
	case nil:
		x.p.refuse(x.w, x.r, errors.New("the body of the answer is gone"))
	case *relay:
		// Before the head is out: the act that holds it may end with that.
		x.act.Engine.Let(id)
		x.release()
		x.w.WriteHeader(got.status)
		body.splice(x.w)
	case *sentBody:
		x.w.Header().Del("Content-Length")
		again := body.again()
		x.release()
		x.readOn()
		x.w.WriteHeader(got.status)
		x.pour(script.NewSource(again, nil))
	default:
		x.act.Engine.Let(id)
		defer body.Drop()
		x.w.WriteHeader(got.status)
		x.pour(body)
	}
}

// readOn lets the request be read while its answer is written: else the server reads the rest of it before the head goes out, and keeps nothing.
func (x *exchange) readOn() { _ = http.NewResponseController(x.w).EnableFullDuplex() }

// pour writes what comes from elsewhere as it comes. What breaks off there breaks off here.
func (x *exchange) pour(from script.Source) {
	defer context.AfterFunc(x.r.Context(), from.Drop)()
	out := http.NewResponseController(x.w)
	for {
		data, err := from.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		if _, err := x.w.Write(data); err != nil {
			return
		}
		_ = out.Flush()
	}
}

// writeStream lets the script write, piece by piece.
func (x *exchange) writeStream(status int) {
	x.readOn()
	x.w.WriteHeader(status)
	_ = http.NewResponseController(x.w).Flush()
	close(x.open)
	select {
	case err := <-x.ended:
		x.endStream()
		if err != nil {
			report(x.r.Context(), x.p.config.Log, "answer broke off", err, "path", x.r.URL.Path)
			panic(http.ErrAbortHandler)
		}
	case <-x.act.Engine.Dead():
		x.endStream()
		x.reportFault("answer broke off")
		panic(http.ErrAbortHandler)
	case <-x.r.Context().Done():
		x.endStream()
		x.abort()
		panic(http.ErrAbortHandler)
	}
}

// endStream waits for the piece that is being written.
func (x *exchange) endStream() {
	x.writing.Lock()
	defer x.writing.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closed = true
}

func (x *exchange) isClosed() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.closed
}

// write sends a piece of a streamed answer. It answers false when nobody takes more.
func (p *Project) write(c script.Call) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) {
		x := p.find(c.Args.Int(0))
		if x == nil {
			return false, nil
		}
		select {
		case <-x.open:
		case <-ctx.Done():
			return false, nil
		}
		data, err := c.Args.Bytes(1)
		if err != nil {
			return nil, err
		}
		x.writing.Lock()
		defer x.writing.Unlock()
		if x.isClosed() {
			return false, nil
		}
		if _, err := x.w.Write(data); err != nil {
			return false, nil
		}
		return http.NewResponseController(x.w).Flush() == nil, nil
	}
}

// refuse answers for a script that did not, in the envelope of the API.
func (p *Project) refuse(w http.ResponseWriter, r *http.Request, err error) {
	f := fault.From(failure(err))
	status := statusOf(f, err)
	if status >= http.StatusInternalServerError && !unavailable(err) {
		report(r.Context(), p.config.Log, "request failed", err, "method", r.Method, "path", r.URL.Path)
	}
	// The server reads on before it answers: a client that still sends must not keep it from that.
	if _, within := r.Context().Value(passingKey{}).(passing); !within && status >= http.StatusInternalServerError {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(linger))
	}
	if t, ok := errors.AsType[*script.Thrown](err); ok {
		f.Dev = strings.TrimSpace(t.Error() + "\n" + t.Stack)
	} else if stack := stackOf(err); stack != "" {
		f.Dev = strings.TrimSpace(err.Error() + "\n" + stack)
	}
	httpapi.Refuse(p.config.API, w, r, status, f)
}

// statusOf is the status that the script named, or that of the fault's type.
func statusOf(f *fault.Error, err error) int {
	if t, ok := errors.AsType[*script.Thrown](err); ok && t.Status >= 400 && t.Status <= 599 {
		return t.Status
	}
	if f.Type == scriptTimeout {
		return http.StatusGatewayTimeout
	}
	// What authors throw is theirs: a type that is known here has no status there.
	if _, theirs := errors.AsType[*script.Thrown](err); !theirs {
		if status, known := fault.Status(f.Type); known {
			return status
		}
	}
	return http.StatusInternalServerError
}
