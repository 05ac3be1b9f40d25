package audit_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/audit"
)

func (n *node) page(q audit.Query) listing.Page[audit.Event] {
	n.t.Helper()
	p, err := n.Page(n.t.Context(), q)
	if err != nil {
		n.t.Fatal(err)
	}
	return p
}

// pages follows cursors to the end.
func (n *node) pages(q audit.Query) (list []audit.Event) {
	n.t.Helper()
	for range 1000 {
		p := n.page(q)
		list = append(list, p.Items...)
		if q.Cursor = p.Next; q.Cursor == "" {
			return list
		}
	}
	n.t.Fatal("pages have no end")
	return nil
}

func TestPagesGoFromTheNewestToTheOldest(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		n := open(t, address)
		n.fill(ada, 60)
		n.fill(bo, 30)
		n.fill("", 10)
		for _, c := range []struct {
			query audit.Query
			want  int
		}{
			{audit.Query{Scope: ada}, 60}, {audit.Query{Scope: ada, Query: listing.Query{Limit: 7}}, 60}, {audit.Query{Scope: ada, Query: listing.Query{Limit: 60}}, 60},
			{audit.Query{Scope: bo, Query: listing.Query{Limit: 1}}, 30}, {audit.Query{}, 10}, {audit.Query{All: true, Query: listing.Query{Limit: 9}}, 100},
			{audit.Query{Scope: ada, Action: "key.create1", Query: listing.Query{Limit: 7}}, 30}, {audit.Query{Scope: ada, Actor: "acc_2", Query: listing.Query{Limit: 7}}, 20},
			{audit.Query{Scope: ada, Actor: "acc_2", Action: "key.create0"}, 10}, {audit.Query{All: true, Actor: "acc_0", Query: listing.Query{Limit: 3}}, 34},
			{audit.Query{Scope: ada, Action: "none"}, 0}, {audit.Query{Scope: "users/none/x"}, 0}, {audit.Query{Scope: ada, Actor: "' OR 1=1 --"}, 0},
			{audit.Query{Scope: ada, Actor: "\x00\xff"}, 0}, {audit.Query{Scope: "\x00"}, 0}, {audit.Query{Scope: "users/%"}, 0},
		} {
			list := n.pages(c.query)
			if len(list) != c.want {
				t.Errorf("%+v: %d events, want %d", c.query, len(list), c.want)
			}
			for i := 1; i < len(list); i++ {
				if !c.query.All && list[i].Seq >= list[i-1].Seq || list[i].At.After(list[i-1].At) {
					t.Errorf("%+v: event %d is newer than the one before", c.query, i)
				}
			}
		}
		if p := n.page(audit.Query{Scope: ada}); len(p.Items) != 50 || p.Next == "" {
			t.Errorf("a page has %d events by default", len(p.Items))
		}
	})
}

func TestARangeHoldsItsBeginningAndNotItsEnd(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		n := open(t, address)
		n.fill(ada, 10)
		n.clock.Advance(time.Hour)
		n.fill(ada, 7)
		middle := n.page(audit.Query{Scope: ada, Query: listing.Query{Limit: 7}}).Items[6].At
		for _, c := range []struct {
			query audit.Query
			want  int
		}{
			{audit.Query{Scope: ada, From: middle}, 7}, {audit.Query{Scope: ada, To: middle}, 10}, {audit.Query{All: true, From: middle, Query: listing.Query{Limit: 2}}, 7},
			{audit.Query{Scope: ada, From: middle, To: middle}, 0}, {audit.Query{Scope: ada, From: middle.Add(-2 * time.Hour), To: middle.Add(time.Hour)}, 17},
		} {
			if list := n.pages(c.query); len(list) != c.want {
				t.Errorf("%+v: %d events, want %d", c.query, len(list), c.want)
			}
		}
	})
}

func TestPageIsNeverLargerThanTwoHundred(t *testing.T) {
	n := open(t, sqldbtest.SQLite(t))
	n.fill(ada, 250)
	if p := n.page(audit.Query{Scope: ada, Query: listing.Query{Limit: 1 << 40}}); len(p.Items) != 200 {
		t.Errorf("%d events", len(p.Items))
	}
	if p := n.page(audit.Query{Scope: ada, Query: listing.Query{Limit: -1}}); len(p.Items) != 50 {
		t.Errorf("%d events", len(p.Items))
	}
}

func TestAllNamesAnActOfStaffOnce(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		n := open(t, address)
		for i := range 9 {
			e := event(ada, i)
			e.Service = true
			n.append(e)
		}
		if list := n.pages(audit.Query{All: true, Query: listing.Query{Limit: 2}}); len(list) != 9 {
			t.Errorf("%d events", len(list))
		}
	})
}

func TestNewEventsDoNotMoveAPage(t *testing.T) {
	n := open(t, sqldbtest.SQLite(t))
	n.fill(ada, 20)
	first := n.page(audit.Query{Scope: ada, Query: listing.Query{Limit: 10}})
	n.fill(ada, 20)
	next := n.page(audit.Query{Scope: ada, Query: listing.Query{Limit: 10, Cursor: first.Next}})
	if len(next.Items) != 10 || next.Items[0].Seq != 10 || next.Next != "" {
		t.Errorf("the second page begins at %d", next.Items[0].Seq)
	}
}

func TestCursorShowsNoOtherScope(t *testing.T) {
	n := open(t, sqldbtest.SQLite(t))
	n.fill(ada, 20)
	n.fill(bo, 5)
	cursor := n.page(audit.Query{Scope: ada, Query: listing.Query{Limit: 3}}).Next
	for _, e := range n.page(audit.Query{Scope: bo, Query: listing.Query{Cursor: cursor}}).Items {
		if e.Scope != bo {
			t.Errorf("showed an event of %s", e.Scope)
		}
	}
}

func TestCursorThatNoPageGaveIsRefused(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		n := open(t, address)
		n.fill(ada, 20)
		all := n.page(audit.Query{All: true, Query: listing.Query{Limit: 3}}).Next
		one := n.page(audit.Query{Scope: ada, Query: listing.Query{Limit: 3}}).Next
		for _, q := range []audit.Query{
			{Scope: ada, Query: listing.Query{Cursor: all}}, {All: true, Query: listing.Query{Cursor: one}}, {Query: listing.Query{Cursor: "x"}},
		} {
			_, err := n.Page(t.Context(), q)
			if !fault.Is(err, fault.InvalidRequest) {
				t.Errorf("cursor %.40q: %v", q.Cursor, err)
			}
		}
	})
}

func TestExportGoesFromTheOldestToTheNewest(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		n := open(t, address)
		n.fill(ada, 1100)
		n.fill(bo, 3)
		want := int64(0)
		err := n.Export(t.Context(), ada, func(e audit.Event) error {
			if want++; e.Seq != want || e.Scope != ada {
				return fmt.Errorf("event %d of %s at place %d", e.Seq, e.Scope, want)
			}
			if e.Seq == 600 {
				n.append(event(ada, 1)) // a write while a reader is slow
			}
			return nil
		})
		if err != nil || want != 1101 {
			t.Errorf("%d events, %v", want, err)
		}
		full := errors.New("the client has left")
		calls := 0
		err = n.Export(t.Context(), ada, func(audit.Event) error {
			calls++
			return full
		})
		if !errors.Is(err, full) || calls != 1 {
			t.Errorf("%d calls, %v", calls, err)
		}
	})
}

func TestTimeOfAnEventIsTheLogs(t *testing.T) {
	n := open(t, sqldbtest.SQLite(t))
	n.clock.Advance(1234567 * time.Nanosecond)
	n.append(event(ada, 1))
	if e := n.page(audit.Query{Scope: ada}).Items[0]; !e.At.Equal(n.clock.Now().Truncate(time.Millisecond)) || e.At.Location() != time.UTC {
		t.Errorf("at %s", e.At)
	}
}
