package github

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
)

// list is a paged answer of the REST API: {total_count, NAME: […]}.
type list struct {
	what, path, name string
	size, pages      int
}

// each calls yield for every item until it has enough, and reports whether items were left unread for their number.
func (c *Client) each(ctx context.Context, as signer, l list, yield func(json.RawMessage) (bool, error)) (bool, error) {
	for page, read := 1, 0; ; page++ {
		items, total, err := c.readPage(ctx, as, l, page)
		if err != nil {
			return false, err
		}
		for _, item := range items {
			on, err := yield(item)
			if err != nil {
				return false, unavailable(l.what, err)
			}
			if !on {
				return false, nil
			}
		}
		// Counted, not followed: an address for the next page would be another thing to believe.
		if read += len(items); len(items) == 0 || read >= total {
			return false, nil
		}
		if page == l.pages {
			return true, nil
		}
	}
}

func (c *Client) readPage(ctx context.Context, as signer, l list, page int) ([]json.RawMessage, int, error) {
	body, err := c.ask(ctx, as, request{
		what: l.what, method: http.MethodGet, path: l.path, want: http.StatusOK,
		query: url.Values{"per_page": {strconv.Itoa(l.size)}, "page": {strconv.Itoa(page)}},
	})
	if err != nil {
		return nil, 0, err
	}
	var total int
	var items []json.RawMessage
	o, err := parseObject(body)
	if err != nil || json.Unmarshal(o["total_count"], &total) != nil || json.Unmarshal(o[l.name], &items) != nil {
		return nil, 0, unavailable(l.what, errNotUnderstood)
	}
	return items, total, nil
}
