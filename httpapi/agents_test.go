package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"svc.dev/svc"
	"svc.dev/svc/httpapi"
)

func decode[V any](t *testing.T, text string) V {
	t.Helper()
	var v V
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

func (s *server) history(t *testing.T, path string) *projection {
	t.Helper()
	got := s.get(t, path)
	if got.status != 200 {
		t.Fatalf("history %s: %d %s", path, got.status, got.body)
	}
	return decode[*projection](t, got.body)
}

// settles waits until so many submissions have settled, and returns the conversation then.
func (s *server) settles(t *testing.T, path string, n int) (p *projection) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d settlements", n), func() bool { p = s.history(t, path); return len(p.Settlements) >= n })
	return p
}

func TestConversationsOfTwoScopesNeverMeet(t *testing.T) {
	s := newServer(t, settings{Config: httpapi.Config{Scope: func(r *http.Request) (string, error) { return r.Header.Get("X-Scope"), nil }}})
	const path = "/agents/tooluser/same"
	const message = `{"kind":"user","body":"x","attachments":[{"type":"image","data":"aGVsbG8=","mimeType":"text/plain"}]}`
	var ids []string
	for _, scope := range []string{"users/a", "users/b"} {
		got := s.do(t, "POST", path, strings.NewReader(message), "Content-Type", jsonType, "X-Scope", scope, "Idempotency-Key", "same")
		if got.status != 202 || got.header.Get("Idempotency-Replayed") != "" {
			t.Errorf("%s: %d %v", scope, got.status, got.header)
		}
		ids = append(ids, decode[receipt](t, got.body).SubmissionID)
	}
	s.get(t, path).wants(t, 404, "stream_not_found")
	eventually(t, "both have settled", func() bool {
		return strings.Contains(s.do(t, "GET", path, nil, "X-Scope", "users/a").body, `"outcome":"completed"`) &&
			strings.Contains(s.do(t, "GET", path, nil, "X-Scope", "users/b").body, `"outcome":"completed"`)
	})
	if got := s.do(t, "GET", path, nil, "X-Scope", "users/a"); strings.Contains(got.body, ids[1]) {
		t.Errorf("a sees what b said: %s", got.body)
	}
	attachment := path + "/attachments/att_direct_" + ids[0] + "_0"
	if got := s.do(t, "GET", attachment, nil, "X-Scope", "users/a"); got.body != "hello" {
		t.Errorf("own attachment: %d %s", got.status, got.body)
	}
	s.do(t, "GET", attachment, nil, "X-Scope", "users/b").wants(t, 404, "attachment_not_found")
	if got := s.do(t, "POST", path+"/abort?submission="+ids[0], nil, "X-Scope", "users/b"); got.body != `{"aborted":false}` {
		t.Errorf("abort: %s", got.body)
	}
}

func TestResolvedAgentIsServedLikeADeclaredOne(t *testing.T) {
	var built atomic.Int64
	guard := func(next http.Handler) http.Handler { built.Add(1); return next }
	s := newServer(t, settings{tune: func(c *svc.Config) {
		c.Resolve = func(_ context.Context, _, name, _ string) (*svc.Agent, error) {
			switch name {
			case "found":
				return &svc.Agent{Name: "found", Model: "scripted/words", Route: guard}, nil
			case "unserved":
				return &svc.Agent{Name: "unserved", Model: "scripted/words"}, nil
			case "broken":
				return nil, errors.New("secret")
			}
			return nil, nil
		}
	}})
	s.prompt(t, "/agents/found/x", "n=1")
	s.settles(t, "/agents/found/x", 1)
	if built.Load() < 2 {
		t.Errorf("the guard of an agent that is found anew was built %d times", built.Load())
	}
	s.get(t, "/agents/unserved/x").wants(t, 404, "agent_not_found")
	s.get(t, "/agents/nobody/x").wants(t, 404, "agent_not_found")
	s.get(t, "/agents/broken/x").wants(t, 503, "runtime_unavailable")
	s.get(t, "/agents/broken/x/attachments/a").wants(t, 503, "runtime_unavailable")
}

func TestAgentGuardIsBuiltOnce(t *testing.T) {
	var built atomic.Int64
	s := newServer(t, settings{declare: func(rt *svc.Runtime) {
		rt.AddAgent(&svc.Agent{Name: "counted", Model: "scripted/words", Route: func(next http.Handler) http.Handler { built.Add(1); return next }})
	}})
	for range 3 {
		s.get(t, "/agents/counted/x")
		s.get(t, "/agents/counted/x/submissions")
	}
	if built.Load() != 1 {
		t.Errorf("built %d times", built.Load())
	}
}
