package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"svc.dev/svc/internal/listing"
	"svc.dev/svc/service/strictjson"
)

// Bounds of a list.
const (
	defaultLimit = listing.DefaultLimit
	maxLimit     = listing.MaxLimit
	maxQuery     = 200 // characters of a text that is searched for
)

// asking is which part of a list is wanted.
type asking struct {
	q, cursor string
	limit     int
}

// asks reads q, cursor and limit.
func (x *exchange) asks() (asking, error) {
	v := x.r.URL.Query()
	a := asking{q: v.Get("q"), cursor: v.Get("cursor"), limit: defaultLimit}
	for name, text := range map[string]string{"q": a.q, "cursor": a.cursor} {
		if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
			return a, strictjson.Wrong(name, strictjson.Invalid)
		}
	}
	if utf8.RuneCountInString(a.q) > maxQuery {
		return a, strictjson.Refuse(strictjson.Field{Field: "q", Type: strictjson.TooLong})
	}
	if text := v.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxLimit {
			return a, strictjson.Wrong("limit", strictjson.Invalid)
		}
		a.limit = n
	}
	return a, nil
}

// query is asking as a room takes it.
func (a asking) query() listing.Query {
	return listing.Query{Cursor: a.cursor, Limit: a.limit, Q: a.q}
}

// query is which part of a list is wanted.
func (x *exchange) query() (listing.Query, error) {
	a, err := x.asks()
	return a.query(), err
}

// list answers with a list, unless the client has it as it is.
func (x *exchange) list(v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(body)
	tag := `"` + hex.EncodeToString(sum[:12]) + `"`
	x.out.Header().Set("ETag", tag)
	if slices.Contains(strings.Split(strings.ReplaceAll(x.r.Header.Get("If-None-Match"), " ", ""), ","), tag) {
		x.out.Header().Set("Cache-Control", "no-store")
		x.out.WriteHeader(http.StatusNotModified)
		return nil
	}
	return x.write(http.StatusOK, body)
}
