package listing_test

import (
	"encoding/base64"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
)

func encode(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

func TestAListIsReadPageByPage(t *testing.T) {
	all := []string{"a", "b", "c", "d", "e"}
	var got []string
	for q := (listing.Query{Limit: 2}); ; {
		after := ""
		if err := q.After(&after); err != nil {
			t.Fatalf("cursor %q: %v", q.Cursor, err)
		}
		first, _ := slices.BinarySearch(all, after+"\x01")
		page := listing.Cut(all[first:min(first+q.Size()+1, len(all))], q.Size(), func(s string) []any { return []any{s} })
		got = append(got, page.Items...)
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	if !slices.Equal(got, all) {
		t.Errorf("read %v", got)
	}
}

func TestAPageHoldsNoMoreThanItMay(t *testing.T) {
	for limit, want := range map[int]int{-1: 50, 0: 50, 1: 1, 200: 200, 201: 200, math.MaxInt: 200} {
		if got := (listing.Query{Limit: limit}).Size(); got != want {
			t.Errorf("limit %d: %d", limit, got)
		}
	}
}

func TestAListByAgeBeginsWithTheNewest(t *testing.T) {
	if at, id, err := (listing.Query{}).Older(); at != math.MaxInt64 || id != "" || err != nil {
		t.Errorf("from %d %q, %v", at, id, err)
	}
	next := listing.Cursor(listing.Age(time.UnixMilli(7), "b")...)
	if at, id, err := (listing.Query{Cursor: next}).Older(); at != 7 || id != "b" || err != nil {
		t.Errorf("from %d %q, %v", at, id, err)
	}
}

func TestACursorThatNoListGaveIsRefused(t *testing.T) {
	good := listing.Cursor(1, "a")
	for _, cursor := range []string{
		"x", "!", good + "=", good + "\n", " " + good, encode("null"), encode("{}"), encode("[]"), encode("[1]"), encode(`["1","a"]`), encode(`[1.5,"a"]`),
		encode(`[1e99,"a"]`), encode(`[99999999999999999999,"a"]`), encode(`[1,"a",2]`), encode(`[1,"a"] [2]`), encode(`[1, "a"]`), encode(`[null,"a"]`),
		encode(`[1,null]`), encode(`[1,"\u0061"]`), encode(`[1,"a\u0000"]`), encode("[1,\"\xff\"]"), strings.Repeat("A", 100_001),
	} {
		if _, _, err := (listing.Query{Cursor: cursor}).Older(); !fault.Is(err, fault.InvalidRequest) {
			t.Errorf("cursor %.40q: %v", cursor, err)
		}
	}
}

func TestACursorIsOfOneList(t *testing.T) {
	next := listing.Cursor(1, "a")
	if q, err := (listing.Query{Cursor: listing.Label("people", next)}).Of("people"); err != nil || q.Cursor != next {
		t.Errorf("of its own list: %q, %v", q.Cursor, err)
	}
	if q, err := (listing.Query{}).Of("people"); err != nil || q.Cursor != "" || listing.Label("people", "") != "" {
		t.Errorf("of the first page: %q, %v", q.Cursor, err)
	}
	for _, cursor := range []string{next, listing.Label("teams", next), "people", "people.", "." + next, "People." + next, "x.people." + next, "people" + next} {
		if _, err := (listing.Query{Cursor: cursor}).Of("people"); !fault.Is(err, fault.InvalidRequest) {
			t.Errorf("cursor %q: %v", cursor, err)
		}
	}
}

func TestWhatIsSearchedForIsALineOfText(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "é 😀 %": true, strings.Repeat("é", listing.MaxQ): true, strings.Repeat("é", listing.MaxQ+1): false, "a\x00": false, "\xff": false, "a\nb": false, "\u0085": false,
	} {
		if err := (listing.Query{Q: text}).Check(); (err == nil) != want || err != nil && !fault.Is(err, fault.InvalidRequest) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
	if err := (listing.Query{Cursor: "a\x00"}).Check(); !fault.Is(err, fault.InvalidRequest) {
		t.Errorf("a cursor that is no text: %v", err)
	}
}

// FuzzCursor reads any text as a cursor: it is refused, or it is one.
func FuzzCursor(f *testing.F) {
	f.Add(listing.Cursor(1, "a"))
	f.Add(encode(`[1,"\u0000"]`))
	f.Fuzz(func(t *testing.T, cursor string) {
		at, id, err := listing.Query{Cursor: cursor}.Older()
		if err == nil && cursor != "" && listing.Cursor(at, id) != cursor {
			t.Fatalf("%q was taken for %d %q", cursor, at, id)
		}
	})
}
