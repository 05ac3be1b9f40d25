package surface

import (
	"net/http"
	"strconv"
	"time"

	"svc.dev/svc/internal/front"
)

// Answer remembers the status, and waits for nobody who does not take what is written.
type Answer struct {
	http.ResponseWriter
	status int
	rest   *front.Rest   // of the request's body; nil: there is none, or it is seen to
	each   time.Duration // what a client has to take the next part
	until  time.Time     // when it must have taken what is written now
}

// Status is that of the answer; zero: it has not begun.
func (a *Answer) Status() int { return a.status }

func (a *Answer) WriteHeader(status int) {
	a.begin(status)
	a.ResponseWriter.WriteHeader(status)
}

func (a *Answer) Write(b []byte) (int, error) {
	a.begin(http.StatusOK)
	return a.ResponseWriter.Write(b)
}

func (a *Answer) begin(status int) {
	if a.status == 0 {
		a.status = status
		a.leaveRest()
	}
	a.Allow()
}

// Allow gives the client its time to take what is written next. A deadline that still leaves it is not set anew: that costs
// as much as a frame.
func (a *Answer) Allow() {
	if now := time.Now(); a.until.Sub(now) < a.each {
		a.until = now.Add(a.each * 5 / 4)
		_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(a.until) // where there is none the server's own has to do
	}
}

// Unwrap lets http.ResponseController reach what the inner writer can do.
func (a *Answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Divert lets the answer go to another writer until back is called: then it has not begun.
func (a *Answer) Divert(to http.ResponseWriter) (back func()) {
	before := a.ResponseWriter
	a.ResponseWriter = to
	return func() { a.ResponseWriter, a.status, a.until = before, 0, time.Time{} }
}

// RetryAfter tells when to come again, in whole seconds.
func (a *Answer) RetryAfter(d time.Duration) {
	if d > 0 {
		a.Header().Set("Retry-After", strconv.Itoa(int((d+time.Second-1)/time.Second)))
	}
}

// Unread reports whether the request has a body that may not be read to its end.
func (a *Answer) Unread() bool { return a.rest != nil }

// Linger lets a client that still sends do so for a moment: it would not see the answer if it was cut off at once.
func (a *Answer) Linger() {
	a.Header().Set("Connection", "close")
	a.rest = nil
	_ = http.NewResponseController(a).SetReadDeadline(time.Now().Add(restTimeout))
}
