package cli

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"

	"svc.dev/svc/client"
)

// largest is how many items of a list come at once at most.
const largest = 200

// found is some items of a list, as the service told them.
type found struct {
	Items []json.RawMessage `json:"items"`
	// More says that there are others.
	More bool `json:"more"`
}

// list reads a list page by page, up to so many items; 0 is all of them.
func list(ctx context.Context, c *client.Client, path string, query url.Values, limit uint32) (all found, err error) {
	most := int(limit)
	all.Items = []json.RawMessage{}
	if query == nil {
		query = url.Values{}
	}
	for empty := 0; ; {
		size := largest
		if most > 0 {
			size = min(size, most-len(all.Items))
		}
		query.Set("limit", strconv.Itoa(size))
		var page struct {
			Items []json.RawMessage `json:"items"`
			Next  string            `json:"nextCursor"`
		}
		if err := c.Call(ctx, client.Request{Path: path, Query: query}, &page); err != nil {
			return all, err
		}
		all.Items = append(all.Items, page.Items...)
		all.More = page.Next != ""
		if most > 0 && len(all.Items) >= most {
			all.More = all.More || len(all.Items) > most
			all.Items = all.Items[:most]
			return all, nil
		}
		if empty++; len(page.Items) > 0 {
			empty = 0
		}
		switch {
		case !all.More:
			return all, nil
		case page.Next == query.Get("cursor") || empty == mostEmpty:
			return all, errEndless
		}
		query.Set("cursor", page.Next)
	}
}

// mostEmpty is how many pages without items may come in a row.
const mostEmpty = 10

var errEndless = errors.New("the service tells of further items, and has none")

// decoded are items as a type that people are shown.
func decoded[T any](items []json.RawMessage) ([]T, error) {
	all := make([]T, len(items))
	for i, item := range items {
		if err := json.Unmarshal(item, &all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}
