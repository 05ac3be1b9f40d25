package engine_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"svc.dev/svc"
	"svc.dev/svc/conversation"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/service/engine"
	"svc.dev/svc/service/scope"
)

// found is a page of conversations as the gateway is told of it.
type found struct {
	Items      []engine.Conversation
	NextCursor string
	Error      fault.Error
}

// TestConversationsAreFoundByInstanceAndTitle reads all that match in pages, and no other.
func TestConversationsAreFoundByInstanceAndTitle(t *testing.T) {
	rt, e := start(t)
	ask := func(claims scope.Claims, query url.Values) (status int, f found) {
		t.Helper()
		w := httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequestWithContext(scope.With(t.Context(), claims), "GET", engine.ConversationsPath+"?"+query.Encode(), nil))
		if err := json.Unmarshal(w.Body.Bytes(), &f); err != nil {
			t.Fatalf("%s: %v", w.Body, err)
		}
		return w.Code, f
	}
	for n := range 12 {
		text := []string{"What of the Refund?", "n=1", "100% of_it"}[n%3]
		message := conversation.Message{Kind: "user", Body: text + "\nand more that is no title: hidden"}
		if _, err := rt.In("users/ada/personal").Prompt(t.Context(), engine.Central, fmt.Sprintf("Talk-%02d", n), svc.Prompt{Message: message}); err != nil {
			t.Fatal(err)
		}
	}
	ada := claims("ada")
	for q, want := range map[string]int{"": 12, "refund": 4, "REFUND": 4, "talk-0": 10, "TALK-11": 1, "%": 4, "_": 4, "hidden": 0, "nothing": 0, "a": 12} {
		for _, limit := range []string{"1", "5", "200"} {
			var seen []string
			query := url.Values{"agent": {engine.Central}, "q": {q}, "limit": {limit}}
			for more := true; more; {
				status, f := ask(ada, query)
				if status != 200 || len(seen) > want {
					t.Fatalf("%q: %d, %d items", q, status, len(seen))
				}
				for _, c := range f.Items {
					seen = append(seen, c.Instance)
				}
				query.Set("cursor", f.NextCursor)
				more = f.NextCursor != ""
			}
			if slices.Sort(seen); len(slices.Compact(seen)) != want {
				t.Errorf("%q by pages of %s: %v, want %d", q, limit, seen, want)
			}
		}
	}

	_, first := ask(ada, url.Values{"agent": {engine.Central}, "limit": {"1"}})
	own := first.NextCursor
	if own == "" {
		t.Fatal("there is no next page")
	}
	bob := claims("ada")
	bob.Account, bob.Scope = "bob", "users/bob/personal"
	for what, c := range map[string]struct {
		claims        scope.Claims
		agent, cursor string
	}{
		"another agent":     {ada, "other", own},
		"another workspace": {bob, engine.Central, own},
		"no list":           {ada, engine.Central, "nonsense"},
		"another list":      {ada, engine.Central, "listTeams." + strings.TrimPrefix(own, "conversations.")},
		"no label":          {ada, engine.Central, strings.TrimPrefix(own, "conversations.")},
		"another place":     {ada, engine.Central, "conversations." + listing.Cursor(1, "a")},
		"a zero":            {ada, engine.Central, "conversations." + listing.Cursor(ada.Scope, engine.Central, "\x00", 1)},
	} {
		if status, f := ask(c.claims, url.Values{"agent": {c.agent}, "cursor": {c.cursor}}); status != 400 || f.Error.Type != fault.InvalidRequest {
			t.Errorf("a cursor of %s: %d %+v", what, status, f)
		}
	}
}
