package gateway

import (
	"errors"
	"io"
	"time"
)

// pace gives each step of a transfer its time: the whole may take long, but nobody keeps us by standing still, and nobody
// goes on who would not be let in any more.
type pace struct {
	extend func(time.Time) error // where there is no deadline the server's own has to do
	each   time.Duration
	until  time.Time

	still func() error // why it must end; nil: nobody asks
	every time.Duration
	asked time.Time
}

// paced is a pace that asks again whether who was let in may go on, as often as of a stream.
func (x *exchange) paced(extend func(time.Time) error) pace {
	return pace{extend: extend, each: x.g.WriteTimeout, still: func() error { return x.v.Again(x.Ctx()) }, every: x.g.Recheck, asked: time.Now()}
}

// step gives the next step its time. A deadline that still leaves it is not set anew: that costs as much as the step.
func (p *pace) step() {
	if now := time.Now(); p.until.Sub(now) < p.each {
		p.until = now.Add(p.each * 5 / 4)
		_ = p.extend(p.until)
	}
}

// ask is why the transfer must end.
func (p *pace) ask() error {
	if p.still == nil || time.Since(p.asked) < p.every {
		return nil
	}
	p.asked = time.Now()
	return p.still()
}

// pacedBody is a body that may be long.
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
	if refused := b.pace.ask(); refused != nil {
		return 0, refused
	}
	return n, err
}

// transfer counts a file that comes or goes: like streams, each person has so many at one time.
func (x *exchange) transfer() (release func(), err error) {
	return x.g.transfers.Take(x.v.Self().Account.ID)
}
