package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/secret"
)

// parrot is a model server that says what it was instructed: as it calls a tool, and again when it has the result.
func parrot(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Messages []struct {
			Role    string
			Content any
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil || len(q.Messages) < 2 {
		http.Error(w, "no question", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(delta map[string]any, finish any) {
		data, _ := json.Marshal(map[string]any{"id": "c", "object": "chat.completion.chunk", "model": "parrot", "choices": []any{
			map[string]any{"index": 0, "delta": delta, "finish_reason": finish},
		}})
		fmt.Fprintf(w, "data: %s\n\n", data)
		_ = http.NewResponseController(w).Flush()
	}
	send(map[string]any{"content": q.Messages[0].Content}, nil)
	if q.Messages[len(q.Messages)-1].Role == "user" {
		send(map[string]any{"tool_calls": []any{map[string]any{
			"index": 0, "id": fmt.Sprint("call_", rand.Int64()), "type": "function", "function": map[string]any{"name": "list_files", "arguments": "{}"},
		}}}, nil)
		send(map[string]any{}, "tool_calls")
	} else {
		send(map[string]any{}, "stop")
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// pair is two nodes on one database, of which now one and now the other is killed and begun again.
type pair struct {
	begin []func() *process
	mu    sync.Mutex
	nodes []*process
	key   string
	// session is of somebody who may change agents.
	session string
}

func newPair(t *testing.T, models string) *pair {
	t.Helper()
	shared := t.TempDir()
	keys := filepath.Join(shared, "keys.json")
	ring, err := secret.NewRing()
	if err == nil {
		err = ring.WriteNew(keys)
	}
	if err != nil {
		t.Fatal(err)
	}
	settings := append(modelSettings("openai"), "SVC_DATABASE_URL="+sqldbtest.Postgres(t), "SVC_KEYS_FILE="+keys, "SVC_FILES_DIR="+filepath.Join(shared, "files"),
		"SVC_MODEL_OPENAI_URL="+models, "SVC_MODEL_OPENAI_KEY=any", "SVC_OPS_LISTEN=127.0.0.1:0")
	p := &pair{}
	for i := range 2 {
		own := append([]string{"SVC_LISTEN=127.0.0.1:" + freePort(t)}, settings...)
		begin := func() *process {
			return launch(t, own, "serve", "--data", filepath.Join(shared, fmt.Sprint("node-", i)))
		}
		p.begin, p.nodes = append(p.begin, begin), append(p.nodes, begin())
	}
	at := p.nodes[0].Serving
	p.key = signUp(t, at, "ada").key
	p.session = send(t, "POST", at.Platform+"/api/auth/password/login", http.Header{"Origin": {at.Platform}}, `{"email":"ada@example.com","password":"a calm and long password"}`).cookie
	return p
}

// killOne kills a node at this instant, and begins it again.
func (p *pair) killOne(i int) {
	p.mu.Lock()
	node := p.nodes[i]
	p.mu.Unlock()
	node.kill()
	again := p.begin[i]()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.nodes[i] = again
}

// ask asks one node after the other until one answers with a status below 500; header says who asks and what makes it happen once.
func (p *pair) ask(t *testing.T, first int, method, path, body string, header map[string]string) (res result) {
	t.Helper()
	answered := eventually(func() bool {
		p.mu.Lock()
		at := p.nodes[first%2].Serving
		p.mu.Unlock()
		first++
		r, err := http.NewRequestWithContext(t.Context(), method, at.Agents+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Origin", at.Agents)
		for name, value := range header {
			r.Header.Set(name, value)
		}
		answer, err := client.Do(r)
		if err != nil {
			return false // it was killed
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		res = result{status: answer.StatusCode, header: answer.Header, body: string(text)}
		return err == nil && answer.StatusCode < 500
	})
	if !answered {
		t.Errorf("%s %s: nobody answers; last %d %s", method, path, res.status, res.body)
	}
	return res
}

func (p *pair) write(t *testing.T, i int, method, path, body string) result {
	t.Helper()
	return p.ask(t, i, method, "/api/workspaces/ada/personal"+path, body, map[string]string{"Cookie": p.session, "Idempotency-Key": fmt.Sprint("write-", i)})
}

func (p *pair) prompt(t *testing.T, lane, i int) {
	t.Helper()
	header := map[string]string{"Authorization": "Bearer " + p.key, "Idempotency-Key": fmt.Sprintf("prompt-%d-%d", lane, i)}
	if res := p.ask(t, lane+i, "POST", fmt.Sprintf("/v1/ada/personal/agents/writer/%d", lane), hello, header); res.status != 202 {
		t.Errorf("prompt: %d %s", res.status, res.body)
	}
}

// reply is what a conversation tells of what an agent said.
type reply struct {
	Role         string
	SubmissionID string
	Parts        []struct{ Type, Text string }
	Metadata     struct{ AgentVersion string }
}

func (r reply) text() (said string) {
	for _, p := range r.Parts {
		if p.Type == "text" {
			said += p.Text
		}
	}
	return said
}

// replies are those of a conversation in which so many prompts have settled, by submission.
func (p *pair) replies(t *testing.T, lane, prompts int) map[string][]reply {
	t.Helper()
	var h struct {
		Messages    []reply
		Settlements []struct{ Outcome string }
	}
	for end := time.Now().Add(2 * time.Minute); ; {
		res := p.ask(t, lane, "GET", fmt.Sprintf("/v1/ada/personal/agents/writer/%d", lane), "", map[string]string{"Authorization": "Bearer " + p.key})
		if err := json.Unmarshal([]byte(res.body), &h); err != nil {
			t.Fatal(err, res.body)
		}
		if len(h.Settlements) == prompts {
			break
		}
		if time.Now().After(end) || len(h.Settlements) > prompts {
			t.Fatalf("%d of %d prompts have settled", len(h.Settlements), prompts)
		}
		takes(20 * time.Millisecond)
	}
	for _, s := range h.Settlements {
		if s.Outcome != "completed" {
			t.Errorf("a prompt settles as %s", s.Outcome)
		}
	}
	all := map[string][]reply{}
	for _, m := range h.Messages {
		if m.Role == "assistant" {
			all[m.SubmissionID] = append(all[m.SubmissionID], m)
		}
	}
	return all
}

// TestEachReplyIsOfOneVersionWhoeverIsKilled prompts two nodes while an agent's definition is saved again and again and they are
// killed in turns. Every reply takes two turns of the model with a tool between them; all of it is of one version, which it names.
func TestEachReplyIsOfOneVersionWhoeverIsKilled(t *testing.T) {
	t.Parallel()
	prompts, saves, kills := 48, 10, 2
	if os.Getenv("SVC_SOAK") != "" {
		prompts, saves, kills = 1000, 100, 20
	}
	models := httptest.NewServer(http.HandlerFunc(parrot))
	t.Cleanup(models.Close)
	p := newPair(t, models.URL+"/v1")
	if made := p.write(t, 0, "POST", "/agents", `{"name":"writer","instructions":"save 0","tools":["list_files"],"exposed":true}`); made.status != 201 {
		t.Fatalf("create: %d %s", made.status, made.body)
	}
	const lanes = 8
	var all sync.WaitGroup
	var admitted, saved atomic.Int64
	for lane := range lanes {
		all.Go(func() {
			for i := range prompts / lanes {
				p.prompt(t, lane, i)
				admitted.Add(1)
				takes(30 * time.Millisecond)
			}
		})
	}
	all.Go(func() {
		for i := range saves {
			res := p.write(t, i+1, "PATCH", "/agents/writer", fmt.Sprintf(`{"instructions":"save %d"}`, i+1))
			// A node that died with the answer has left the save, and that it was made.
			if res.status != 200 && !strings.Contains(res.body, "idempotency_conflict") {
				t.Errorf("save: %d %s", res.status, res.body)
			}
			saved.Add(1)
			takes(20 * time.Millisecond)
		}
	})
	for i := range kills {
		for saved.Load() < int64(i*saves/kills) && !t.Failed() {
			takes(time.Millisecond)
		}
		p.killOne(i % 2)
	}
	t.Logf("killed %d times by when %d prompts were admitted and %d versions saved", kills, admitted.Load(), saved.Load())
	all.Wait()

	versions, broken := map[string]string{}, 0
	for lane := range lanes {
		told := p.replies(t, lane, prompts/lanes)
		if len(told) != prompts/lanes {
			t.Errorf("lane %d: %d prompts have a reply, want %d", lane, len(told), prompts/lanes)
		}
		for id, messages := range told {
			version := messages[0].Metadata.AgentVersion
			if _, known := versions[version]; !known {
				var past struct{ Instructions string }
				res := p.write(t, 0, "GET", "/agents/writer/versions/"+version, "")
				if err := json.Unmarshal([]byte(res.body), &past); err != nil || past.Instructions == "" {
					t.Fatalf("version %q: %d %s", version, res.status, res.body)
				}
				versions[version] = past.Instructions
			}
			if len(messages) != 2 {
				broken++
			}
			for i, m := range messages {
				// What was cut off by a kill may be a part of it, and what went on after it is the whole.
				if said := m.text(); m.Metadata.AgentVersion != version || i == len(messages)-1 && said != versions[version] || !strings.HasPrefix(versions[version], said) {
					t.Errorf("submission %s, message %d by version %s says %q; it began with version %s: %q", id, i, m.Metadata.AgentVersion, said, version, versions[version])
				}
			}
		}
	}
	t.Logf("%d prompts by %d versions, %d of them cut off and gone on with", prompts, len(versions), broken)
}
