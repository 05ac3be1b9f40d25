package audit

import (
	"encoding/base64"
	"encoding/json"

	"svc.dev/svc/fault"
)

// cursor is the last event of a page. It names no scope: that comes with the query, each time anew.
type cursor struct {
	seq   int64
	at    int64
	chain string
}

// text is the cursor as a client gets it; only one for all chains names the chain.
func (c cursor) text(all bool) string {
	place := []any{c.seq}
	if all {
		place = append(place, c.at, c.chain)
	}
	text, _ := json.Marshal(place) // numbers and a text always marshal
	return base64.RawURLEncoding.EncodeToString(text)
}

func parseCursor(s string, all bool) (c cursor, err error) {
	text, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return c, invalidCursor()
	}
	place := []any{&c.seq}
	if all {
		place = append(place, &c.at, &c.chain)
	}
	if err := json.Unmarshal(text, &place); err != nil {
		return c, invalidCursor()
	}
	// Another text that means the same was not given by a page, nor was a chain that no event can be in.
	if c.text(all) != s || printable(c.chain) != c.chain {
		return c, invalidCursor()
	}
	return c, nil
}

func invalidCursor() error {
	return fault.Invalid("The cursor was not given by this list.").
		With("fields", []map[string]string{{"field": "cursor", "type": "invalid"}})
}
