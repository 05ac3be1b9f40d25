package service_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"svc.dev/svc/service/servicetest"
)

// send asks as a page of Agents does, for whoever has the cookie.
func send(t *testing.T, s *servicetest.Served, path, cookie, body string) servicetest.Answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", s.Agents+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Origin": {s.Agents}, "Cookie": {cookie}}
	return servicetest.Send(t, servicetest.Client, req)
}

func TestLimitsOfBodiesAreTheOperators(t *testing.T) {
	c := servicetest.Config(t)
	c.LimitBody, c.LimitChannelBody = 1000, 500
	s := servicetest.Start(t, c)
	made := post(t, s, "/api/auth/password/register", `{"email":"ada@example.com","password":"a long and quiet sentence","username":"ada"}`)
	cookie, _, _ := strings.Cut(made.Header.Get("Set-Cookie"), ";")
	prompt := func(length int) string {
		const text = `{"kind":"user","body":""}`
		return strings.Replace(text, `""`, `"`+strings.Repeat("x", length-len(text))+`"`, 1)
	}
	for _, test := range []struct {
		path   string
		length int
		status int
		limit  int // 0: it was not too long
	}{
		{"/v1/ada/personal/agents/central/a", 1000, 202, 0},
		{"/v1/ada/personal/agents/central/a", 1001, 413, 1000},
		{"/v1/ada/personal/channels/none/in", 500, 404, 0},
		{"/v1/ada/personal/channels/none/in", 501, 413, 500},
	} {
		got := send(t, s, test.path, cookie, prompt(test.length))
		if got.Status != test.status || test.limit > 0 && !strings.Contains(got.Body, fmt.Sprintf(`"limit":%d`, test.limit)) {
			t.Errorf("%d bytes to %s: %d %s", test.length, test.path, got.Status, got.Body)
		}
	}
}
