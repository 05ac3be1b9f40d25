package githubtest

import (
	"bytes"
	"net/http"
	"strconv"
	"time"
)

// Fault is a way to fail. The ones that change an answer let the request have its effect first, as a broken line would.
type Fault struct {
	instead *answer       // sent, and nothing done
	delay   time.Duration // before anything is done
	pad     int           // bytes of space after the answer
	cut     bool          // half of the answer is sent, and the line is cut
	page    bool          // a page for people, with the status of the answer
}

// Status fails with that status, as GitHub words it.
func Status(status int) Fault {
	message := map[int]string{
		http.StatusUnauthorized: "Bad credentials", http.StatusForbidden: "Forbidden", http.StatusNotFound: "Not Found",
		http.StatusTooManyRequests: "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
	}[status]
	if message == "" {
		message = http.StatusText(status)
	}
	return Fault{instead: new(refuse(status, message))}
}

// Missing fails as for want of a permission.
func Missing(status int, permission string) Fault {
	return Fault{instead: new(inaccessible(status, permission))}
}

// Spent fails with 403 because the hourly limit is reached until then.
func Spent(until time.Time) Fault {
	a := refuse(http.StatusForbidden, "API rate limit exceeded for user ID 1. If you reach out to GitHub Support for help, please include the request ID.")
	a = a.with("X-RateLimit-Remaining", "0").with("X-RateLimit-Reset", strconv.FormatInt(until.Unix(), 10))
	return Fault{instead: &a}
}

// Slowed fails with that status, 403 or 429, and asks to wait so many seconds.
func Slowed(status, seconds int) Fault {
	f := Status(http.StatusTooManyRequests)
	f.instead.status = status
	f.instead.header.Set("Retry-After", strconv.Itoa(seconds))
	return f
}

// Slow answers late.
func Slow(d time.Duration) Fault { return Fault{delay: d} }

// HTML answers with a page.
func HTML() Fault { return Fault{page: true} }

// Oversized answers well, and goes on for two megabytes of space.
func Oversized() Fault { return Fault{pad: 2 << 20} }

// Truncated answers well, and breaks off in the middle.
func Truncated() Fault { return Fault{cut: true} }

// Redirect answers with another place to go.
func Redirect(to string) Fault { return Fault{instead: new(moved(to))} }

// Raw answers with that text as JSON.
func Raw(status int, body string) Fault {
	return Fault{instead: &answer{status, http.Header{"Content-Type": {"application/json; charset=utf-8"}}, []byte(body)}}
}

// planned is a fault that waits for its route to be asked.
type planned struct {
	Fault
	left int // times; negative: always
}

// Fail lets a route, such as GET /user, fail until Heal.
func (s *Server) Fail(route string, f Fault) { s.plan(route, f, -1) }

// FailOnce lets a route fail the next time.
func (s *Server) FailOnce(route string, f Fault) { s.plan(route, f, 1) }

func (s *Server) plan(name string, f Fault, times int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.routes[name]; !known {
		panic("githubtest: no route " + name)
	}
	s.faults[name] = append(s.faults[name], &planned{f, times})
}

// Heal ends what Fail began, everywhere.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.faults)
}

// answer is what the fault makes of the real answer.
func (f Fault) answer(handle func() answer) answer {
	if f.instead != nil {
		a := *f.instead
		a.header = a.header.Clone()
		return a
	}
	a := handle()
	if f.page {
		a.header = http.Header{"Content-Type": {"text/html; charset=utf-8"}}
		a.body = []byte("<!DOCTYPE html><title>Unicorn! · GitHub</title><p>This page is taking too long to load.")
	}
	a.body = append(a.body, bytes.Repeat([]byte(" "), f.pad)...)
	return a
}

// send writes the answer, or half of it.
func send(w http.ResponseWriter, a answer, f Fault) {
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	if a.status == http.StatusNoContent {
		w.Header().Del("Content-Length")
	}
	w.WriteHeader(a.status)
	if !f.cut {
		w.Write(a.body)
		return
	}
	w.Write(a.body[:len(a.body)/2])
	http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}
