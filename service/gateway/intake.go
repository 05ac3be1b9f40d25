package gateway

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/memory"
	"svc.dev/svc/service/surface"
)

// intake is the body of a request on its way to the runtime. It remembers why it could not be read: the runtime, and the way
// to it, only see that it ends.
type intake struct {
	io.ReadCloser
	still  func() error // why it is not taken when it has come
	failed atomic.Pointer[error]

	mu   sync.Mutex
	pace *pace // nil: the exchange is over, and its connection is none of ours
}

// take is the body of the request: of a person as long as it comes, of a webhook for a while.
func (x *exchange) take(hook bool) *intake {
	p := &pace{extend: http.NewResponseController(x.Out).SetReadDeadline, each: x.g.WriteTimeout}
	if hook {
		p.each, p.until = 0, time.Now().Add(surface.BodyTimeout)
		if x.Out.Unread() { // else the server listens whether the client is there
			_ = p.extend(p.until)
		}
	}
	return &intake{ReadCloser: x.Request.Body, still: x.Still, pace: p}
}

// step gives the client its time for what is read next; at the end it has all the time again.
func (in *intake) step(ended bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.pace == nil:
	case ended:
		_ = in.pace.extend(time.Time{})
	default:
		in.pace.step()
	}
}

// leave ends what is done to the connection. Whoever still reads does so without us.
func (in *intake) leave() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.pace = nil
}

// body is what the runtime reads: where there is no body, that is still seen.
func (in *intake) body() io.ReadCloser {
	if in.ReadCloser == http.NoBody {
		return http.NoBody
	}
	return in
}

func (in *intake) Read(p []byte) (int, error) {
	in.step(false)
	n, err := in.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		in.step(true)
		if refusal := in.still(); refusal != nil {
			err = refusal
		}
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, http.ErrBodyReadAfterClose) {
		in.failed.CompareAndSwap(nil, &err)
	}
	return n, err
}

// fault is why a body was not read; nil is nothing.
func (in *intake) fault() *fault.Error {
	if f := in.beyond(); f != nil || in.failed.Load() == nil {
		return f
	}
	return fault.Invalid("The body cannot be read.")
}

// beyond is the refusal of a body that was longer than it may be, that there is no memory for, or whose sender is not let in any
// more, and nil for any other.
func (in *intake) beyond() *fault.Error {
	err := in.failed.Load()
	if err == nil {
		return nil
	}
	if most, ok := errors.AsType[*http.MaxBytesError](*err); ok {
		return fault.From(surface.TooLarge(most.Limit))
	}
	if refusal, ok := errors.AsType[*fault.Error](*err); ok {
		return refusal
	}
	if errors.Is(*err, memory.ErrFull) || errors.Is(*err, memory.ErrTooLarge) {
		return fault.From(surface.Full(*err))
	}
	return nil
}
