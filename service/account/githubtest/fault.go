package githubtest

import (
	"bytes"
	"net/http"
	"strconv"
	"time"
)

// Fault is a way to fail. The ones that spoil an answer let the request have its effect first, as a broken line would.
type Fault struct {
	instead *answer       // sent, and nothing done
	delay   time.Duration // before anything is done
	spoil   func(*answer)
	once    bool // it is over when it has happened
}

func instead(a answer) Fault { return Fault{instead: &a} }

// wait lets the delay of a fault pass.
func (f Fault) wait(r *http.Request) {
	select {
	case <-time.After(f.delay):
	case <-r.Context().Done():
		// To return would be an answer.
		panic(http.ErrAbortHandler)
	}
}

// answer is what the fault makes of the real answer.
func (f Fault) answer(handle func() answer) answer {
	if f.instead != nil {
		return *f.instead
	}
	a := handle()
	if f.spoil != nil {
		f.spoil(&a)
	}
	return a
}

// Status fails with that status.
func Status(status int) Fault {
	return instead(refuse(status, http.StatusText(status)))
}

// Missing fails as for want of a permission.
func Missing(status int, permission string) Fault {
	return instead(refuse(status, http.StatusText(status)).with("X-Accepted-GitHub-Permissions", permission))
}

// Spent fails with 403 because the hourly limit is reached until then.
func Spent(until time.Time) Fault {
	a := refuse(http.StatusForbidden, "API rate limit exceeded for user ID 1. If you reach out to GitHub Support for help, please include the request ID.")
	return instead(a.with("X-RateLimit-Remaining", "0").with("X-RateLimit-Reset", strconv.FormatInt(until.Unix(), 10)))
}

// Slowed fails with that status, 403 or 429, and asks to wait so many seconds.
func Slowed(status, seconds int) Fault {
	a := refuse(status, "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.")
	return instead(a.with("Retry-After", strconv.Itoa(seconds)))
}

// Slow answers late.
func Slow(d time.Duration) Fault { return Fault{delay: d} }

// HTML answers with a page for people, with the status of the answer.
func HTML() Fault {
	return Fault{spoil: func(a *answer) {
		a.header = http.Header{"Content-Type": {"text/html; charset=utf-8"}}
		a.body = []byte("<!DOCTYPE html><title>Unicorn! · GitHub</title><p>This page is taking too long to load.")
	}}
}

// Oversized answers well, and goes on for two megabytes of space.
func Oversized() Fault {
	return Fault{spoil: func(a *answer) { a.body = append(a.body, bytes.Repeat([]byte(" "), 2<<20)...) }}
}

// Truncated answers well, and breaks off in the middle.
func Truncated() Fault { return Fault{spoil: func(a *answer) { a.cut = true }} }

// Redirect answers with another place to go.
func Redirect(to string) Fault { return instead(moved(to)) }

// Raw answers with that text as JSON.
func Raw(status int, body string) Fault { return instead(raw(status, []byte(body))) }

// Fail lets a route, such as GET /user, fail until Heal.
func (s *Server) Fail(route string, f Fault) {
	if programs[route] == nil && route != GitRoute {
		panic("githubtest: no route " + route)
	}
	s.change(func(*world) { s.faults[route] = append(s.faults[route], f) })
}

// FailOnce lets a route fail the next time.
func (s *Server) FailOnce(route string, f Fault) {
	f.once = true
	s.Fail(route, f)
}

// Heal ends what Fail began, everywhere.
func (s *Server) Heal() { s.change(func(*world) { clear(s.faults) }) }
