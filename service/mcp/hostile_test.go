package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc/service/mcp"
)

func usedByHelper(c *mcp.Config) {
	c.UsedBy = func(context.Context, string) (map[string][]string, error) {
		return map[string][]string{"peer": {"helper"}}, nil
	}
}

// hurried does not wait long for a server.
func hurried(c *mcp.Config) { c.ConnectTimeout = 2 * time.Second }

// message is a request as the protocol has it.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Cursor string `json:"cursor"`
	} `json:"params"`
}

// liar speaks just enough of the protocol to be listed, and lists whatever a test wants.
func liar(t *testing.T, list func(cursor string) string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m message
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		result := ""
		switch m.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"liar","version":"1"}}`
		case "tools/list":
			result = list(m.Params.Cursor)
		}
		if m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if result == "" {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
			return
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}))
	t.Cleanup(s.Close)
	return s
}

func listed(name, description, schema string) string {
	text, _ := json.Marshal(name)
	words, _ := json.Marshal(description)
	return fmt.Sprintf(`{"name":%s,"description":%s,"inputSchema":%s}`, text, words, schema)
}

func tools(all ...string) string { return `{"tools":[` + strings.Join(all, ",") + `]}` }

const object = `{"type":"object"}`

func TestWhatAHostileServerListsIsBoundedAndSaid(t *testing.T) {
	deep := `{"type":"object","description":"` + strings.Repeat("x", 10<<20) + `"}`
	wide := `{"type":"object","description":"` + strings.Repeat("x", 50<<10) + `"}`
	many := func(n int, schema string) string {
		var all []string
		for i := range n {
			all = append(all, listed(fmt.Sprint("t", i), "", schema))
		}
		return tools(all...)
	}
	for _, c := range []struct {
		name string
		list func(cursor string) string
		most int    // tools that are kept
		said string // of what is left out
	}{
		{"endless", func(cursor string) string {
			return fmt.Sprintf(`{"tools":[%s],"nextCursor":"%sx"}`, listed("t"+cursor, "", object), cursor)
		}, 256, "too many"},
		{"endless of one name", func(cursor string) string {
			return fmt.Sprintf(`{"tools":[%s],"nextCursor":"%sx"}`, listed("t", "", object), cursor)
		}, 1, "no name of its own"},
		{"a schema of 10 MB", func(string) string { return tools(listed("big", "", deep), listed("small", "", object)) }, 1, "too large"},
		{"many large schemas", func(string) string { return many(100, wide) }, 21, "too large"},
		{"too many at once", func(string) string { return many(400, object) }, 256, "too many"},
		{"control characters", func(string) string { return tools(listed("a\x1b[2Jb\u202e", "", object), listed("ok", "", object)) }, 1, "characters"},
		{"dots and slashes", func(string) string { return tools(listed("../../admin", "", object), listed("a.b", "", object)) }, 0, "characters"},
		{"a long name", func(string) string { return tools(listed(strings.Repeat("n", 60), "", object)) }, 0, "too long"},
		{"no object", func(string) string { return tools(listed("a", "", `{"type":"string"}`), listed("b", "", `[]`)) }, 0, "schema"},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, s scene) {
				d := s.add(t, mcp.Draft{Name: "liar", URL: liar(t, c.list).URL})
				d, err := s.Connect(t.Context(), ada, space, d.ID, 0, nil)
				if err != nil || d.Status != mcp.OK || len(d.Tools) > c.most {
					t.Fatalf("%d tools, %s %s, %v", len(d.Tools), d.Status, d.Reason, err)
				}
				said := fmt.Sprint(d.Omitted)
				if !strings.Contains(said, c.said) || len(d.Omitted) > 51 || strings.ContainsAny(said, "\x1b\u202e") {
					t.Errorf("left out: %.500q", said)
				}
				for _, tool := range d.Tools {
					if tool.Enabled {
						t.Errorf("%s is on", tool.Name)
					}
				}
			})
		})
	}
}

func TestADescriptionHoldsNothingThatCannotBeSeen(t *testing.T) {
	each(t, func(t *testing.T, s scene) {
		words := "Adds.\n\x1b[31mred\x00\u202eesrever\ufeff"
		d := s.add(t, mcp.Draft{Name: "liar", URL: liar(t, func(string) string { return tools(listed("add", words, object)) }).URL})
		d, err := s.Connect(t.Context(), ada, space, d.ID, 0, nil)
		if err != nil || toolOf(t, d, "add").Description != "Adds.\n[31mredesrever" {
			t.Errorf("%+v %v", d.Tools, err)
		}
		version := d.Version
		d, err = s.Refresh(t.Context(), ada, space, d.ID, 0)
		if err != nil || d.Version != version {
			t.Errorf("the same list is news: %d after %d, %v", d.Version, version, err)
		}
	})
}

func TestAServerThatIsNotReachedIsDownAndSaysWhy(t *testing.T) {
	var elsewhere atomic.Int64
	metadata := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(metadata.Close)
	each(t, func(t *testing.T, s scene) {
		release := make(chan struct{})
		slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}))
		t.Cleanup(slow.Close)
		t.Cleanup(func() { close(release) })
		redirect := func(to string, status int) string {
			r := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, status) }))
			t.Cleanup(r.Close)
			return r.URL
		}
		closed := httptest.NewServer(http.NotFoundHandler())
		closed.Close()
		html := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }))
		t.Cleanup(html.Close)
		for i, c := range []struct{ name, url, result, status string }{
			{"a redirect to metadata", redirect("http://169.254.169.254/latest/meta-data/", 307), "address_forbidden", mcp.Down},
			{"a redirect in decimal", redirect("http://2852039166/", 308), "", mcp.Down},
			{"a redirect to IPv6", redirect("http://[fd00:ec2::254]/", 307), "address_forbidden", mcp.Down},
			{"a redirect to another loopback", redirect(strings.Replace(metadata.URL, "127.0.0.1", "127.0.0.2", 1), 307), "address_forbidden", mcp.Down},
			{"a redirect in a circle", redirect("/again", 307), "unreachable", mcp.Down},
			{"silence", slow.URL, "timeout", mcp.Down},
			{"nobody", closed.URL, "unreachable", mcp.Down},
			{"a page", html.URL, "unreachable", mcp.Down},
			{"a token is wanted", newPeer(t, "another").URL, "needs_sign_in", mcp.NeedsSignIn},
		} {
			d := s.add(t, mcp.Draft{Name: fmt.Sprint("s", i), URL: c.url})
			tested, err := s.Test(t.Context(), space, d.ID)
			if err != nil || c.result != "" && tested.Result != c.result || tested.Message == "" {
				t.Errorf("%s: tested %+v, %v", c.name, tested, err)
			}
			_, err = s.Connect(t.Context(), ada, space, d.ID, 0, nil)
			if c.status == mcp.Down {
				wants(t, err, mcp.Unreachable)
			} else if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			d, err = s.Get(t.Context(), space, d.ID)
			if err != nil || d.Status != c.status || d.Reason == "" || d.StatusAt.IsZero() || len(d.Tools) != 0 {
				t.Errorf("%s: kept %+v, %v", c.name, d.Server, err)
			}
		}
		if elsewhere.Load() != 0 {
			t.Error("a redirect was followed to where nobody goes")
		}
	}, hurried)
}

func TestAServerIsRefreshedOnlyAfterItWasConnected(t *testing.T) {
	each(t, func(t *testing.T, s scene) {
		d := s.add(t, mcp.Draft{Name: "peer", URL: newPeer(t, "").URL})
		_, err := s.Refresh(t.Context(), ada, space, d.ID, 0)
		wants(t, err, mcp.NotConnected)
		if _, err := s.Connect(t.Context(), ada, space, d.ID, d.Version, nil); err != nil {
			t.Fatal(err)
		}
		_, err = s.Connect(t.Context(), ada, space, d.ID, d.Version, nil)
		wants(t, err, "version_conflict")
	})
}

// FuzzNamesThatAreKeptFitModels holds every name that is kept to the grammar of models, whatever a server lists.
func FuzzNamesThatAreKeptFitModels(f *testing.F) {
	for _, name := range []string{"echo", "", "a b", "\x00", strings.Repeat("n", 64), "ä", "a/../b", "a__b"} {
		f.Add("srv", name, "words")
	}
	f.Fuzz(func(t *testing.T, server, name, description string) {
		kept, omitted := mcp.Sift(server, name, description)
		if len(kept)+len(omitted) != 1 {
			t.Fatalf("%q: %v %v", name, kept, omitted)
		}
		for _, tool := range kept {
			called := mcp.CalledBy(server, tool.Name)
			if len(called) > 64 || strings.Trim(tool.Name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" || strings.ContainsRune(tool.Description, 0) {
				t.Errorf("%q: %q", called, tool.Description)
			}
		}
		for _, o := range omitted {
			if o.Reason == "" || strings.ContainsAny(o.Name, "\x00\n\x1b") {
				t.Errorf("%q: %+v", name, o)
			}
		}
	})
}
