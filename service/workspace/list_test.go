package workspace_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/service/workspace"
)

func TestAListHoldsOnesOwn(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada, bob := w.person(t, "ada"), w.person(t, "bob")
		w.pass(time.Second)
		shared := w.business(t, bob, "shared")
		w.business(t, bob, "secret")
		w.put(t, shared, ada, workspace.Viewer)
		page, err := w.List(t.Context(), ada, listing.Query{})
		must(t, err)
		var got []string
		for _, m := range page.Items {
			got = append(got, m.Scope+" "+m.Role)
		}
		if !slices.Equal(got, []string{"users/bob/shared viewer", "users/ada/personal owner"}) || page.Next != "" {
			t.Errorf("got %v, %q", got, page.Next)
		}
	})
}

// TestListsArePagedNewestFirst reads each list in pages of every size; many items are of one moment.
func TestListsArePagedNewestFirst(t *testing.T) {
	eachWith(t, unlimited, func(t *testing.T, w *world) {
		ada := w.person(t, "ada")
		in := w.business(t, ada, "acme")
		for i := range 7 {
			if i%3 == 0 {
				w.pass(time.Millisecond)
			}
			w.business(t, ada, fmt.Sprintf("b-%d", i))
			w.member(t, in, workspace.Viewer)
			_, err := w.Teams.Create(t.Context(), ada, in.Scope, fmt.Sprintf("Team %d", i))
			must(t, err)
			_, err = w.Invite(t.Context(), ada, in.Scope, fmt.Sprintf("p%d@example.com", i), workspace.Viewer)
			must(t, err)
		}
		admin := staff(ada, workspace.StaffAdmin)
		lists := map[string]func(q listing.Query) ([]string, string, error){
			"List": func(q listing.Query) ([]string, string, error) {
				p, err := w.List(t.Context(), ada, q)
				return names(p.Items, func(m workspace.Membership) string { return m.ID }), p.Next, err
			},
			"All": func(q listing.Query) ([]string, string, error) {
				p, err := w.All(t.Context(), admin, q)
				return names(p.Items, func(c workspace.Case) string { return c.ID }), p.Next, err
			},
			"People": func(q listing.Query) ([]string, string, error) {
				p, err := w.People(t.Context(), ada, in.Scope, q)
				return names(p.Items, func(m workspace.Member) string { return m.Account }), p.Next, err
			},
			"People by name": func(q listing.Query) ([]string, string, error) {
				q.Q = "ERSON-"
				p, err := w.People(t.Context(), ada, in.Scope, q)
				return names(p.Items, func(m workspace.Member) string { return m.Account }), p.Next, err
			},
			"Teams": func(q listing.Query) ([]string, string, error) {
				p, err := w.Teams.List(t.Context(), ada, in.Scope, q)
				return names(p.Items, func(m workspace.Team) string { return m.ID }), p.Next, err
			},
			"Invitations": func(q listing.Query) ([]string, string, error) {
				p, err := w.Invitations(t.Context(), ada, in.Scope, q)
				return names(p.Items, func(m workspace.Invitation) string { return m.ID }), p.Next, err
			},
		}
		for name, list := range lists {
			whole, next, err := list(listing.Query{Limit: 10_000})
			must(t, err)
			if next != "" || len(whole) < 7 {
				t.Errorf("%s: %d items, %q", name, len(whole), next)
			}
			for size := 1; size <= len(whole)+1; size++ {
				var got []string
				for cursor := ""; ; {
					items, next, err := list(listing.Query{Limit: size, Cursor: cursor})
					must(t, err)
					got = append(got, items...)
					if cursor = next; cursor == "" || len(got) > len(whole) {
						break
					}
				}
				if !slices.Equal(got, whole) {
					t.Errorf("%s by %d: %v, want %v", name, size, got, whole)
				}
			}
			_, _, err = list(listing.Query{Cursor: "x"})
			refused(t, err, fault.InvalidRequest)
			for _, evil := range []string{"a\x00", "\xff", "a\nb", strings.Repeat("x", 201)} {
				q := listing.Query{Q: evil}
				if name == "People by name" {
					continue
				}
				_, _, err := list(q)
				refused(t, err, fault.InvalidRequest)
			}
		}
	})
}

func names[T any](items []T, name func(T) string) (all []string) {
	for _, one := range items {
		all = append(all, name(one))
	}
	return all
}

func TestAListIsFilteredByNameLiterally(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person(t, "ada")
		for slug, name := range map[string]string{"one": "100% Wool", "two": "Snake_Case", "three": `Back\slash`, "four": "Plain Ltd."} {
			_, err := w.Create(t.Context(), ada, slug, name)
			must(t, err)
		}
		for q, want := range map[string]int{
			"": 5, "%": 1, "_": 1, `\`: 1, "wool": 1, "WOOL": 1, "plain": 1, "four": 1, "personal": 1, "100%": 1, "%wool": 0, "s_ake": 0, "' OR 1=1 --": 0, "ada/": 0, "users": 0,
		} {
			page, err := w.List(t.Context(), ada, listing.Query{Q: q})
			must(t, err)
			if len(page.Items) != want {
				t.Errorf("%q: %+v", q, page.Items)
			}
		}
	})
}

func TestAPageHoldsFiftyUnlessToldOtherwise(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person(t, "ada")
		in := w.business(t, ada, "acme")
		for i := range 210 {
			w.exec(t, "INSERT INTO members (workspace, account, role, created_at) VALUES ($1, $2, 'viewer', $3)", in.ID, fmt.Sprintf("acc_%026d", i), i)
		}
		for limit, want := range map[int]int{0: 50, -1: 50, 1: 1, 200: 200, 201: 200, 1 << 40: 200} {
			page, err := w.People(t.Context(), ada, in.Scope, listing.Query{Limit: limit})
			must(t, err)
			if len(page.Items) != want || page.Next == "" {
				t.Errorf("%d: %d items", limit, len(page.Items))
			}
		}
	})
}
