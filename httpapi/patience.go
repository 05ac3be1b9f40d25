package httpapi

import (
	"net/http"
	"time"
)

// How long a client may take to send a body: bodyGrace, and as long as it takes at slowest, but no longer than longest.
const (
	bodyGrace   = 20 * time.Second
	bodySlowest = 32 << 10 // bytes a second
	bodyLongest = 10 * time.Minute
)

// patience is what a client has left of it. Nobody holds a place by sending a byte now and then.
type patience struct {
	began time.Time
	out   *http.ResponseController
}

// until is when what comes behind so many bytes must have come.
func (p *patience) until(received int64) time.Time {
	return p.began.Add(min(bodyGrace+time.Duration(received)*time.Second/bodySlowest, bodyLongest))
}

// allow ends a read that waits for too long. Where no deadline can be set, over has to do.
func (p *patience) allow(received int64) { _ = p.out.SetReadDeadline(p.until(received)) }

// over reports whether so many bytes came too slowly.
func (p *patience) over(received int64) bool { return time.Now().After(p.until(received)) }

// end lets the connection wait again: from here on the client waits for us.
func (p *patience) end() { _ = p.out.SetReadDeadline(time.Time{}) }
