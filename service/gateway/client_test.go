package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	goclient "svc.dev/svc/client"
	"svc.dev/svc/service/gateway"
)

// goClient is the published Go client, with a key of ada's, at the address of her workspace.
func (s *scene) goClient(t testing.TB, edit func(*goclient.Config)) *goclient.Client {
	t.Helper()
	at := strings.TrimPrefix(s.server.URL, "http://")
	transport := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, at) // what the names of the surfaces lead to
	}}
	t.Cleanup(transport.CloseIdleConnections)
	config := goclient.Config{BaseURL: agentsURL + "/v1/ada/personal", HTTP: &http.Client{Transport: transport}, Backoff: 10 * time.Millisecond}
	edit(&config)
	c, err := goclient.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var clientScopes = []string{"agents:read", "agents:write", "workflows:run", "runs:read"}

// TestTheGoClientGoesThroughTheGateway uses each of its verbs with a key.
func TestTheGoClientGoesThroughTheGateway(t *testing.T) {
	modes(t, func(t *testing.T, s *scene) {
		cookie, _ := s.session(t, "ada@example.com")
		key := s.key(t, cookie, "ada", clientScopes...)
		c := s.goClient(t, func(c *goclient.Config) { c.Token = key })
		t.Run("agents", func(t *testing.T) { promptsByClient(t, c) })
		t.Run("abort", func(t *testing.T) { abortsByClient(t, c) })
		t.Run("runs", func(t *testing.T) { runsByClient(t, c) })
		t.Run("product", func(t *testing.T) {
			product := s.goClient(t, func(c *goclient.Config) { c.BaseURL, c.Token = agentsURL+"/api/workspaces/ada/personal", key })
			cancelsByClient(t, c, product)
		})
	}, func(c *gateway.Config) { c.Rate, c.Burst = 1e6, 1e6 })
}

func promptsByClient(t *testing.T, c *goclient.Client) {
	image := goclient.Image{MediaType: "image/png", Filename: "a.png", Data: bytes.Repeat([]byte{7}, 3000)}
	sent, err := c.Agents.Send(t.Context(), "central", "go", goclient.Prompt{Body: "n=3", Attachments: []goclient.Image{image}, Key: "one"})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := c.Agents.Send(t.Context(), "central", "go", goclient.Prompt{Body: "n=3", Attachments: []goclient.Image{image}, Key: "one"}); err != nil || !again.Replayed || again.SubmissionID != sent.SubmissionID {
		t.Errorf("sent again: %+v, %v", again, err)
	}
	reply, err := c.Agents.Wait(t.Context(), sent)
	if err != nil || reply.Text() != "word0 word1 word2 " {
		t.Fatalf("%q, %v", reply.Text(), err)
	}
	history, err := c.Agents.History(t.Context(), "central", "go")
	if err != nil || len(history.Messages) != 2 {
		t.Fatalf("%+v, %v", history, err)
	}
	for _, live := range []goclient.Live{goclient.Auto, goclient.LongPoll, goclient.CatchUp} {
		var folded goclient.Conversation
		for u, err := range c.Agents.Updates(t.Context(), "central", "go", goclient.StreamOptions{Live: live}) {
			if err != nil {
				t.Fatal(err)
			}
			if folded.Apply(u); u.Type == goclient.UpdateSettled {
				break
			}
		}
		if len(folded.Messages) != 2 || folded.Messages[1].Text() != reply.Text() || folded.ID != history.ID {
			t.Errorf("%q: folded to %+v", live, folded)
		}
	}
	for seen, err := range c.Agents.Observe(t.Context(), "central", "go", goclient.ObserveOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		if seen.Live {
			break
		}
	}
	file, err := c.Agents.Attachment(t.Context(), "central", "go", history.Messages[0].Parts[1].ID)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Body.Close()
	if data, err := io.ReadAll(file.Body); err != nil || !bytes.Equal(data, image.Data) {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	_, err = c.Agents.History(t.Context(), "central", "nobody")
	if e, _ := errors.AsType[*goclient.Error](err); e == nil || e.Type != "stream_not_found" || e.RequestID == "" {
		t.Errorf("nobody: %v", err)
	}
}

func abortsByClient(t *testing.T, c *goclient.Client) {
	sent, err := c.Agents.Send(t.Context(), "central", "stop", goclient.Prompt{Body: "n=100000 delay=20"})
	if err != nil {
		t.Fatal(err)
	}
	list, err := c.Agents.Submissions(t.Context(), "central", "stop")
	if err != nil || len(list) != 1 || list[0].SubmissionID != sent.SubmissionID {
		t.Fatalf("%+v, %v", list, err)
	}
	if aborted, err := c.Agents.Abort(t.Context(), "central", "stop", sent.SubmissionID); err != nil || !aborted {
		t.Errorf("aborted %v, %v", aborted, err)
	}
	if _, err := c.Agents.Wait(t.Context(), sent); !goclient.Is(err, "submission_aborted") {
		t.Errorf("waited: %v", err)
	}
}

func runsByClient(t *testing.T, c *goclient.Client) {
	result, err := c.Workflows.Run(t.Context(), "quick", goclient.Invocation{})
	if err != nil || string(result.Value) != `{"ok":true}` {
		t.Fatalf("%s, %v", result.Value, err)
	}
	run, err := c.Runs.Get(t.Context(), result.RunID)
	if err != nil || run.Status != goclient.RunCompleted {
		t.Errorf("%+v, %v", run, err)
	}
	n := 0
	for _, err := range c.Runs.Events(t.Context(), result.RunID, goclient.StreamOptions{}) {
		if n++; err != nil {
			t.Fatal(err)
		}
	}
	if n != 2 {
		t.Errorf("%d events", n)
	}
	other, err := c.Workflows.Run(t.Context(), "sample", goclient.Invocation{Input: content{Account: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	first, err := c.Runs.List(t.Context(), goclient.RunQuery{Status: goclient.RunCompleted, Limit: 1})
	if err != nil || len(first.Items) != 1 || first.Items[0].RunID != other.RunID || first.Next == "" || first.Items[0].StartedBy == "" {
		t.Fatalf("%+v, %v", first, err)
	}
	second, err := c.Runs.List(t.Context(), goclient.RunQuery{Status: goclient.RunCompleted, Limit: 1, Cursor: first.Next})
	if err != nil || len(second.Items) != 1 || second.Items[0].RunID != result.RunID || second.Next != "" {
		t.Errorf("%+v, %v", second, err)
	}
	if named, err := c.Runs.List(t.Context(), goclient.RunQuery{Workflow: "sample"}); err != nil || len(named.Items) != 1 {
		t.Errorf("%+v, %v", named, err)
	}
}

// cancelsByClient asks a route of the product that has no method of its own.
func cancelsByClient(t *testing.T, c, product *goclient.Client) {
	id, err := c.Workflows.Invoke(t.Context(), "endless", goclient.Invocation{})
	if err != nil {
		t.Fatal(err)
	}
	var answer struct{ Cancelled bool }
	if err := product.Call(t.Context(), goclient.Request{Method: http.MethodPost, Path: "/runs/" + id + "/cancel"}, &answer); err != nil || !answer.Cancelled {
		t.Fatalf("%+v, %v", answer, err)
	}
	var last goclient.Event
	for e, err := range c.Runs.Stream(t.Context(), id, goclient.StreamOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		last = e
	}
	var end goclient.RunEnd
	if err := last.Decode(&end); err != nil || last.Type != goclient.EventEnd || end.Error == nil || end.Error.Name != "RunCancelled" {
		t.Errorf("ended with %s, %v", last.Raw, err)
	}
}

// TestTheGoClientGoesOnWithAnotherKey revokes the key of a stream that is open: the client asks for another, and misses nothing.
func TestTheGoClientGoesOnWithAnotherKey(t *testing.T) {
	modes(t, func(t *testing.T, s *scene) {
		cookie, _ := s.session(t, "ada@example.com")
		given := 0
		c := s.goClient(t, func(c *goclient.Config) {
			c.TokenFunc = func(context.Context) (string, error) {
				given++
				return s.key(t, cookie, "ada", clientScopes...), nil
			}
		})
		sent, err := c.Agents.Send(t.Context(), "central", "long", goclient.Prompt{Body: "n=120 delay=40"})
		if err != nil {
			t.Fatal(err)
		}
		words := 0
		for u, err := range c.Agents.Follow(t.Context(), sent) {
			if err != nil {
				t.Fatal(err)
			}
			if u.Type != goclient.UpdateDelta {
				continue
			}
			if words++; words == 10 {
				s.revokeKeys(t, cookie)
			}
		}
		if words != 120 || given != 2 {
			t.Errorf("%d words with %d keys", words, given)
		}
	}, func(c *gateway.Config) { c.Recheck, c.Rate, c.Burst = 50*time.Millisecond, 1e6, 1e6 })
}

// revokeKeys takes back all keys of ada's workspace.
func (s *scene) revokeKeys(t testing.TB, cookie string) {
	t.Helper()
	var list struct{ Items []struct{ ID string } }
	s.do(t, call{on: gateway.Agents, path: "/api/workspaces/ada/personal/keys", cookie: cookie}).wants(t, 200, "").read(t, &list)
	for _, k := range list.Items {
		s.do(t, call{on: gateway.Agents, method: "DELETE", path: "/api/workspaces/ada/personal/keys/" + k.ID, cookie: cookie}).wants(t, 204, "")
	}
}
