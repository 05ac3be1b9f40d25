package stream

import (
	"encoding/base64"
	"strconv"
	"time"
)

// The headers of the protocol.
const (
	HeaderNextOffset = "Stream-Next-Offset"
	HeaderUpToDate   = "Stream-Up-To-Date"
	HeaderClosed     = "Stream-Closed"
	HeaderCursor     = "Stream-Cursor"
)

// The values of the live query parameter.
const (
	LiveLongPoll = "long-poll"
	LiveSSE      = "sse"
)

const (
	cursorEpoch    = 1728432000000 // 2024-10-09T00:00Z in milliseconds
	cursorInterval = 20000
	cursorJitter   = 180
)

// ETag names one page of one stream: it changes with the path, either end of the page, and the closing.
func ETag(path string, after, next Offset, closed bool) string {
	tag := `"` + base64.StdEncoding.EncodeToString([]byte(path)) + ":" + after.String() + ":" + next.String()
	if closed {
		tag += ":c"
	}
	return tag + `"`
}

// Cursor is the interval of time that an answer belongs to, always ahead of the cursor that the client sent, so that a
// cache between us never answers a waiting reader with the same page twice. jitter returns a number below its argument.
func Cursor(now time.Time, sent string, jitter func(n int64) int64) string {
	current := (now.UnixMilli() - cursorEpoch) / cursorInterval
	n, err := strconv.ParseInt(sent, 10, 64)
	if err != nil || n < current || n > 1<<53 {
		return strconv.FormatInt(current, 10)
	}
	return strconv.FormatInt(n+1+jitter(cursorJitter), 10)
}
