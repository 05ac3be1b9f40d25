package audit

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"svc.dev/svc/iso"
)

// object writes one JSON object in the form of RFC 8785: no space, the shortest escapes, and keys in order, which is the
// order its methods are called in. The form is written down here because hashes and signatures hang on every byte.
type object struct{ b []byte }

func (o *object) key(k string) {
	if len(o.b) == 0 {
		o.b = append(o.b, '{')
	} else {
		o.b = append(o.b, ',')
	}
	o.b = append(appendText(o.b, k), ':')
}

func (o *object) text(k, v string) {
	o.key(k)
	o.b = appendText(o.b, v)
}

func (o *object) number(k string, n int64) {
	o.key(k)
	o.b = strconv.AppendInt(o.b, n, 10)
}

func (o *object) bytes(k string, v []byte) { o.text(k, hex.EncodeToString(v)) }

func (o *object) time(k string, t time.Time) { o.text(k, iso.Format(t)) }

func (o *object) raw(k string, v []byte) {
	o.key(k)
	o.b = append(o.b, v...)
}

// end is the object's text; one without keys does not occur.
func (o *object) end() []byte { return append(o.b, '}') }

// arrayOf is the text of a JSON array.
func arrayOf[T any](list []T, appendItem func([]byte, T) []byte) []byte {
	b := []byte{'['}
	for i, item := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendItem(b, item)
	}
	return append(b, ']')
}

// shortEscapes are the control characters that have an escape of two characters.
var shortEscapes = map[byte]byte{'\b': 'b', '\t': 't', '\n': 'n', '\f': 'f', '\r': 'r', '"': '"', '\\': '\\'}

func appendText(b []byte, s string) []byte {
	b = append(b, '"')
	for _, c := range []byte(s) {
		if c >= 0x20 && c != '"' && c != '\\' {
			b = append(b, c)
			continue
		}
		if short, ok := shortEscapes[c]; ok {
			b = append(b, '\\', short)
			continue
		}
		b = fmt.Appendf(b, `\u%04x`, c)
	}
	return append(b, '"')
}

// canonical is the event's text; its hash covers the one without.
func (e Event) canonical(withHash bool) []byte {
	var o object
	o.text("action", e.Action)
	o.raw("actor", e.Actor.canonical())
	o.text("authority", e.Source.Authority)
	o.text("chain", e.Chain)
	if len(e.Changes) > 0 {
		o.raw("changes", arrayOf(e.Changes, appendText))
	}
	if e.Count != 0 {
		o.number("count", e.Count)
	}
	if withHash {
		o.bytes("hash", e.Hash)
	}
	if e.Source.Impersonator != nil {
		o.raw("impersonator", e.Source.Impersonator.canonical())
	}
	o.text("ip", e.Source.IP)
	o.text("outcome", e.Outcome)
	o.bytes("prevHash", e.PrevHash)
	o.text("requestId", e.Source.RequestID)
	o.text("scope", e.Scope)
	o.number("seq", e.Seq)
	if e.Subject != nil {
		o.raw("subject", e.Subject.canonical())
	}
	o.text("surface", e.Source.Surface)
	o.raw("target", e.Target.canonical())
	o.time("ts", e.At)
	o.text("userAgent", e.Source.UserAgent)
	return o.end()
}

func (a Actor) canonical() []byte {
	var o object
	o.text("id", a.ID)
	o.text("kind", a.Kind)
	o.text("username", a.Username)
	return o.end()
}

func (t Target) canonical() []byte {
	var o object
	o.text("id", t.ID)
	o.text("kind", t.Kind)
	return o.end()
}
