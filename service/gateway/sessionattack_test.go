package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/workspace"
)

// sessionsMisused shows sessions in every way that must not count, to what the runtime answers.
func sessionsMisused(t *testing.T, s *scene) {
	owner, eve := s.enrol(t, "saul"), s.enrol(t, "saul-eve")
	in := s.found(t, owner, "acme")
	path := baseOf(in) + "/agents/central/x"
	value := owner.Token
	out, err := s.Passwords.Login(accounttest.From(t), "saul@example.com", password, "")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s.do(t, call{method: "POST", path: "/api/auth/logout", cookie: "svc_session=" + out.Token}).wants(t, 204, "")
	}
	old := s.recruit(t, in, "saul-old", workspace.Owner)
	execute(t, s, "UPDATE sessions SET last_seen_at = $2 WHERE account = $1", old.Account.ID, s.Clock.Now().AddDate(0, 0, -7).UnixMilli())
	aged := s.recruit(t, in, "saul-aged", workspace.Owner)
	execute(t, s, "UPDATE sessions SET created_at = $2 WHERE account = $1", aged.Account.ID, s.Clock.Now().AddDate(0, 0, -30).UnixMilli())
	for name, c := range map[string]struct {
		header http.Header
		query  string
		status int
		typ    string
	}{
		"chosen":                  {http.Header{"Cookie": {"svc_session=svcs_" + strings.Repeat("A", 43)}}, "", 401, "unauthenticated"},
		"signed out, twice":       {http.Header{"Cookie": {"svc_session=" + out.Token}}, "", 401, "unauthenticated"},
		"not used for a week":     {http.Header{"Cookie": {old.cookie}}, "", 401, "unauthenticated"},
		"a month old":             {http.Header{"Cookie": {aged.cookie}}, "", 401, "unauthenticated"},
		"tossed before":           {http.Header{"Cookie": {eve.cookie + "; " + owner.cookie}}, "", 400, "ambiguous_session"},
		"tossed after":            {http.Header{"Cookie": {owner.cookie + "; " + eve.cookie}}, "", 400, "ambiguous_session"},
		"tossed in a header":      {http.Header{"Cookie": {owner.cookie, eve.cookie}}, "", 400, "ambiguous_session"},
		"an empty one beside it":  {http.Header{"Cookie": {owner.cookie + "; svc_session="}}, "", 400, "ambiguous_session"},
		"the same twice":          {http.Header{"Cookie": {owner.cookie + "; " + owner.cookie}}, "", 400, "ambiguous_session"},
		"quoted":                  {http.Header{"Cookie": {`svc_session="` + value + `"`}}, "", 401, "unauthenticated"},
		"$Version":                {http.Header{"Cookie": {"$Version=1; $svc_session=" + value}}, "", 401, "unauthenticated"},
		"a wide space before":     {http.Header{"Cookie": {"\u2000svc_session=" + value}}, "", 401, "unauthenticated"},
		"another case":            {http.Header{"Cookie": {"SVC_SESSION=" + value}}, "", 401, "unauthenticated"},
		"of another prefix":       {http.Header{"Cookie": {"__Host-svc_session=" + value}}, "", 401, "unauthenticated"},
		"padded":                  {http.Header{"Cookie": {owner.cookie + "="}}, "", 401, "unauthenticated"},
		"in capitals":             {http.Header{"Cookie": {"svc_session=" + strings.ToUpper(value)}}, "", 401, "unauthenticated"},
		"cut":                     {http.Header{"Cookie": {owner.cookie[:len(owner.cookie)-1]}}, "", 401, "unauthenticated"},
		"its public id":           {http.Header{"Cookie": {"svc_session=" + owner.Session.ID}}, "", 401, "unauthenticated"},
		"in Authorization":        {http.Header{"Authorization": {"Bearer " + value}}, "", 401, "invalid_api_key"},
		"in Authorization, alone": {http.Header{"Authorization": {value}, "Cookie": {owner.cookie}}, "", 401, "invalid_api_key"},
		"in the address":          {nil, "?svc_session=" + value, 400, "credential_in_url"},
		"in the address, escaped": {nil, "?svc_session=%73" + value[1:], 400, "credential_in_url"},
		"as the view":             {http.Header{"Cookie": {"svc_view=" + value}}, "", 401, "unauthenticated"},
		"as the elevation":        {http.Header{"Cookie": {"svc_admin=" + value}}, "", 401, "unauthenticated"},
	} {
		for _, method := range []string{"GET", "POST"} {
			header := c.header.Clone()
			if header == nil {
				header = http.Header{}
			}
			header.Set("Origin", agentsURL)
			header.Set("Content-Type", "application/json")
			if got := s.do(t, call{on: gateway.Agents, method: method, path: path + c.query, header: header, body: `{"kind":"user","body":"hi"}`, from: fresh()}); got.StatusCode != c.status || !strings.Contains(got.body, c.typ) {
				t.Errorf("%s: %s: %d %s", name, method, got.StatusCode, got.body)
			}
		}
	}
	for name, header := range map[string]http.Header{
		"a sibling": {"Origin": {platformURL}}, "Admin": {"Origin": {adminURL}}, "nothing said": {}, "null": {"Origin": {"null"}}, "https": {"Origin": {"https://agents.svc.localhost:8080"}},
		"another port": {"Origin": {"http://agents.svc.localhost"}}, "capitals": {"Origin": {"HTTP://agents.svc.localhost:8080"}}, "twice": {"Origin": {agentsURL, agentsURL}},
		"same-site": {"Origin": {agentsURL}, "Sec-Fetch-Site": {"same-site"}}, "cross-site": {"Origin": {agentsURL}, "Sec-Fetch-Site": {"cross-site"}}, "none": {"Sec-Fetch-Site": {"none"}},
		"two sites": {"Origin": {agentsURL}, "Sec-Fetch-Site": {"same-origin", "cross-site"}}, "a prefix": {"Origin": {agentsURL + ".evil.example"}}, "a Referer": {"Referer": {agentsURL + "/"}},
	} {
		header.Set("Content-Type", "application/json")
		for _, at := range []string{path, path + "/abort", spaceOf(in) + "/teams", spaceOf(in) + "/keys", spaceOf(in) + "/invitations"} {
			if got := s.do(t, call{on: gateway.Agents, method: "POST", path: at, header: header.Clone(), cookie: owner.cookie, body: `{"kind":"user","body":"hi"}`}); got.StatusCode != 403 || got.verdict() != "cross_origin_request" {
				t.Errorf("%s: %s: %d %s", name, at, got.StatusCode, got.body)
			}
		}
	}
	s.do(t, call{on: gateway.Agents, path: path, cookie: owner.cookie}).wants(t, 404, "stream_not_found")
}
