package front

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// What may still come of a body that nobody reads, and of all of them in a second: who is refused shall not keep the process busy.
const (
	restTime  = 5 * time.Second
	restBytes = 64 << 20
	restPiece = 32 << 10
	restRate  = 32 << 20
)

// Rest is a body that may not be read to its end.
type Rest struct {
	io.ReadCloser
	ended atomic.Bool
}

// Ended reports whether it was.
func (b *Rest) Ended() bool { return b.ended.Load() }

func (b *Rest) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if err == io.EOF {
		b.ended.Store(true)
	}
	return n, err
}

// watched has a connection know whether a request is read to its end when it is answered.
func (c *served) watched(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if r.ProtoMajor > 1 || r.Body == nil || r.Body == http.NoBody {
		next.ServeHTTP(w, r)
		return
	}
	body := &Rest{ReadCloser: r.Body}
	r = r.WithContext(r.Context()) // the server looks at its own
	r.Body = body
	next.ServeHTTP(w, r)
	c.unread.Store(!body.Ended())
}

// hear lets a client send on, for a while, that was answered before its request was read: were it cut off at once, it would lose the answer.
// What comes beyond the pace of all is left unread.
func (c *served) hear() {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	until := time.Now().Add(restTime)
	_ = c.Conn.SetReadDeadline(until)
	ctx, cut := context.WithDeadline(context.Background(), until)
	defer cut()
	c.cut.Store(&cut)
	for range restBytes / restPiece {
		if _, err := io.CopyN(io.Discard, c.Conn, restPiece); err != nil {
			return
		}
		if c.rests.WaitN(ctx, restPiece) != nil {
			<-ctx.Done()
			return
		}
	}
}
