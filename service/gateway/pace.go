package gateway

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// pace gives each step of a transfer its time: the whole may take long, but nobody keeps us by standing still.
type pace struct {
	extend func(time.Time) error // where there is no deadline the server's own has to do
	each   time.Duration
	until  time.Time
}

// step gives the next step its time. A deadline that still leaves it is not set anew: that costs as much as the step.
func (p *pace) step() {
	if now := time.Now(); p.until.Sub(now) < p.each {
		p.until = now.Add(p.each * 5 / 4)
		_ = p.extend(p.until)
	}
}

// upload is the body of a request that may be long.
func (x *exchange) upload() io.Reader {
	return &pacedBody{x.r.Body, pace{extend: http.NewResponseController(x.out).SetReadDeadline, each: x.g.WriteTimeout}}
}

type pacedBody struct {
	io.Reader
	pace pace
}

func (b *pacedBody) Read(into []byte) (int, error) {
	b.pace.step()
	n, err := b.Reader.Read(into)
	if errors.Is(err, io.EOF) {
		_ = b.pace.extend(time.Time{}) // from here on the client waits for us
	}
	return n, err
}
