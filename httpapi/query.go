package httpapi

import (
	"math"
	"net/url"
	"strconv"
	"strings"

	"svc.dev/svc/fault"
	"svc.dev/svc/stream"
)

// query is the parameters of a request. Unlike url.Values it drops nothing: an escape that cannot be read stands for
// itself, as in browsers, so that a malformed parameter is refused and not overlooked.
type query map[string][]string

func parseQuery(raw string) query {
	q := query{}
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
	text, err := url.QueryUnescape(s)
	if err != nil {
		return s
	}
	return text
}

func (q query) has(key string) bool { return len(q[key]) > 0 }

func (q query) first(key string) string {
	if !q.has(key) {
		return ""
	}
	return q[key][0]
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
func parseRunQuery(q query) (readQuery, error) {
	asked := readQuery{after: stream.Start, live: q.first(live), cursor: q.first("cursor")}
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
	if q.has(live) && !q.has("offset") {
		return asked, fault.Invalid("live needs offset.")
	}
	if err := checkLive(q); err != nil {
		return asked, err
	}
	if q.has("offset") {
		// The largest offset has the value that stands for now: only the text tells them apart.
		asked.now = q.first("offset") == "now"
		var err error
		if asked.after, err = stream.ParseLoose(q.first("offset")); err != nil {
			return asked, fault.Invalid("bad offset.")
		}
	}
	if asked.after == stream.Start {
		asked.last = last
	}
	return asked, nil
}

func checkLive(q query) error {
	if mode := q.first(live); q.has(live) && mode != stream.LiveLongPoll && mode != stream.LiveSSE {
		return fault.Invalid("live must be long-poll or sse.")
	}
	return nil
}

// parseUpdatesQuery refuses in the order of the contract. An agent's offset is one that it was given, to the letter.
func parseUpdatesQuery(q query) (readQuery, error) {
	asked := readQuery{live: q.first(live), cursor: q.first("cursor")}
	if q.has("tail") {
		return asked, fault.Invalid("updates take no tail.")
	}
	if len(q["offset"]) != 1 {
		return asked, fault.Invalid("exactly one offset is required.")
	}
	var err error
	if asked.after, err = stream.Parse(q.first("offset")); err != nil {
		return asked, fault.Invalid("bad offset.")
	}
	return asked, checkLive(q)
}

// checkHistoryQuery refuses what belongs to updates.
func checkHistoryQuery(q query) error {
	if q.has("offset") || q.has("tail") || q.has(live) {
		return fault.Invalid("history takes no offset, tail or live.")
	}
	return nil
}

// parseTail reads a number without an upper bound: what passes ours asks for everything.
func parseTail(q query) (last int64, ok bool) {
	if !q.has("tail") {
		return 0, true
	}
	text := q.first("tail")
	if text == "" || text[0] == '0' || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	if last, err := strconv.ParseInt(text, 10, 64); err == nil {
		return last, true
	}
	return math.MaxInt64, true
}
