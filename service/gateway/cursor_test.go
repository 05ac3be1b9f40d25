package gateway_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/gateway"
)

// askedLists are the lists that the runtime answers: their cursors are its own, and one of runs that cannot be read begins at the top.
var askedLists = []string{"/agents", "/channels", "/workflows", "/runs"}

// TestACursorIsTakenByItsOwnListAlone reads every list by pages of one item, and shows every other the cursor that it gave.
func TestACursorIsTakenByItsOwnListAlone(t *testing.T) {
	sqldbtest.AnySchema(t, func(t *testing.T, address string) {
		s := newOnslaught(t, address)
		s.signIn(t)
		for _, name := range []string{"A_SECRET", "B_SECRET"} {
			s.do(t, call{on: gateway.Agents, method: "PUT", path: s.filled("/api/workspaces/{username}/{business}/secrets/") + name, cookie: s.cookie, body: map[string]string{"value": "v"}})
		}
		cursors, given := map[string]string{}, 0
		var lists []Operation
		for _, o := range described(t).Operations {
			own := slices.ContainsFunc(askedLists, func(end string) bool { return strings.HasSuffix(o.Path, end) })
			if o.Method != http.MethodGet || !slices.Contains(o.Parameters("query"), "cursor") || own || strings.HasPrefix(o.Path, "/v1/") {
				continue
			}
			lists = append(lists, o)
			cursors[o.ID] = listing.Label(o.ID, listing.Cursor(1, "a"))
			var first struct{ NextCursor string }
			got := s.do(t, s.list(o, "limit=1"))
			if got.StatusCode == 404 {
				continue // what it is a list of is not there
			}
			if got.wants(t, 200, "").read(t, &first); first.NextCursor == "" {
				continue
			}
			given++
			cursors[o.ID] = first.NextCursor
			s.do(t, s.list(o, "cursor="+url.QueryEscape(first.NextCursor))).wants(t, 200, "")
		}
		for _, o := range lists {
			for of, cursor := range cursors {
				if of == o.ID {
					continue
				}
				s.do(t, s.list(o, "cursor="+url.QueryEscape(cursor))).wants(t, 400, "invalid_request")
			}
			s.do(t, s.list(o, "cursor="+listing.Cursor(1, "a"))).wants(t, 400, "invalid_request")
		}
		if given < 5 || len(lists) < 15 {
			t.Errorf("%d of %d lists gave a cursor", given, len(lists))
		}
	})
}

// list is a request for a list, on any surface that has it.
func (s *onslaught) list(o Operation, query string) call {
	return call{on: gateway.Surface(o.Surfaces[0]), path: s.filled(o.Path) + "?" + query, cookie: s.cookie}
}

// TestEveryListIsSearchedForAsMuch asks all lists that are searched for a text that is as long as one may be, and one that is longer.
func TestEveryListIsSearchedForAsMuch(t *testing.T) {
	s := newOnslaught(t, sqldbtest.SQLite(t))
	s.signIn(t)
	asked := 0
	for _, o := range described(t).Operations {
		if o.Method != http.MethodGet || !slices.Contains(o.Parameters("query"), "q") || strings.HasPrefix(o.Path, "/v1/") {
			continue // the runtime answers below {base_url} as the contract has it
		}
		asked++
		s.do(t, s.list(o, "q="+strings.Repeat("x", listing.MaxQ))).wants(t, 200, "")
		if got := s.do(t, s.list(o, "q="+strings.Repeat("x", listing.MaxQ+1))).wants(t, 400, "invalid_request"); !strings.Contains(got.body, `{"field":"q","type":"too_long"}`) {
			t.Errorf("%s: %s", o.Path, got.body)
		}
	}
	if asked < 12 {
		t.Errorf("only %d lists were asked", asked)
	}
}
