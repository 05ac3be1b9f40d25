package client

import (
	"encoding/json"
	"time"
)

// Live is how a stream is followed.
type Live string

// The ways to follow a stream.
const (
	Auto     Live = ""          // server-sent events; long-poll for a while where they are held back on their way
	SSE      Live = "sse"       // server-sent events, whatever happens to them
	LongPoll Live = "long-poll" // one answer at a time
	CatchUp  Live = "catch-up"  // what is there now, and no further
)

// StreamOptions is which part of a stream is read, and how. The zero value reads all of it and follows.
type StreamOptions struct {
	// After is an offset or a checkpoint: what comes behind it is read. Start is before everything, and Now, of runs alone, where the
	// stream ends now. Defaults to Start.
	After string
	// Tail reads the last so many events instead of all, of runs alone and from Start alone. Defaults to all.
	Tail int
	// Live defaults to Auto.
	Live Live
}

// The offsets that every stream knows.
const (
	Start = "-1"
	Now   = "now"
)

// page is what a stream gives at a time. It is whole: what was cut off on its way is none.
type page struct {
	items  []json.RawMessage
	before string // where it begins
	next   string // where its reader stands once it has been taken
	tail   bool   // nothing lay behind it
	closed bool   // and nothing ever will
}

// checkpoint is where a reader stands that has taken an item and those before it: behind the page with its last one alone.
func (p page) checkpoint(item int) string {
	if item == len(p.items)-1 {
		return p.next
	}
	return p.before
}

// Time is a time as the wire has it: UTC, in milliseconds.
type Time struct{ time.Time }

// MarshalJSON prints the time as the wire has it.
func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(t.UTC().Format(`"2006-01-02T15:04:05.000Z07:00"`)), nil
}
