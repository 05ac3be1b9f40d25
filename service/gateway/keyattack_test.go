package gateway_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/apikey"
	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/workspace"
)

// probes are what keys are for, by the scope that each needs.
var probes = []struct{ scope, method, path string }{
	{"agents:read", "GET", "/v1/kaya/acme/agents/central/x"},
	{"agents:read", "GET", "/v1/kaya/acme/agents/central/x/submissions"},
	{"agents:read", "GET", "/api/workspaces/kaya/acme/agents"},
	{"agents:read", "GET", "/api/workspaces/kaya/acme/agents/central/conversations"},
	{"agents:write", "POST", "/v1/kaya/acme/agents/central/x"},
	{"agents:write", "POST", "/v1/kaya/acme/agents/central/x/abort"},
	{"workflows:run", "POST", "/v1/kaya/acme/workflows/sample"},
	{"runs:read", "GET", "/v1/kaya/acme/runs"},
	{"runs:read", "GET", "/v1/kaya/acme/runs/run_x"},
	{"runs:read", "GET", "/api/workspaces/kaya/acme/runs"},
}

// may is which roles of its maker let a key do what a scope is for.
var may = map[string][]string{
	"agents:read": {"viewer", "builder", "admin", "owner"}, "agents:write": {"builder", "admin", "owner"},
	"runs:read": {"viewer", "builder", "admin", "owner"}, "workflows:run": {"builder", "admin", "owner"},
}

// verdict is how the gateway judged a request; empty: it let it pass, whatever the runtime made of it.
func (r reply) verdict() string {
	for _, typ := range []string{"invalid_api_key", "insufficient_scope", "forbidden", "workspace_not_found", "workspace_suspended", "unauthenticated", "cross_origin_request"} {
		if strings.Contains(r.body, `"type":"`+typ+`"`) {
			return typ
		}
	}
	return ""
}

// keyWithinItsRole asks everything with a key of each scope, and with a key of all
// scopes in every role that its maker can come to have.
func keyWithinItsRole(t *testing.T, s *scene) {
	boss := s.enrol(t, "kaya")
	acme := s.found(t, boss, "acme")
	maker := s.recruit(t, acme, "kaya-maker", workspace.Admin)
	rows := 0
	ask := func(name, key, scope, method, path, want string) {
		t.Helper()
		rows++
		if got := s.do(t, call{on: gateway.Agents, method: method, path: path, header: by(key), body: "{}"}); got.verdict() != want {
			t.Errorf("%s: %s %s (%s): %d %.200s, want %q", name, method, path, scope, got.StatusCode, got.body, want)
		}
	}
	for _, scope := range apikey.Scopes {
		k := s.issue(t, maker, acme, nil, scope)
		for _, p := range probes {
			want := ""
			if p.scope != scope {
				want = "insufficient_scope"
			}
			ask(scope, k.Key, p.scope, p.method, p.path, want)
		}
	}
	all := s.issue(t, maker, acme, nil, apikey.Scopes...)
	for _, role := range workspace.Roles() {
		s.seat(t, acme, maker, role)
		for _, p := range probes {
			want := ""
			if !slices.Contains(may[p.scope], role) {
				want = "forbidden"
			}
			ask(role, all.Key, p.scope, p.method, p.path, want)
		}
	}
	s.seat(t, acme, maker, "superuser")
	for _, p := range probes {
		ask("a role that is none", all.Key, p.scope, p.method, p.path, "forbidden")
	}
	t.Logf("%d rows", rows)
}

// keyOfOneWorkspace takes keys to where they were not made for.
func keyOfOneWorkspace(t *testing.T, s *scene) {
	boss, eve := s.enrol(t, "kim"), s.enrol(t, "kims-eve")
	personal, err := s.spaces.Get(t.Context(), boss.caller(), "users/kim/personal")
	if err != nil {
		t.Fatal(err)
	}
	acme, other, hers := s.found(t, boss, "acme"), s.found(t, boss, "other"), s.found(t, eve, "acme")
	s.seat(t, acme, eve, workspace.Owner)
	inAcme := s.issue(t, boss, acme, nil, apikey.Scopes...)
	inPersonal := s.issue(t, boss, personal, nil, apikey.Scopes...)
	evesHere, evesOwn := s.issue(t, eve, acme, nil, apikey.Scopes...), s.issue(t, eve, hers, nil, apikey.Scopes...)
	none := s.do(t, call{on: gateway.Agents, path: "/v1/nobody/none/runs", header: by(inAcme.Key)}).wants(t, 404, "workspace_not_found")
	for name, c := range map[string]struct {
		key string
		in  workspace.Membership
	}{
		"of a business, in another of its owner": {inAcme.Key, other}, "of a business, in its owner's own": {inAcme.Key, personal},
		"of the owner's own, in a business": {inPersonal.Key, acme}, "of a business, in a stranger's of its name": {inAcme.Key, hers},
		"of a guest, in the guest's own": {evesHere.Key, hers}, "of the guest's own, where the guest is an owner": {evesOwn.Key, acme},
		"of a stranger": {evesOwn.Key, other},
	} {
		for _, path := range []string{baseOf(c.in) + "/runs", baseOf(c.in) + "/agents/central/x", baseOf(c.in) + "/agents/central/x?view=updates&offset=-1&live=sse", spaceOf(c.in) + "/runs", spaceOf(c.in) + "/agents"} {
			// The cookie of whoever may does not help the key.
			for _, cookie := range []string{"", boss.cookie} {
				if got := s.peek(t, call{on: gateway.Agents, path: path, header: by(c.key), cookie: cookie}).wants(t, 404, "workspace_not_found"); got.body != none.body {
					t.Errorf("%s: %s: %s", name, path, got.body)
				}
			}
		}
		s.do(t, call{on: gateway.Agents, method: "POST", path: baseOf(c.in) + "/agents/central/x", header: by(c.key), body: `{"kind":"user","body":"hi"}`}).wants(t, 404, "workspace_not_found")
	}
	s.do(t, call{on: gateway.Agents, path: baseOf(acme) + "/runs", header: by(evesHere.Key)}).wants(t, 200, "")
}

// TestNoKeyDoesWhatOnlyPeopleDo brings a key to every route there is. Where no key counts the answer is that to nobody.
func TestNoKeyDoesWhatOnlyPeopleDo(t *testing.T) {
	modes(t, keysOnEveryRoute, plenty)
}

func keysOnEveryRoute(t *testing.T, s *scene) {
	boss := s.enrol(t, "ada")
	personal, err := s.spaces.Get(t.Context(), boss.caller(), "users/ada/personal")
	if err != nil {
		t.Fatal(err)
	}
	// There is nothing yet that this scope opens, and all scopes open nothing of what people alone do.
	usage, all := s.issue(t, boss, personal, nil, "usage:read"), s.issue(t, boss, personal, nil, apikey.Scopes...)
	rows := 0
	ask := func(on gateway.Surface, l gateway.Line, key, cookie string) reply {
		header := s.page(on)
		if key != "" {
			header.Set("Authorization", "Bearer "+key)
		}
		rows++
		return s.do(t, call{on: on, method: l.Method, path: somewhere(l.Path), header: header, cookie: cookie, body: "{}", from: fresh()})
	}
	for _, l := range gateway.Lines() {
		if !strings.HasPrefix(l.Path, "/api/") {
			continue
		}
		for _, on := range l.Surfaces {
			nobody := ask(on, l, "", "")
			rest, within := strings.CutPrefix(l.Path, "/api/workspaces")
			key := usage.Key
			if isPersonal(rest) {
				key = all.Key
			}
			got := ask(on, l, key, "")
			switch {
			case within && on != gateway.Admin:
				if typ := got.verdict(); got.StatusCode != 403 || typ != "forbidden" && typ != "insufficient_scope" {
					t.Errorf("%s %s %s: %d %s", on, l.Method, l.Path, got.StatusCode, got.body)
				}
				if beside := ask(on, l, key, boss.cookie); beside.body != got.body {
					t.Errorf("%s %s %s: with a cookie beside it %d %s", on, l.Method, l.Path, beside.StatusCode, beside.body)
				}
			case got.StatusCode != nobody.StatusCode || got.verdict() != nobody.verdict():
				t.Errorf("%s %s %s: %d %s, and to nobody %d %s", on, l.Method, l.Path, got.StatusCode, got.body, nobody.StatusCode, nobody.body)
			}
		}
	}
	if got := s.do(t, call{path: "/api/auth/session", header: by(all.Key)}).wants(t, 200, ""); !strings.Contains(got.body, `"authenticated":false`) {
		t.Errorf("signed in by a key: %s", got.body)
	}
	t.Logf("%d rows", rows)
}

// isPersonal reports whether a route below W is one that no key may use, whatever it was made for.
func isPersonal(rest string) bool {
	rest = strings.TrimPrefix(rest, "/{username}/{business}")
	noun, _, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
	return slices.Contains([]string{"", "archive", "unarchive", "restore", "people", "invitations", "teams", "secrets", "keys", "audit", "billing"}, noun)
}

// keyInItsHeader shows a good key in every other way.
func keyInItsHeader(t *testing.T, s *scene) {
	boss := s.enrol(t, "kurt")
	acme := s.found(t, boss, "acme")
	k, second := s.issue(t, boss, acme, nil, "runs:read").Key, s.issue(t, boss, acme, nil, "runs:read").Key
	path := baseOf(acme) + "/runs"
	bearer := func(values ...string) http.Header { return http.Header{"Authorization": values} }
	flipped := k[:len(k)-1] + string("01"[k[len(k)-1]&1])
	if flipped == k {
		flipped = k[:len(k)-1] + "2"
	}
	for name, c := range map[string]struct {
		header http.Header
		query  string
		status int
		typ    string
	}{
		"as it should be":               {header: bearer("Bearer " + k), status: 200},
		"lower case":                    {header: bearer("bearer " + k), status: 200},
		"capitals":                      {header: bearer("BEARER " + k), status: 200},
		"any case":                      {header: bearer("bEaReR " + k), status: 200},
		"key and cookie of nobody":      {header: http.Header{"Authorization": {"Bearer " + k}, "Cookie": {"svc_session=x; svc_session=y"}}, status: 200},
		"two spaces":                    {header: bearer("Bearer  " + k), status: 401, typ: "invalid_api_key"},
		"a tab":                         {header: bearer("Bearer\t" + k), status: 401, typ: "invalid_api_key"},
		"no scheme":                     {header: bearer(k), status: 401, typ: "invalid_api_key"},
		"another scheme":                {header: bearer("Token " + k), status: 401, typ: "invalid_api_key"},
		"Basic":                         {header: bearer("Basic " + k), status: 401, typ: "invalid_api_key"},
		"quoted":                        {header: bearer(`Bearer "` + k + `"`), status: 401, typ: "invalid_api_key"},
		"as a parameter":                {header: bearer("Bearer key=" + k), status: 401, typ: "invalid_api_key"},
		"two in one":                    {header: bearer("Bearer " + k + ", Bearer " + second), status: 401, typ: "invalid_api_key"},
		"two with a comma":              {header: bearer("Bearer " + k + "," + second), status: 401, typ: "invalid_api_key"},
		"checksum off by one":           {header: bearer("Bearer " + flipped), status: 401, typ: "invalid_api_key"},
		"cut":                           {header: bearer("Bearer " + k[:len(k)-1]), status: 401, typ: "invalid_api_key"},
		"with more":                     {header: bearer("Bearer " + k + "A"), status: 401, typ: "invalid_api_key"},
		"all in capitals":               {header: bearer("Bearer " + strings.ToUpper(k)), status: 401, typ: "invalid_api_key"},
		"a look-alike":                  {header: bearer("Bearer " + strings.Replace(k, "svck_", "ѕvck_", 1)), status: 401, typ: "invalid_api_key"},
		"a scheme that looks like one":  {header: bearer("Веarer " + k), status: 401, typ: "invalid_api_key"},
		"a session":                     {header: bearer("Bearer " + boss.Token), status: 401, typ: "invalid_api_key"},
		"empty":                         {header: bearer(""), status: 401, typ: "invalid_api_key"},
		"empty, beside a good cookie":   {header: http.Header{"Authorization": {""}, "Cookie": {boss.cookie}}, status: 401, typ: "invalid_api_key"},
		"wrong, beside a good cookie":   {header: http.Header{"Authorization": {"Bearer x"}, "Cookie": {boss.cookie}}, status: 401, typ: "invalid_api_key"},
		"twice":                         {header: bearer("Bearer "+k, "Bearer "+k), status: 400, typ: "invalid_header"},
		"two":                           {header: bearer("Bearer "+k, "Bearer "+second), status: 400, typ: "invalid_header"},
		"an empty one beside it":        {header: bearer("", "Bearer "+k), status: 400, typ: "invalid_header"},
		"in a cookie":                   {header: http.Header{"Cookie": {"svc_session=" + k}}, status: 401, typ: "unauthenticated"},
		"in a cookie of its name":       {header: http.Header{"Cookie": {"Authorization=Bearer " + k}}, status: 401, typ: "unauthenticated"},
		"in the view":                   {header: http.Header{"Cookie": {"svc_view=" + k}}, status: 401, typ: "unauthenticated"},
		"in another header":             {header: http.Header{"X-Api-Key": {k}, "X-Authorization": {"Bearer " + k}}, status: 401, typ: "unauthenticated"},
		"for a proxy":                   {header: http.Header{"Proxy-Authorization": {"Bearer " + k}}, status: 401, typ: "unauthenticated"},
		"in the address":                {query: "?key=" + k, status: 400, typ: "credential_in_url"},
		"in the address, and right":     {header: bearer("Bearer " + k), query: "?access_token=" + k, status: 400, typ: "credential_in_url"},
		"in the address, escaped":       {query: "?key=" + strings.Replace(k, "_", "%5F", 2), status: 400, typ: "credential_in_url"},
		"in the address, all escaped":   {query: "?key=%73%76%63%6b_" + k[5:], status: 400, typ: "credential_in_url"},
		"in the address, as a name":     {query: "?" + k, status: 400, typ: "credential_in_url"},
		"in the address, after rubbish": {query: "?a=%zz&b=" + strings.Replace(k, "_", "%5f", 1), status: 400, typ: "credential_in_url"},
		"in the address, a session":     {query: "?token=" + url.QueryEscape(boss.Token), status: 400, typ: "credential_in_url"},
		"in the address, one of many":   {query: "?a=1&b=2&key=" + k + "&c=3", status: 400, typ: "credential_in_url"},
	} {
		if got := s.do(t, call{on: gateway.Agents, path: path + c.query, header: c.header, from: fresh()}); got.StatusCode != c.status || !strings.Contains(got.body, c.typ) {
			t.Errorf("%s: %d %s", name, got.StatusCode, got.body)
		}
	}
	if told := s.events(t, acme.Scope, "key.exposed"); len(told) != 1 {
		t.Errorf("a key that stood in an address is told %d times", len(told))
	}
}

// keyGaps holds what is true of a key between two acts.
func keyGaps(t *testing.T, s *scene) {
	boss := s.enrol(t, "kate")
	acme, other := s.found(t, boss, "acme"), s.found(t, boss, "other")
	admin := s.recruit(t, acme, "kates-admin", workspace.Admin)
	keys := func(in workspace.Membership) string { return spaceOf(in) + "/keys" }
	post := func(p somebody, path string, body any) reply {
		return s.do(t, call{on: gateway.Agents, method: "POST", path: path, cookie: p.cookie, body: body})
	}
	uses := func(key string) string {
		return s.do(t, call{on: gateway.Agents, path: baseOf(acme) + "/runs", header: by(key)}).verdict()
	}
	forever := map[string]any{"expiresAt": nil, "confirm": true}

	// Somebody who is no owner makes no key without an end, neither at once nor out of one that has none.
	endless := map[string]any{"name": "k", "scopes": []string{"runs:read"}}
	maps.Copy(endless, forever)
	post(admin, keys(acme), endless).wants(t, 403, "forbidden")
	owners := s.issue(t, boss, acme, forever, "runs:read")
	post(admin, keys(acme)+"/"+owners.ID+"/rotate", map[string]any{}).wants(t, 403, "forbidden")
	if typ := uses(owners.Key); typ != "" {
		t.Errorf("a refused rotation ended the key: %s", typ)
	}
	post(boss, keys(acme)+"/"+owners.ID+"/rotate", map[string]any{}).wants(t, 201, "")

	// A key is of its workspace, also for an owner of two.
	k := s.issue(t, boss, acme, nil, "runs:read")
	post(boss, keys(other)+"/"+k.ID+"/rotate", map[string]any{}).wants(t, 404, "item_not_found")
	s.do(t, call{on: gateway.Agents, method: "DELETE", path: keys(other) + "/" + k.ID, cookie: boss.cookie}).wants(t, 404, "item_not_found")

	// Of those who rotate at once one gets a key, and one who revokes meanwhile ends what there is.
	var wg sync.WaitGroup
	answers := make([]reply, 12)
	for i := range answers {
		wg.Go(func() { answers[i] = post(boss, keys(acme)+"/"+k.ID+"/rotate", map[string]any{"graceSeconds": 60}) })
	}
	wg.Wait()
	made := slices.DeleteFunc(answers, func(r reply) bool { return r.StatusCode != 201 })
	if len(made) != 1 {
		t.Errorf("%d rotated at once", len(made))
	}
	s.do(t, call{on: gateway.Agents, method: "DELETE", path: keys(acme) + "/" + k.ID, cookie: boss.cookie}).wants(t, 204, "")
	if uses(k.Key) != "invalid_api_key" {
		t.Error("a key in its grace cannot be revoked")
	}

	// A member who comes again finds the keys of before dead.
	gone := s.recruit(t, acme, "kates-gone", workspace.Admin)
	hers := s.issue(t, gone, acme, nil, "runs:read")
	s.do(t, call{on: gateway.Agents, method: "DELETE", path: spaceOf(acme) + "/people/" + gone.Account.ID, cookie: boss.cookie}).wants(t, 204, "")
	if uses(hers.Key) != "invalid_api_key" {
		t.Error("the key of who was removed lives")
	}
	s.Clock.Pass(time.Second)
	s.invites(t, boss, acme, gone, workspace.Admin).wants(t, 200, "")
	if uses(hers.Key) != "invalid_api_key" {
		t.Error("the key of before came back with its maker")
	}
	if again := s.issue(t, gone, acme, nil, "runs:read"); uses(again.Key) != "" {
		t.Error("who came again can make no key")
	}

	// It dies at its second.
	short := s.issue(t, boss, acme, map[string]any{"expiresAt": s.Clock.Now().Add(time.Minute).UTC().Format(time.RFC3339Nano)}, "runs:read")
	s.Clock.Pass(time.Minute - time.Millisecond)
	if typ := uses(short.Key); typ != "" {
		t.Errorf("a moment early: %s", typ)
	}
	s.Clock.Pass(time.Millisecond)
	if uses(short.Key) != "invalid_api_key" {
		t.Error("it outlives its end")
	}

	// What has no right checksum costs no look at the database.
	execute(t, s, "ALTER TABLE api_keys RENAME TO api_keys_gone")
	if typ := uses(short.Key[:len(short.Key)-2] + "00"); typ != "invalid_api_key" {
		t.Errorf("without a table: %q", typ)
	}
	execute(t, s, "ALTER TABLE api_keys_gone RENAME TO api_keys")
}

// invites has somebody asked into a workspace, and accept.
func (s *scene) invites(t testing.TB, by somebody, in workspace.Membership, guest somebody, role string) reply {
	t.Helper()
	return s.accepts(t, guest, s.invite(t, by, in, guest.Account.Username+"@example.com", role))
}

// invite asks an address into a workspace, and returns the token.
func (s *scene) invite(t testing.TB, by somebody, in workspace.Membership, email, role string) string {
	t.Helper()
	var sent struct{ AcceptURL string }
	s.do(t, call{on: gateway.Agents, method: "POST", path: spaceOf(in) + "/invitations", cookie: by.cookie, body: map[string]string{"email": email, "role": role}}).wants(t, 201, "").read(t, &sent)
	_, token, _ := strings.Cut(sent.AcceptURL, "#t=")
	return token
}

func (s *scene) accepts(t testing.TB, guest somebody, token string) reply {
	t.Helper()
	return s.do(t, call{method: "POST", path: "/api/invitations/accept", cookie: guest.cookie, body: map[string]string{"token": token}})
}

// TestAKeyInItsGraceIsNoWayRoundAReset rotates a key before its account is taken back from whoever stole it.
func TestAKeyInItsGraceIsNoWayRoundAReset(t *testing.T) {
	sqldbtest.AnySchema(t, func(t *testing.T, address string) {
		s := open(t, address, accounttest.Options{Mail: true, Edit: lenient}, plenty)
		ada := s.enrol(t, "ada")
		personal, err := s.spaces.Get(t.Context(), ada.caller(), "users/ada/personal")
		if err != nil {
			t.Fatal(err)
		}
		k := s.issue(t, ada, personal, nil, "runs:read")
		s.do(t, call{on: gateway.Agents, method: "POST", path: spaceOf(personal) + "/keys/" + k.ID + "/rotate", cookie: ada.cookie, body: map[string]int{"graceSeconds": 86400}}).wants(t, 201, "")
		s.do(t, call{method: "POST", path: "/api/auth/password/forgot", body: map[string]string{"email": "ada@example.com"}, from: fresh()}).wants(t, 202, "")
		token, found := "", false
		for !found {
			for _, link := range s.Inbox.Next(t, "ada@example.com").Links {
				if _, value, is := strings.Cut(link, "/reset#t="); is {
					token, found = value, true
				}
			}
		}
		s.do(t, call{method: "POST", path: "/api/auth/password/reset", body: map[string]string{"token": token, "newPassword": "another calm and long one"}, from: fresh()}).wants(t, 204, "")
		s.do(t, call{on: gateway.Agents, path: spaceOf(personal) + "/keys", header: by(k.Key)}).wants(t, 401, "invalid_api_key")
	})
}

// TestAWrongKeyCostsNextToNothing tries keys as fast as it goes: none of them is derived from anything slow, and who tries
// many is slowed down while others are not.
func TestAWrongKeyCostsNextToNothing(t *testing.T) {
	s := quick(t, plenty)
	ask := func(from string) (status int, took time.Duration) {
		r := httptest.NewRequest("GET", "/v1/ada/personal/runs", nil)
		r.Host, r.RemoteAddr = s.hosts[gateway.Agents], "127.0.0.1:1"
		r.Header.Set("Authorization", "Bearer svck_AAAAAAAAAAAA_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
		r.Header.Set("X-Forwarded-For", from)
		w := httptest.NewRecorder()
		began := time.Now()
		s.gateway.ServeHTTP(w, r)
		return w.Code, time.Since(began)
	}
	var took []time.Duration
	for range 1000 {
		status, d := ask(fresh())
		if status != 401 {
			t.Fatalf("answered %d", status)
		}
		took = append(took, d)
	}
	slices.Sort(took)
	if took[500] > time.Millisecond {
		t.Errorf("half of them took more than %s", took[500])
	}
	statuses := map[int]int{}
	for range 150 {
		status, _ := ask("192.0.2.77")
		statuses[status]++
	}
	if statuses[401] < 99 || statuses[401] > 110 || statuses[429] < 40 {
		t.Errorf("answers %v", statuses)
	}
	if status, _ := ask("192.0.2.78"); status != 401 {
		t.Errorf("another is slowed down: %d", status)
	}
}
