package gateway

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"

	"svc.dev/svc/fault"
)

// intake is the body of a request on its way to the runtime. It remembers why it could not be read: the runtime, and the way
// to it, only see that it ends.
type intake struct {
	io.ReadCloser
	failed atomic.Pointer[error]
}

// body is what the runtime reads: where there is no body, that is still seen.
func (in *intake) body() io.ReadCloser {
	if in.ReadCloser == http.NoBody {
		return http.NoBody
	}
	return in
}

func (in *intake) Read(p []byte) (int, error) {
	n, err := in.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, http.ErrBodyReadAfterClose) {
		in.failed.CompareAndSwap(nil, &err)
	}
	return n, err
}

// fault is what the client did wrong; nil is nothing.
func (in *intake) fault() *fault.Error {
	if f := in.tooLarge(); f != nil || in.failed.Load() == nil {
		return f
	}
	return fault.Invalid("The body cannot be read.")
}

// tooLarge is the refusal of a body that was longer than it may be, and nil for any other.
func (in *intake) tooLarge() *fault.Error {
	err := in.failed.Load()
	if err == nil {
		return nil
	}
	if most, ok := errors.AsType[*http.MaxBytesError](*err); ok {
		return fault.New(fault.BodyTooLarge, "The body is too large.", "").With("limit", most.Limit)
	}
	return nil
}
