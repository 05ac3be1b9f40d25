package service_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"svc.dev/svc/internal/bundle/bundletest"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/servicetest"
)

const entryProject = `
-- src/app.ts --
import { listRuns } from "@svc/runtime";
import { svc } from "@svc/runtime/routing";
const api = svc();
let gate;
const bytes = (text) => new TextEncoder().encode(text);
async function* forever() { for (;;) { yield bytes("tick\n"); await new Promise((r) => setTimeout(r, 5)); } }
const pages = {
  "/": () => new Response("root"),
  "/seen": (r) => Response.json({ method: r.method, url: r.url, headers: Object.fromEntries(r.headers) }),
  "/cookie": () => new Response("x", { headers: [
    ["set-cookie", "svc_session=mine; Path=/; Domain=svc.localhost"], ["set-cookie", "svc_session=; Max-Age=0"], ["set-cookie", "own=1"],
    ["clear-site-data", '"cookies"'], ["service-worker-allowed", "/"], ["access-control-allow-origin", "*"], ["x-svc-scope", "users/eve/personal"],
    ["strict-transport-security", "max-age=0"], ["refresh", "0; url=/"], ["connection", "upgrade"], ["upgrade", "websocket"], ["transfer-encoding", "gzip"],
    ["content-language", "de"],
  ] }),
  "/html": () => new Response("<script>alert(1)</script>", { headers: { "content-type": "text/html", "content-security-policy": "script-src 'none'" } }),
  "/onward": (r) => new Response(null, { status: 302, headers: { location: new URL(r.url).searchParams.get("to") } }),
  "/resolved": (r) => Response.redirect(new URL("/login", r.url), 303),
  "/unauthorized": () => new Response("who?", { status: 401, headers: { "www-authenticate": "Basic" } }),
  "/thrown": () => { throw new Error("the inside"); },
  "/forever": () => new Response(ReadableStream.from(forever())),
  "/length": async (r) => new Response(String((await r.text()).length)),
  "/unread": () => new Response("unread"),
  "/mine": async () => { await (gate ??= new Promise((open) => setTimeout(open, 300))); return Response.json(await listRuns()); },
};
export default {
  fetch(request) {
    const url = new URL(request.url);
    if (url.pathname.startsWith("/api/")) return api.fetch(new Request("http://x" + url.pathname.slice(4) + url.search, request));
    const page = pages[url.pathname];
    return page ? page(request) : new Response("the application has " + url.pathname, { status: url.pathname === "/nothing" ? 404 : 200 });
  },
};
-- src/workflows/greet.ts --
import { defineWorkflow } from "@svc/runtime";
export const route = (c, next) => next();
export const runs = (c, next) => next();
export default defineWorkflow({ run() { return "hello"; } });
-- src/channels/bell.ts --
export const channel = { routes: [{ method: "POST", path: "/ring", handler: (c) => c.text("ding") }] };
`

// entered is a service with the project, and ada in it.
type entered struct {
	*servicetest.Served
	ada servicetest.Workspace
}

func (e entered) do(t *testing.T, method, path, key string, body io.Reader, header http.Header) servicetest.Answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, e.ada.API+path, body)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		r.Header[name] = values
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	return servicetest.Send(t, servicetest.Client, r)
}

// TestAnEntrypointAnswersWhatTheAPIDoesNotKnow looks at a project from outside, in one process and in two.
func TestAnEntrypointAnswersWhatTheAPIDoesNotKnow(t *testing.T) {
	for name, start := range map[string]func(*testing.T, config.Config) *servicetest.Served{"serve": servicetest.Start, "split": startSplit} {
		t.Run(name, func(t *testing.T) {
			c := servicetest.Config(t)
			c.Project, c.LimitBody = bundletest.With(t, bundletest.Project(t, entryProject)), 1<<20
			s := start(t, c)
			e := entered{s, s.SignUp(t, "agents:read", "agents:write", "runs:read", "workflows:run")}
			e.seesWhoAsks(t)
			e.leadsOn(t)
			e.keepsSessions(t)
			e.takesBodies(t)
			e.serves(t)
			e.keepsApart(t)
		})
	}
}

// seesWhoAsks has a client say that it is somebody else.
func (e entered) seesWhoAsks(t *testing.T) {
	t.Helper()
	got := e.do(t, "GET", "/seen?x=1", e.ada.Key, nil, http.Header{
		"Cookie": {"svc_session=x; own=1"}, "X-Svc-Scope": {"users/eve/personal"}, "X-Svc-Actor": {"eve"}, "X-Svc-Runtime-Token": {"t"}, "X-Own": {"1"},
		"X-Forwarded-For": {"1.2.3.4"}, "Te": {"trailers"},
	})
	var seen struct {
		Method, URL string
		Headers     map[string]string
	}
	if err := json.Unmarshal([]byte(got.Body), &seen); err != nil || got.Status != 200 {
		t.Fatalf("seen: %d %s, %v", got.Status, got.Body, err)
	}
	if seen.Method != "GET" || seen.URL != e.Agents+"/seen?x=1" {
		t.Errorf("it is asked %s %s", seen.Method, seen.URL)
	}
	for name, want := range map[string]string{
		"x-svc-scope": "users/ada/personal", "x-svc-account": "ada", "x-svc-actor": "ada", "x-svc-authority": "customer", "x-svc-base": e.Agents + "/v1/ada/personal", "x-own": "1",
		"cookie": "", "authorization": "", "x-svc-runtime-token": "", "x-svc-assertion": "", "x-forwarded-for": "", "te": "",
	} {
		if seen.Headers[name] != want {
			t.Errorf("it sees %s: %q, want %q", name, seen.Headers[name], want)
		}
	}
}

// leadsOn follows where the project leads.
func (e entered) leadsOn(t *testing.T) {
	t.Helper()
	base := e.Agents + "/v1/ada/personal"
	for to, want := range map[string]string{
		"/login": base + "/login", "login?a=b": base + "/login?a=b", "../../../eve/personal": base + "/eve/personal", "https://shop.example/x": "https://shop.example/x",
		base + "/seen": base + "/seen", e.Agents + "/api/auth/logout": base + "/api/auth/logout", "/v1/eve/personal/x": base + "/v1/eve/personal/x",
		"//evil.example/x": "", `/\evil.example`: "", "javascript:alert(1)": "", "data:text/html,x": "", "http://ada@evil.example/": "",
	} {
		got := e.do(t, "GET", "/onward?to="+strings.NewReplacer("&", "%26", "?", "%3F", "#", "%23", `\`, "%5C").Replace(to), e.ada.Key, nil, nil)
		status := http.StatusFound
		if want == "" {
			status = http.StatusBadGateway
		}
		if got.Status != status || got.Header.Get("Location") != want {
			t.Errorf("%s leads to %d %q, want %q", to, got.Status, got.Header.Get("Location"), want)
		}
	}
	if got := e.do(t, "GET", "/resolved", e.ada.Key, nil, nil); got.Header.Get("Location") != base+"/login" {
		t.Errorf("an address that the project made leads to %q", got.Header.Get("Location"))
	}
}

// keepsSessions has the project speak for the whole host.
func (e entered) keepsSessions(t *testing.T) {
	t.Helper()
	got := e.do(t, "GET", "/cookie", e.ada.Key, nil, nil)
	for _, name := range []string{"Set-Cookie", "Clear-Site-Data", "Service-Worker-Allowed", "Access-Control-Allow-Origin", "X-Svc-Scope", "X-Svc-Passed", "Strict-Transport-Security", "Refresh", "Upgrade"} {
		if got.Header.Get(name) != "" {
			t.Errorf("%s: %q is in the answer", name, got.Header.Values(name))
		}
	}
	if got.Status != 200 || got.Header.Get("Content-Language") != "de" || got.Body != "x" {
		t.Errorf("the answer is %d %s %v", got.Status, got.Body, got.Header)
	}
	got = e.do(t, "GET", "/html", e.ada.Key, nil, nil)
	if policy := got.Header.Values("Content-Security-Policy"); len(policy) != 2 || policy[0] != "script-src 'none'" || !strings.HasPrefix(policy[1], "sandbox ") || strings.Contains(policy[1], "same-origin") {
		t.Errorf("a page may %q", policy)
	}
	if got := e.do(t, "GET", "/unauthorized", e.ada.Key, nil, nil); got.Status != 401 || got.Body != "who?" || got.Header.Get("WWW-Authenticate") != "" {
		t.Errorf("the project's 401 is %d %s %v", got.Status, got.Body, got.Header)
	}
	if got := e.do(t, "GET", "/thrown", e.ada.Key, nil, nil); got.Status != 500 || !strings.Contains(got.Body, `"type":"internal_error"`) {
		t.Errorf("what it throws is %d %s", got.Status, got.Body)
	}
}

// endless is a body without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// takesBodies sends much, and hears much.
func (e entered) takesBodies(t *testing.T) {
	t.Helper()
	if got := e.do(t, "POST", "/length", e.ada.Key, strings.NewReader(strings.Repeat("a", 1<<20)), nil); got.Status != 200 || got.Body != "1048576" {
		t.Errorf("a body that fits is %d %.200s", got.Status, got.Body)
	}
	if got := e.do(t, "POST", "/length", e.ada.Key, strings.NewReader(strings.Repeat("a", 1<<20+1)), nil); got.Status != 413 {
		t.Errorf("a body that does not is %d %.200s", got.Status, got.Body)
	}
	if got := e.do(t, "POST", "/length", e.ada.Key, io.LimitReader(endless{}, 8<<20), nil); got.Status != 413 {
		t.Errorf("a body without a length is %d %.200s", got.Status, got.Body)
	}
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	r, err := http.NewRequestWithContext(ctx, "GET", e.ada.API+"/forever", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+e.ada.Key)
	res, err := servicetest.Client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if part, err := io.ReadAll(io.LimitReader(res.Body, 50)); err != nil || string(part) != strings.Repeat("tick\n", 10) {
		t.Errorf("a stream begins with %q, %v", part, err)
	}
}

// serves asks for the API beside the entrypoint and through it, and for what nobody knows, by keys that were made for less. Webhooks are the
// API's, and no stranger comes to the entrypoint by their paths.
func (e entered) serves(t *testing.T) {
	t.Helper()
	if got := e.do(t, "GET", "", e.ada.Key, nil, nil); got.Status != 200 || got.Body != "root" {
		t.Errorf("the root is %d %s", got.Status, got.Body)
	}
	for _, path := range []string{"/workflows/greet?wait=result", "/api/workflows/greet?wait=result"} {
		if got := e.do(t, "POST", path, e.ada.Key, nil, nil); got.Status != 200 || !strings.Contains(got.Body, `"result":"hello"`) {
			t.Errorf("%s is %d %s", path, got.Status, got.Body)
		}
	}
	if got := e.do(t, "POST", "/channels/bell/ring", "", nil, nil); got.Status != 200 || got.Body != "ding" {
		t.Errorf("a webhook is answered %d %s", got.Status, got.Body)
	}
	for _, path := range []string{"/channels/bell/none", "/channels/none/ring", "/channels/a/b/c"} {
		if got := e.do(t, "GET", path, "", nil, nil); got.Status != 404 || strings.Contains(got.Body, "the application") {
			t.Errorf("a stranger's %s is answered %d %s", path, got.Status, got.Body)
		}
	}
	if got := e.do(t, "GET", "/nothing", e.ada.Key, nil, nil); got.Status != 404 {
		t.Errorf("what nobody knows is %d %s", got.Status, got.Body)
	}
	for _, each := range []struct{ method, path, scopes, required string }{
		{"GET", "/seen", "agents:read", "agents:read runs:read"}, {"GET", "/seen", "agents:write workflows:run", "agents:read runs:read"},
		{"POST", "/seen", "agents:read runs:read", "agents:write workflows:run"}, {"POST", "/api/workflows/greet", "agents:write agents:read", "agents:write workflows:run"},
		{"POST", "/api/agents/central/x", "workflows:run", "agents:write workflows:run"},
	} {
		key := e.Key(t, "ada", strings.Fields(each.scopes)...)
		if got := e.do(t, each.method, each.path, key, nil, nil); got.Status != 403 || !strings.Contains(got.Body, "insufficient_scope") || !strings.Contains(got.Body, each.required) {
			t.Errorf("%s %s by a key for %s is %d %s", each.method, each.path, each.scopes, got.Status, got.Body)
		}
	}
	eve := e.Key(t, "eve", "agents:read", "agents:write", "runs:read", "workflows:run")
	for key, status := range map[string]int{"": 401, "svck_none": 401, eve: 404} {
		if got := e.do(t, "GET", "/seen", key, nil, nil); got.Status != status {
			t.Errorf("somebody else is answered %d %s, want %d", got.Status, got.Body, status)
		}
	}
}

// keepsApart has two workspaces wait for the same promise of a module. Each reads its own runs then.
func (e entered) keepsApart(t *testing.T) {
	t.Helper()
	eve := e.Key(t, "eve", "agents:read", "agents:write", "runs:read", "workflows:run")
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			key, api, has := e.ada.Key, e.ada.API, true
			if i%2 == 1 {
				key, api, has = eve, strings.Replace(api, "/ada/", "/eve/", 1), false
			}
			r, err := http.NewRequestWithContext(t.Context(), "GET", api+"/mine", nil)
			if err != nil {
				t.Error(err)
				return
			}
			r.Header.Set("Authorization", "Bearer "+key)
			if got := servicetest.Send(t, servicetest.Client, r); got.Status != 200 || strings.Contains(got.Body, "greet") != has {
				t.Errorf("%s is answered %d %s", api, got.Status, got.Body)
			}
		})
	}
	all.Wait()
}
