package surface

import (
	"encoding/json"
	"net/http"
	"strconv"

	"svc.dev/svc/internal/listing"
	"svc.dev/svc/service/strictjson"
)

// Query is which part of a list is wanted.
func (x *Exchange) Query() (listing.Query, error) {
	v := x.Request.URL.Query()
	q := listing.Query{Q: v.Get("q"), Cursor: v.Get("cursor"), Limit: listing.DefaultLimit}
	if err := q.Check(); err != nil {
		return q, err
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
