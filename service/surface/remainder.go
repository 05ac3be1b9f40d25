package surface

import (
	"io"
	"net/http"
	"time"

	"svc.dev/svc/internal/front"
)

// restTimeout is how long a client may take to send what nobody reads of a body.
const restTimeout = 5 * time.Second

// keepRest remembers how far the body is read. The server reads what is left of it before an answer goes out, and when it is out, so that
// another request can follow; left to itself it waits for that as long as the client likes. A client that asked for something to read has
// no use for one: it is read at once, so that only the answer is left to wait for.
func (x *Exchange) keepRest() {
	if x.Request.Body == nil || x.Request.Body == http.NoBody {
		return
	}
	rest := &front.Rest{ReadCloser: x.Request.Body}
	x.Request = x.Request.WithContext(x.Request.Context()) // the server looks at its own
	x.Request.Body, x.Out.rest = rest, rest
	if !x.Safe() {
		return
	}
	patience := http.NewResponseController(x.Out)
	_ = patience.SetReadDeadline(time.Now().Add(restTimeout))
	_, _ = io.CopyN(io.Discard, rest, maxBody)
	x.Request.Body, x.Request.ContentLength, x.Request.TransferEncoding = http.NoBody, 0, nil // nobody waits for what is gone
	if rest.Ended() {
		_ = patience.SetReadDeadline(time.Time{})
	}
}

// leaveRest gives what is left of the body its time, before the answer begins.
func (a *Answer) leaveRest() {
	if a.rest != nil && !a.rest.Ended() {
		_ = http.NewResponseController(a.ResponseWriter).SetReadDeadline(time.Now().Add(restTimeout))
	}
}
