package gateway

import (
	"errors"
	"net/http"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/memory"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/scope"
)

// bodyTimes is what a body takes while it is read: what it is read into grows by doubling.
const bodyTimes = 2

// party is on whose share of the memory a request draws: on that of the account, or on that of their network while nobody knows
// who that is.
func (x *exchange) party() (holder string, use memory.Use) {
	if by := audit.From(x.ctx()).Actor; by.Username != "" {
		return by.Username, memory.Bodies
	}
	return x.stranger()
}

func (x *exchange) stranger() (holder string, use memory.Use) {
	return "network " + x.source(), memory.Strangers
}

// count lets the body take memory as it comes, until the exchange is over.
func (x *exchange) count(holder string, use memory.Use) {
	if x.room != nil || x.r.Body == nil || x.r.Body == http.NoBody {
		return
	}
	x.room, _ = x.g.Memory.Try(holder, use, 0) // nothing is always there
	x.r = x.r.WithContext(x.ctx())             // the server looks at its own
	x.r.Body = memory.Count(x.ctx(), x.r.Body, x.room, bodyTimes)
}

// countSigned counts a body that the way to another process holds as a whole, to sign it.
func (x *exchange) countSigned(owner string) {
	if _, apart := x.g.Runtime.(*Proxy); apart && x.r.ContentLength <= scope.MaxHash {
		x.count(owner, memory.Bodies)
	}
}

// whole is the body, of so many bytes at most. A client that dribbles one keeps no worker for long.
func (x *exchange) whole(most int64) ([]byte, error) {
	patience := http.NewResponseController(x.out)
	_ = patience.SetReadDeadline(time.Now().Add(bodyTimeout))
	body, err := memory.ReadAll(http.MaxBytesReader(nil, x.r.Body, most), x.r.ContentLength)
	_ = patience.SetReadDeadline(time.Time{})
	if err != nil {
		return nil, unread(err, most)
	}
	return body, nil
}

// afford takes memory for what a body is taken apart into.
func (x *exchange) afford(n int64) error {
	if x.room == nil {
		return nil // there is no body
	}
	if err := x.room.Grow(n); err != nil {
		return errFull(err)
	}
	return nil
}

// unread says why a body was not read.
func unread(err error, most int64) error {
	if _, long := errors.AsType[*http.MaxBytesError](err); long || errors.Is(err, memory.ErrTooLarge) {
		return tooLarge(most)
	}
	if errors.Is(err, memory.ErrFull) {
		return errFull(err)
	}
	return fault.Invalid("The body could not be read.").Because(err)
}

// errFull is the refusal of what there is no memory for at this moment.
func errFull(err error) error {
	return fault.NotAvailable("busy").Because(err).After(time.Second)
}
