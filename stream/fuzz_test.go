package stream

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func offsetSeeds(f *testing.F) {
	for _, seed := range []string{"-1", "now", "0_0", "0000000000000000_0000000000000005", "0_9223372036854775807", "0_9223372036854775808", "_", "1_", "-1_1", "0_+1", "٣_٣"} {
		f.Add(seed)
	}
}

func FuzzParse(f *testing.F) {
	offsetSeeds(f)
	f.Fuzz(func(t *testing.T, s string) {
		o, err := Parse(s)
		if err == nil && o.String() != s {
			t.Fatalf("%q is read as %s", s, o)
		}
		if loose, looseErr := ParseLoose(s); err == nil && (looseErr != nil || loose != o) {
			t.Fatalf("%q is %s, loosely %s %v", s, o, loose, looseErr)
		}
	})
}

var loose = regexp.MustCompile(`\A[0-9]+_([0-9]+)\z`)

func FuzzParseLoose(f *testing.F) {
	offsetSeeds(f)
	f.Fuzz(func(t *testing.T, s string) {
		o, err := ParseLoose(s)
		switch m := loose.FindStringSubmatch(s); {
		case s == "-1":
			if err != nil || o != Start {
				t.Fatalf("%q is %s, %v", s, o, err)
			}
		case s == "now":
			if err != nil || o != Tail {
				t.Fatalf("%q is %s, %v", s, o, err)
			}
		case m == nil:
			if err == nil {
				t.Fatalf("%q is %s", s, o)
			}
		default:
			n, tooBig := strconv.ParseInt(m[1], 10, 64)
			if (err == nil) != (tooBig == nil) || err == nil && o != Offset(n) {
				t.Fatalf("%q is %d, %v", s, int64(o), err)
			}
			if back, err := ParseLoose(o.String()); tooBig == nil && (err != nil || back != o) {
				t.Fatalf("%q prints as %s, which is %s, %v", s, o, back, err)
			}
		}
	})
}

func FuzzCursor(f *testing.F) {
	f.Add("", int64(0))
	f.Add("12", int64(179))
	f.Add("9223372036854775807", int64(5))
	f.Add("-9223372036854775808", int64(5))
	f.Add("9007199254740992", int64(179))
	f.Fuzz(func(t *testing.T, sent string, random int64) {
		now := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
		current := (now.UnixMilli() - cursorEpoch) / cursorInterval
		jitter := func(n int64) int64 { return int64(uint64(random) % uint64(n)) }
		got, err := strconv.ParseInt(Cursor(now, sent, jitter), 10, 64)
		if err != nil || got < current {
			t.Fatalf("%q: %d, %v", sent, got, err)
		}
		if n, err := strconv.ParseInt(sent, 10, 64); err == nil && n >= current && n < 1<<53 && (got <= n || got > n+cursorJitter) {
			t.Fatalf("%q: %d", sent, got)
		}
	})
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte("event: data\ndata:[1]\n\nevent: control\ndata:{}\n\n: heartbeat\n\n"))
	f.Add([]byte("data: a\r\ndata:b\r\rdata\n\n"))
	f.Add([]byte("event:x\ndata:cut off"))
	f.Fuzz(func(t *testing.T, text []byte) {
		// However the bytes arrive, the events are the same.
		whole, drop := readEvents(bytes.NewReader(text)), readEvents(iotest.OneByteReader(bytes.NewReader(text)))
		if whole != drop {
			t.Fatalf("%q is read as %s, byte by byte as %s", text, whole, drop)
		}
	})
}

// FuzzFrames writes frames and reads them back.
func FuzzFrames(f *testing.F) {
	f.Add(int64(4), "line", "17", true, false)
	f.Add(int64(math.MaxInt64), "", "", false, true)
	f.Fuzz(func(t *testing.T, next int64, text, cursor string, upToDate, closed bool) {
		if strings.ContainsAny(text+cursor, "\r\n\"\\") || next < 0 {
			return
		}
		frame := NewFrame(Start, Offset(next), [][]byte{[]byte(text), []byte("2")})
		wire := append(bytes.Clone(frame.SSE()), Heartbeat()...)
		wire = AppendControl(wire, frame.Next, "1"+strconv.Itoa(len(cursor)), upToDate, closed)
		var names []string
		for e, err := range Events(bytes.NewReader(wire)) {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, e.Name)
			if e.Name == "data" && !bytes.Equal(e.Data, bytes.TrimPrefix(frame.JSON(), []byte(" "))) {
				t.Fatalf("%q is read as %q", frame.JSON(), e.Data)
			}
			if e.Name != "control" {
				continue
			}
			c, err := ParseControl(e.Data)
			if err != nil || c.NextOffset != frame.Next.String() || c.Closed != closed || c.UpToDate != (upToDate && !closed) || (c.Cursor == "") != closed {
				t.Fatalf("control %s: %+v, %v", e.Data, c, err)
			}
		}
		if strings.Join(names, " ") != "data control" {
			t.Fatalf("%q has the events %v", wire, names)
		}
	})
}

func readEvents(r io.Reader) string {
	var b strings.Builder
	for e, err := range Events(r) {
		fmt.Fprintf(&b, "%q %q %v;", e.Name, e.Data, err)
	}
	return b.String()
}
