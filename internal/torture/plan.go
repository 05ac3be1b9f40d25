package torture

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"
)

// Act is what is done to an exchange.
type Act string

// What can be done to an exchange.
const (
	Cut       Act = "cut"       // both ends are closed
	Reset     Act = "reset"     // and the client is told so rudely
	Truncate  Act = "truncate"  // no more passes in this direction, and its receiver takes that for the end; the other goes on
	Stall     Act = "stall"     // no more passes; after a while both ends are closed
	Delay     Act = "delay"     // a while passes, and all goes on
	Trickle   Act = "trickle"   // from here on bytes come one by one
	Hold      Act = "hold"      // of an answer: all of it waits until the server ends the connection, as behind a proxy that buffers
	Duplicate Act = "duplicate" // the request is sent once more when its answer comes; what is answered to that is dropped
)

// Plan says what becomes of some exchanges: one request and its answer each, however many there are on a connection.
type Plan struct {
	Match string `json:"match,omitempty"` // what the request's first line has in it. Defaults to all
	Skip  int    `json:"skip,omitempty"`  // so many that match are left alone first
	Times int    `json:"times,omitempty"` // so many are hit then; negative: all that follow. Defaults to 1
	Of    string `json:"of,omitempty"`    // whose bytes count: those of the request or the answer. Defaults to answer
	After int    `json:"after,omitempty"` // so many pass; 0 of an answer: the server has answered, and nobody hears
	Upto  int    `json:"upto,omitempty"`  // above After: a random number between the two pass
	Do    Act    `json:"do"`
	Ms    int    `json:"ms,omitempty"` // how long Stall and Delay take
}

// The directions of a plan.
const (
	Request = "request"
	Answer  = "answer"
)

// check refuses a plan that makes no sense.
func (p Plan) check() error {
	switch p.Do {
	case Cut, Reset, Truncate, Stall, Delay, Trickle, Hold, Duplicate:
	default:
		return errors.New("do is not one of cut, reset, truncate, stall, delay, trickle, hold, duplicate")
	}
	if p.Of != "" && p.Of != Request && p.Of != Answer {
		return errors.New("of is neither request nor answer")
	}
	if p.After < 0 || p.Skip < 0 || p.Ms < 0 {
		return errors.New("a number is negative")
	}
	if p.Do == Hold && (p.Of == Request || p.After > 0) {
		return errors.New("only an answer can be held, and only all of it")
	}
	return nil
}

// take reports whether an exchange with that first line is hit, and counts it.
func (p *Plan) take(line string) bool {
	if !strings.Contains(line, p.Match) || p.Times == 0 {
		return false
	}
	if p.Skip > 0 {
		p.Skip--
		return false
	}
	if p.Times > 0 {
		p.Times--
	}
	return true
}

// fate is what becomes of one exchange.
type fate struct {
	Plan
	at   int         // after so many bytes
	done atomic.Bool // it has happened
}

func (p Plan) fate() *fate {
	f := &fate{Plan: p, at: p.After}
	if p.Upto > p.After {
		f.at += rand.N(p.Upto - p.After + 1)
	}
	return f
}

func (f *fate) lasts() time.Duration { return time.Duration(f.Ms) * time.Millisecond }

// awaits reports whether the fate is one of a direction and has not come yet.
func (f *fate) awaits(direction string) bool {
	return f != nil && !f.done.Load() && f.Do != Duplicate && f.direction() == direction
}

// trickles reports whether bytes of a direction come one by one by now.
func (f *fate) trickles(direction string) bool {
	return f != nil && f.done.Load() && f.Do == Trickle && f.direction() == direction
}

func (f *fate) direction() string { return cmp.Or(f.Of, Answer) }
