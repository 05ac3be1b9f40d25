package surface

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"svc.dev/svc/internal/listing"
	"svc.dev/svc/service/strictjson"
)

// maxQuery is how long a text may be that is searched for, in characters.
const maxQuery = 200

// Query is which part of a list is wanted.
func (x *Exchange) Query() (listing.Query, error) {
	v := x.Request.URL.Query()
	q := listing.Query{Q: v.Get("q"), Cursor: v.Get("cursor"), Limit: listing.DefaultLimit}
	for name, text := range map[string]string{"q": q.Q, "cursor": q.Cursor} {
		if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
			return q, strictjson.Wrong(name, strictjson.Invalid)
		}
	}
	if utf8.RuneCountInString(q.Q) > maxQuery {
		return q, strictjson.Wrong("q", strictjson.TooLong)
	}
	if text := v.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > listing.MaxLimit {
			return q, strictjson.Wrong("limit", strictjson.Invalid)
		}
		q.Limit = n
	}
	return q, nil
}

// List answers with a list, unless the client has it as it is.
func (x *Exchange) List(v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := x.Still(); err != nil {
		return err
	}
	tag, has := listing.Tag(x.Request.Header, body)
	x.Out.Header().Set("ETag", tag)
	if has {
		x.Out.Header().Set("Cache-Control", noStore)
		x.Out.WriteHeader(http.StatusNotModified)
		return nil
	}
	return x.Send(http.StatusOK, TypeJSON, noStore, body)
}
