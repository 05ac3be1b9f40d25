package surface

import (
	"errors"
	"net/http"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/memory"
	"svc.dev/svc/service/audit"
)

// bodyTimes is what a body takes while it is read: what it is read into grows by doubling.
const bodyTimes = 2

// party is on whose share of the memory a request draws: on that of the account, or on that of their network while nobody knows
// who that is.
func (x *Exchange) party() (holder string, use memory.Use) {
	if by := audit.From(x.Ctx()).Actor; by.Username != "" {
		return by.Username, memory.Bodies
	}
	return x.Stranger()
}

// Stranger is on whose share a request draws while nobody knows who sends it.
func (x *Exchange) Stranger() (holder string, use memory.Use) {
	return "network " + x.Network(), memory.Strangers
}

// Count lets the body take memory as it comes, until the exchange is over.
func (x *Exchange) Count(holder string, use memory.Use) {
	if x.room != nil || x.Request.Body == nil || x.Request.Body == http.NoBody {
		return
	}
	x.room, _ = x.config.Memory.Try(holder, use, 0) // nothing is always there
	x.Request = x.Request.WithContext(x.Ctx())      // the server looks at its own
	x.Request.Body = memory.Count(x.Ctx(), x.Request.Body, x.room, bodyTimes)
}

// Whole is the body, of so many bytes at most. A client that dribbles one keeps no worker for long.
func (x *Exchange) Whole(most int64) ([]byte, error) {
	patience := http.NewResponseController(x.Out)
	_ = patience.SetReadDeadline(time.Now().Add(BodyTimeout))
	body, err := memory.ReadAll(http.MaxBytesReader(nil, x.Request.Body, most), x.Request.ContentLength)
	_ = patience.SetReadDeadline(time.Time{})
	if err != nil {
		return nil, unread(err, most)
	}
	return body, nil
}

// Afford takes memory for what a body is taken apart into.
func (x *Exchange) Afford(n int64) error {
	if x.room == nil {
		return nil // there is no body
	}
	if err := x.room.Grow(n); err != nil {
		return Full(err)
	}
	return nil
}

// unread says why a body was not read.
func unread(err error, most int64) error {
	if _, long := errors.AsType[*http.MaxBytesError](err); long || errors.Is(err, memory.ErrTooLarge) {
		return TooLarge(most)
	}
	if errors.Is(err, memory.ErrFull) {
		return Full(err)
	}
	return fault.Invalid("The body could not be read.").Because(err)
}

// Full is the refusal of what there is no memory for at this moment.
func Full(err error) error {
	return fault.NotAvailable("busy").Because(err).After(time.Second)
}
