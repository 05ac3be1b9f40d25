package torture_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"svc.dev/svc/internal/torture"
)

// mirror is a server that answers with what it was sent, and keeps it.
type mirror struct {
	mu  sync.Mutex
	got []string
	*httptest.Server
}

func newMirror(t *testing.T) (*mirror, *torture.Proxy) {
	t.Helper()
	m := &mirror{}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		m.mu.Lock()
		m.got = append(m.got, fmt.Sprintf("%s %s %d %v", r.Method, r.URL.Path, len(body), err))
		m.mu.Unlock()
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = w.Write(body)
	}))
	t.Cleanup(m.Close)
	s := before(t, m.URL)
	return m, s.proxy
}

func (m *mirror) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.got)
}

// post sends so many bytes, and says what came back.
func post(t *testing.T, url string, size int, header http.Header) (status, length int, err error) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: header == nil, ExpectContinueTimeout: 10e9}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(strings.Repeat("x", size)))
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		r.Header[name] = values
	}
	answer, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		return 0, 0, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return answer.StatusCode, len(body), err
}

func TestAProxyWithoutPlansPassesEverything(t *testing.T) {
	m, proxy := newMirror(t)
	for _, header := range []http.Header{nil, {"Expect": {"100-continue"}}} {
		if status, n, err := post(t, proxy.URL()+"/a", 100_000, header); status != 200 || n != 100_000 || err != nil {
			t.Fatalf("%d, %d bytes, %v", status, n, err)
		}
	}
	passed := proxy.Passed()
	if len(passed) != 2 || passed[1].Line != "POST /a HTTP/1.1" || passed[1].Request < 100_000 || passed[1].Answer < 100_000 || passed[1].Afflicts || m.count() != 2 {
		t.Errorf("passed %+v", passed)
	}
}

func TestAPlanHitsWhatItIsFor(t *testing.T) {
	_, proxy := newMirror(t)
	if err := proxy.Plan(torture.Plan{Match: "/b", Skip: 1, Times: 2, Do: torture.Cut}); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		path string
		cut  bool
	}{{"/b", false}, {"/a", false}, {"/b", true}, {"/a", false}, {"/b", true}, {"/b", false}} {
		if _, _, err := post(t, proxy.URL()+c.path, 10, nil); (err != nil) != c.cut {
			t.Errorf("%d %s: %v", i, c.path, err)
		}
	}
	if proxy.Hits() != 2 {
		t.Errorf("%d hits", proxy.Hits())
	}
	for _, bad := range []torture.Plan{{}, {Do: "x"}, {Do: torture.Cut, After: -1}, {Do: torture.Cut, Of: "x"}, {Do: torture.Hold, Of: torture.Request}} {
		if proxy.Plan(bad) == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

func TestAnExchangeIsCutAtTheByte(t *testing.T) {
	m, proxy := newMirror(t)
	post(t, proxy.URL(), 1000, nil)
	whole := proxy.Passed()[0]
	if whole.Request < 1000 || whole.Answer < 1000 {
		t.Fatalf("of what is there %d and %d bytes are counted", whole.Request, whole.Answer)
	}
	for _, do := range ways {
		for _, at := range []int{0, 1, whole.Answer - 1000, whole.Answer - 1} {
			proxy.Forget()
			if err := proxy.Plan(torture.Plan{After: at, Do: do}); err != nil {
				t.Fatal(err)
			}
			_, n, err := post(t, proxy.URL(), 1000, nil)
			// The transport asks once more where nothing was answered on a connection that it had used; here it has not.
			if err == nil || proxy.Passed()[0].Answer != at || n > max(0, at-(whole.Answer-1000)) {
				t.Errorf("%s at %d: %d bytes passed, %d of the body, %v", do, at, proxy.Passed()[0].Answer, n, err)
			}
		}
		for _, at := range []int{0, 1, whole.Request - 500} {
			proxy.Forget()
			before := m.count()
			if err := proxy.Plan(torture.Plan{Of: torture.Request, After: at, Do: do}); err != nil {
				t.Fatal(err)
			}
			status, _, err := post(t, proxy.URL(), 1000, nil)
			if err == nil && status != 400 || proxy.Passed()[0].Request != at {
				t.Errorf("%s at %d: %d, %d bytes passed, %v", do, at, status, proxy.Passed()[0].Request, err)
			}
			if at == 0 && m.count() != before {
				t.Errorf("%s: the server heard of it", do)
			}
		}
	}
}

func TestADuplicateIsSentTwice(t *testing.T) {
	m, proxy := newMirror(t)
	if err := proxy.Plan(torture.Plan{Do: torture.Duplicate}); err != nil {
		t.Fatal(err)
	}
	if status, n, err := post(t, proxy.URL()+"/twice", 70_000, nil); status != 200 || n != 70_000 || err != nil {
		t.Fatalf("%d, %d bytes, %v", status, n, err)
	}
	eventually(t, "the server hears it twice", func() bool { return m.count() == 2 })
	if m.got[0] != m.got[1] {
		t.Errorf("%v", m.got)
	}
}

func TestAProxyMovesAndSevers(t *testing.T) {
	_, proxy := newMirror(t)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	defer other.Close()
	proxy.Move(strings.TrimPrefix(other.URL, "http://"))
	if status, _, err := post(t, proxy.URL(), 1, nil); status != http.StatusTeapot || err != nil {
		t.Errorf("%d, %v", status, err)
	}
	proxy.Move("127.0.0.1:1")
	if _, _, err := post(t, proxy.URL(), 1, nil); err == nil {
		t.Error("answered by nobody")
	}
}

// TestPlansCanBeMadeOverHTTP is what a test in another language does.
func TestPlansCanBeMadeOverHTTP(t *testing.T) {
	m, proxy := newMirror(t)
	control := httptest.NewServer(proxy.Control())
	defer control.Close()
	tell := func(method, path, body string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), method, control.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := control.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(text)
	}
	for body, want := range map[string]int{`{"do":"cut","times":-1}`: 204, `[{"do":"cut"},{"do":"hold"}]`: 204, `{"do":"x"}`: 400, `x`: 400, `[1]`: 400, ``: 400} {
		if status, text := tell("POST", "/plans", body); status != want {
			t.Errorf("%s: %d %s", body, status, text)
		}
	}
	if _, _, err := post(t, proxy.URL(), 1, nil); err == nil {
		t.Error("not cut")
	}
	if _, text := tell("GET", "/hits", ""); text != "{\"hits\":1}\n" {
		t.Errorf("hits: %s", text)
	}
	var passed []torture.Exchange
	if _, text := tell("GET", "/exchanges", ""); json.Unmarshal([]byte(text), &passed) != nil || len(passed) != 1 || !passed[0].Afflicts {
		t.Errorf("passed: %s", text)
	}
	if status, _ := tell("DELETE", "/plans", ""); status != 204 {
		t.Errorf("forget: %d", status)
	}
	if status, _ := tell("POST", "/sever", ""); status != 204 {
		t.Errorf("sever: %d", status)
	}
	if status, _ := tell("PUT", "/target", `{"address":"`+strings.TrimPrefix(m.URL, "http://")+`"}`); status != 204 {
		t.Errorf("move: %d", status)
	}
	if status, n, err := post(t, proxy.URL(), 3, nil); status != 200 || n != 3 || errors.Join(err) != nil {
		t.Errorf("%d, %d bytes, %v", status, n, err)
	}
}
