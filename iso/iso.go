// Package iso is how times are written, wherever somebody outside reads them: RFC 3339 in UTC, with milliseconds, always
// three digits. encoding/json would leave out the zeros at their end, so that equal moments have three spellings.
package iso

import (
	"encoding/json"
	"time"
)

// Layout is that form, for times in UTC.
const Layout = "2006-01-02T15:04:05.000Z"

// Format writes a time.
func Format(t time.Time) string { return t.UTC().Format(Layout) }

// Time is a time in JSON.
type Time time.Time

func (t Time) String() string { return Format(time.Time(t)) }

// MarshalJSON prints the time as a string.
func (t Time) MarshalJSON() ([]byte, error) {
	return append(time.Time(t).UTC().AppendFormat([]byte{'"'}, Layout), '"'), nil
}

// UnmarshalJSON reads what MarshalJSON prints, and every other form of RFC 3339.
func (t *Time) UnmarshalJSON(data []byte) error {
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	parsed, err := time.Parse(time.RFC3339Nano, s)
	*t = Time(parsed)
	return err
}

// Optional is a time that may not be known: nil for the zero time.
func Optional(t time.Time) *Time {
	if t.IsZero() {
		return nil
	}
	at := Time(t)
	return &at
}

// Moment is a time that answers show. One that is zero is not known, which is null.
type Moment struct{ time.Time }

// At is a time as a Moment.
func At(t time.Time) Moment { return Moment{t} }

// Clock is a clock, or else the real one, that tells whole milliseconds: what is answered at once and what is read back later
// are the same time.
func Clock(now func() time.Time) func() time.Time {
	if now == nil {
		now = time.Now
	}
	return func() time.Time { return now().Truncate(time.Millisecond) }
}

// Millis is the moment of so many milliseconds since 1970.
func Millis(n int64) Moment { return Moment{time.UnixMilli(n).UTC()} }

// MarshalJSON prints the moment like a Time.
func (m Moment) MarshalJSON() ([]byte, error) {
	if m.IsZero() {
		return []byte("null"), nil
	}
	return Time(m.Time).MarshalJSON()
}

// UnmarshalJSON reads what MarshalJSON prints, and every other form of RFC 3339.
func (m *Moment) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*m = Moment{}
		return nil
	}
	return (*Time)(&m.Time).UnmarshalJSON(data)
}
