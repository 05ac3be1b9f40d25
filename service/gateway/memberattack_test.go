package gateway_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/workspace"
)

// roleOf is somebody's role in a workspace; empty: they are no member.
func (s *scene) roleOf(t testing.TB, in workspace.Membership, p somebody) (role string) {
	t.Helper()
	err := s.DB.Read(t.Context(), func(tx *sqldb.Tx) error {
		return tx.QueryRow("SELECT COALESCE(MAX(role), '') FROM members WHERE workspace = $1 AND account = $2", in.ID, p.Account.ID).Scan(&role)
	})
	if err != nil {
		t.Fatal(err)
	}
	return role
}

// together sends requests at once, and counts the statuses.
func together(n int, ask func(i int) reply) map[int]int {
	var wg sync.WaitGroup
	statuses := make([]int, n)
	for i := range n {
		wg.Go(func() { statuses[i] = ask(i).StatusCode })
	}
	wg.Wait()
	counts := map[int]int{}
	for _, status := range statuses {
		counts[status]++
	}
	return counts
}

// roleNotRaised has members change roles that are not theirs to change, their own first of all.
func roleNotRaised(t *testing.T, s *scene) {
	owner := s.enrol(t, "mia")
	in := s.found(t, owner, "acme")
	people := map[string]somebody{workspace.Owner: owner}
	for _, role := range []string{workspace.Billing, workspace.Viewer, workspace.Builder, workspace.Admin} {
		people[role] = s.recruit(t, in, "mias-"+role, role)
	}
	second := s.recruit(t, in, "mias-second", workspace.Owner)
	entry := func(of somebody) string { return spaceOf(in) + "/people/" + of.Account.ID }
	rows := 0
	try := func(name string, by somebody, method, path string, body any, status int, typ string) {
		t.Helper()
		rows++
		got := s.do(t, call{on: gateway.Agents, method: method, path: path, cookie: by.cookie, body: body})
		if got.StatusCode != status || !strings.Contains(got.body, typ) {
			t.Errorf("%s: %d %s, want %d %s", name, got.StatusCode, got.body, status, typ)
		}
		for role, p := range people {
			if now := s.roleOf(t, in, p); now != role {
				t.Fatalf("%s: the %s is now %q", name, role, now)
			}
		}
	}
	for own, p := range people {
		for _, wish := range workspace.Roles() {
			if workspace.AtMost(wish, own) {
				continue
			}
			try(own+" would be "+wish, p, "PATCH", entry(p), map[string]string{"role": wish}, 403, "forbidden")
			try(own+" invites a "+wish, p, "POST", spaceOf(in)+"/invitations", map[string]string{"email": "x@example.com", "role": wish}, 403, "forbidden")
		}
	}
	admin := people[workspace.Admin]
	for name, body := range map[string]string{
		"capitals": `{"role":"Owner"}`, "a space": `{"role":"owner "}`, "twice": `{"role":"viewer","role":"owner"}`, "twice, escaped": `{"role":"viewer","\u0072ole":"owner"}`,
		"another field": `{"role":"admin","account":"` + owner.Account.ID + `"}`, "serviceRole": `{"role":"admin","serviceRole":"admin"}`, "an array": `{"role":["owner"]}`,
		"null": `{"role":null}`, "a staff role": `{"role":"support"}`, "nothing": `{"role":""}`, "a look-alike": `{"role":"оwner"}`, "two documents": `{"role":"admin"}{"role":"owner"}`,
	} {
		try("admin, "+name, admin, "PATCH", entry(admin), body, 400, "invalid_")
	}
	for _, target := range []somebody{owner, second} {
		try("admin demotes an owner", admin, "PATCH", entry(target), map[string]string{"role": "viewer"}, 403, "forbidden")
		try("admin removes an owner", admin, "DELETE", entry(target), nil, 403, "forbidden")
	}
	try("admin raises another", admin, "PATCH", entry(people[workspace.Viewer]), map[string]string{"role": "owner"}, 403, "forbidden")
	try("admin takes from billing", admin, "PATCH", entry(people[workspace.Billing]), map[string]string{"role": "viewer"}, 403, "forbidden")
	try("owner demotes the one it is named after", second, "PATCH", entry(owner), map[string]string{"role": "viewer"}, 409, "last_owner")
	try("owner removes the one it is named after", second, "DELETE", entry(owner), nil, 409, "last_owner")
	try("the one it is named after leaves", owner, "DELETE", entry(owner), nil, 409, "last_owner")
	try("the one it is named after steps down", owner, "PATCH", entry(owner), map[string]string{"role": "admin"}, 409, "last_owner")
	try("and goes for good", owner, "DELETE", strings.Replace(entry(owner), owner.Account.ID, strings.ToLower(owner.Account.ID), 1), nil, 404, "item_not_found")
	if got := s.do(t, call{method: "DELETE", path: "/api/account?confirm=mia", cookie: owner.cookie}).wants(t, 409, "last_owner"); !strings.Contains(got.body, in.Scope) {
		t.Errorf("the refusal does not say where: %s", got.body)
	}
	t.Logf("%d rows", rows)
}

// ownersGoAtOnce lets all owners of a workspace go at once, each in several ways: one is left.
func ownersGoAtOnce(t *testing.T, s *scene) {
	named := s.enrol(t, "olga")
	in := s.found(t, named, "acme")
	var owners []somebody
	for i := range 5 {
		owners = append(owners, s.recruit(t, in, fmt.Sprintf("olgas-%d", i), workspace.Owner))
	}
	entry := func(of somebody) string { return spaceOf(in) + "/people/" + of.Account.ID }
	storm := func(i int) reply {
		by, other := owners[i%5], owners[(i/5+i)%5]
		c := call{on: gateway.Agents, method: "DELETE", path: entry(other), cookie: by.cookie}
		if i%2 == 0 {
			c.method, c.body = "PATCH", map[string]string{"role": "viewer"}
		}
		return s.do(t, c)
	}
	// The one whose name it bears is not there, as no verb can bring about: then every other counts.
	execute(t, s, "DELETE FROM members WHERE workspace = $1 AND account = $2", in.ID, named.Account.ID)
	got := together(50, storm)
	for status := range got {
		if !slices.Contains([]int{200, 204, 403, 404, 409}, status) {
			t.Errorf("answers %v", got)
		}
	}
	left := slices.DeleteFunc(slices.Clone(owners), func(p somebody) bool { return s.roleOf(t, in, p) != workspace.Owner })
	if len(left) < 1 {
		t.Fatalf("no owner is left: %v", got)
	}
	leave := func(p somebody) reply {
		return s.do(t, call{on: gateway.Agents, method: "DELETE", path: entry(p), cookie: p.cookie})
	}
	for _, p := range left[1:] {
		leave(p).wants(t, 204, "")
	}
	last := left[0]
	if got := together(10, func(int) reply { return leave(last) }); got[409] != 10 {
		t.Errorf("the last owner leaves: %v", got)
	}
	// With the one whose name it bears the others go freely, and that one never.
	s.seat(t, in, named, workspace.Owner)
	for _, p := range owners {
		s.seat(t, in, p, workspace.Owner)
	}
	everybody := append(slices.Clone(owners), named)
	got = together(50, func(i int) reply {
		if i%5 == 0 {
			return leave(owners[i/10])
		}
		return s.do(t, call{on: gateway.Agents, method: "DELETE", path: entry(named), cookie: everybody[i%6].cookie})
	})
	if s.roleOf(t, in, named) != workspace.Owner || got[204] != 5 {
		t.Errorf("the one whose name it bears is %q: %v", s.roleOf(t, in, named), got)
	}
}
