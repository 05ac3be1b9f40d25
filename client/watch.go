package client

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"
)

// errSilent tells that a connection was open and nothing came.
var errSilent = errors.New("nothing came for too long")

// watch ends an exchange on which nothing has come for too long. It counts the time in which somebody waits for the network, and
// none in which the reader is busy with what came.
type watch struct {
	cancel context.CancelCauseFunc
	timer  *time.Timer
	bound  atomic.Int64 // of the next silence, in nanoseconds; 0: any
	headed atomic.Bool  // the head of the answer has come, though the request may not be sent whole
}

// newWatch begins to count: the head of an answer must come within the first bound. Stop it in any case.
func newWatch(ctx context.Context, first time.Duration) (context.Context, *watch) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watch{cancel: cancel}
	w.bound.Store(int64(first))
	w.timer = time.AfterFunc(time.Hour, func() { cancel(errSilent) })
	w.timer.Stop()
	w.again()
	return ctx, w
}

// hush stops counting until the next read.
func (w *watch) hush() { w.timer.Stop() }

// again counts from now on.
func (w *watch) again() {
	if bound := w.bound.Load(); bound > 0 {
		w.timer.Reset(time.Duration(bound))
	}
}

func (w *watch) stop() {
	w.timer.Stop()
	w.cancel(context.Canceled)
}

// answerBody is the body of an answer under watch. It ends the watch when it is closed.
type answerBody struct {
	io.ReadCloser
	ctx   context.Context
	watch *watch
	later time.Duration // the bound once the first bytes have come
}

func (b *answerBody) Read(p []byte) (int, error) {
	b.watch.again()
	n, err := b.ReadCloser.Read(p)
	b.watch.hush()
	if n > 0 {
		b.watch.bound.Store(int64(b.later))
	}
	if err != nil && err != io.EOF && errors.Is(context.Cause(b.ctx), errSilent) {
		err = errSilent
	}
	return n, err
}

func (b *answerBody) Close() error {
	err := b.ReadCloser.Close()
	b.watch.stop()
	return err
}

// sentBody is the body of a request under watch: as long as it is taken nobody is silent. Once an answer comes, that alone counts.
type sentBody struct {
	io.ReadCloser
	watch *watch
}

func (b *sentBody) Read(p []byte) (int, error) {
	if !b.watch.headed.Load() {
		b.watch.again()
	}
	return b.ReadCloser.Read(p)
}
