package service_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"svc.dev/svc/service"
)

// send asks as a page of Agents does, for whoever has the cookie.
func send(t *testing.T, s *served, path, cookie, body string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", s.Agents+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Origin": {s.Agents}, "Cookie": {cookie}}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(text)}
}

func TestLimitsOfBodiesAreTheOperators(t *testing.T) {
	c := config(t)
	c.LimitBody, c.LimitChannelBody = 1000, 500
	s := start(t, c)
	made := post(t, s, "/api/auth/password/register", `{"email":"ada@example.com","password":"a long and quiet sentence","username":"ada"}`)
	cookie, _, _ := strings.Cut(made.header.Get("Set-Cookie"), ";")
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
		if got.status != test.status || test.limit > 0 && !strings.Contains(got.body, fmt.Sprintf(`"limit":%d`, test.limit)) {
			t.Errorf("%d bytes to %s: %d %s", test.length, test.path, got.status, got.body)
		}
	}
}

// A body that is more than all bodies may be could never be taken in.
func TestABodyIsNotMoreThanAllThatAreHeld(t *testing.T) {
	if err := (service.Config{LimitBody: 2 << 20, LimitBuffered: 1 << 20}).Check(); err == nil || !strings.Contains(err.Error(), "limits.body: 2MiB is more than limits.buffered, 1MiB") {
		t.Errorf("%v", err)
	}
	if err := (service.Config{LimitBody: 1 << 20, LimitBuffered: 1 << 20}).Check(); err != nil {
		t.Error(err)
	}
}
