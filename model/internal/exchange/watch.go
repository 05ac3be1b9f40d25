package exchange

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"
)

// errIdle is why an exchange is ended whose provider fell silent.
var errIdle = errors.New("idle")

// watch ends an exchange in which the provider is waited for too long. It runs only while somebody waits: a slow reader
// is not the provider's silence.
type watch struct {
	after time.Duration
	timer *time.Timer
}

func newWatch(after time.Duration, cancel context.CancelCauseFunc) *watch {
	after = cmp.Or(after, IdleTimeout)
	w := &watch{after: after, timer: time.AfterFunc(after, func() { cancel(errIdle) })}
	w.stop()
	return w
}

func (w *watch) start() { w.timer.Reset(w.after) }
func (w *watch) stop()  { w.timer.Stop() }

func (w *watch) reader(r io.Reader) io.Reader { return &watched{r, w} }

type watched struct {
	r io.Reader
	w *watch
}

func (r *watched) Read(p []byte) (int, error) {
	r.w.start()
	defer r.w.stop()
	return r.r.Read(p)
}
