package httpapi

import (
	"math"
	"net/url"
	"strconv"
	"strings"

	"svc.dev/svc/fault"
	"svc.dev/svc/stream"
)

// parseQuery reads the parameters of a request. Unlike url.ParseQuery it drops nothing: an escape that cannot be read stands for
// itself, as in browsers, so that a malformed parameter is refused and not overlooked.
func parseQuery(raw string) url.Values {
	q := url.Values{}
	for pair := range strings.SplitSeq(raw, "&") {
		if pair == "" {
			continue
		}
		key, value, _ := strings.Cut(pair, "=")
		key = unescape(key)
		q[key] = append(q[key], unescape(value))
	}
	return q
}

func unescape(s string) string {
	if text, err := url.QueryUnescape(s); err == nil {
		return text
	}
	return s
}

// readQuery is where a stream is read from, and how.
type readQuery struct {
	after  stream.Offset
	now    bool   // of a run: after is not known yet: wherever the stream ends when the read begins
	last   int64  // of a run: only so many of the last events; 0: all
	live   string // empty: one page at once
	cursor string // of the answer before
}

const live = "live"

// parseRunQuery refuses in the order of the contract.
func parseRunQuery(q url.Values) (readQuery, error) {
	asked := readQuery{after: stream.Start, live: q.Get(live), cursor: q.Get("cursor")}
	if len(q["offset"]) > 1 {
		return asked, fault.Invalid("offset given twice.")
	}
	if len(q["tail"]) > 1 {
		return asked, fault.Invalid("tail given twice.")
	}
	last, ok := parseTail(q)
	if !ok {
		return asked, fault.Invalid("tail must be a whole number from 1.")
	}
	if q.Has(live) && !q.Has("offset") {
		return asked, fault.Invalid("live needs offset.")
	}
	if err := checkLive(q); err != nil {
		return asked, err
	}
	if q.Has("offset") {
		// The largest offset has the value that stands for now: only the text tells them apart.
		asked.now = q.Get("offset") == "now"
		var err error
		if asked.after, err = stream.ParseLoose(q.Get("offset")); err != nil {
			return asked, fault.Invalid("bad offset.")
		}
	}
	if asked.after == stream.Start {
		asked.last = last
	}
	return asked, nil
}

func checkLive(q url.Values) error {
	if mode := q.Get(live); q.Has(live) && mode != stream.LiveLongPoll && mode != stream.LiveSSE {
		return fault.Invalid("live must be long-poll or sse.")
	}
	return nil
}

// parseUpdatesQuery refuses in the order of the contract. An agent's offset is one that it was given, to the letter.
func parseUpdatesQuery(q url.Values) (readQuery, error) {
	asked := readQuery{live: q.Get(live), cursor: q.Get("cursor")}
	if q.Has("tail") {
		return asked, fault.Invalid("updates take no tail.")
	}
	if len(q["offset"]) != 1 {
		return asked, fault.Invalid("exactly one offset is required.")
	}
	var err error
	if asked.after, err = stream.Parse(q.Get("offset")); err != nil {
		return asked, fault.Invalid("bad offset.")
	}
	return asked, checkLive(q)
}

// parseTail reads a number without an upper bound: what passes ours asks for everything.
func parseTail(q url.Values) (last int64, ok bool) {
	if !q.Has("tail") {
		return 0, true
	}
	text := q.Get("tail")
	if text == "" || text[0] == '0' || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	if last, err := strconv.ParseInt(text, 10, 64); err == nil {
		return last, true
	}
	return math.MaxInt64, true
}
