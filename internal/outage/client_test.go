package outage_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// answer is what a client was told, or that it was told nothing.
type answer struct {
	status   int // 0: the connection broke, or nothing came in time
	took     time.Duration
	header   http.Header
	body     []byte
	err      error
	id       string // of the submission or run that was admitted
	replayed bool
}

func (a answer) String() string {
	if a.err != nil {
		return fmt.Sprintf("no answer after %s: %v", seconds(a.took), a.err)
	}
	return fmt.Sprintf("%d after %s, Retry-After %q: %.300s", a.status, seconds(a.took), a.header.Get("Retry-After"), a.body)
}

// fault is the type of the error in the envelope, empty where there is none.
func (a answer) fault() string {
	var envelope struct{ Error struct{ Type string } }
	_ = json.Unmarshal(a.body, &envelope)
	return envelope.Error.Type
}

// unavailable reports whether the answer asks to be tried again: 503 runtime_unavailable with Retry-After.
func (a answer) unavailable() bool {
	return a.status == http.StatusServiceUnavailable && a.fault() == "runtime_unavailable" && a.header.Get("Retry-After") != ""
}

// clients is one client for all: a connection of its own for whoever waits.
var clients = &http.Client{Transport: &http.Transport{
	MaxIdleConnsPerHost: 64, DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
}}

// wait is how long a client waits for an answer unless it says otherwise.
const wait = 60 * time.Second

func (p *process) do(method, path, key string, body []byte, limit time.Duration) (a answer) {
	began := time.Now()
	defer func() { a.took = time.Since(began) }()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, p.url+path, bytes.NewReader(body))
	if err != nil {
		return answer{err: err}
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	response, err := clients.Do(r)
	if err != nil {
		return answer{err: err}
	}
	defer response.Body.Close()
	a = answer{status: response.StatusCode, header: response.Header, replayed: response.Header.Get("Idempotency-Replayed") == "true"}
	a.body, a.err = io.ReadAll(response.Body)
	var admitted struct{ SubmissionID, RunID string }
	if json.Unmarshal(a.body, &admitted) == nil {
		a.id = admitted.SubmissionID + admitted.RunID
	}
	return a
}

func (p *process) get(path string, limit time.Duration) answer {
	return p.do(http.MethodGet, path, "", nil, limit)
}

// prompt says something to an agent's instance, with an image if one is given.
func (p *process) prompt(agent, instance, text, key string, image []byte) answer {
	return p.do(http.MethodPost, "/agents/"+agent+"/"+instance, key, message(text, image), wait)
}

func message(text string, image []byte) []byte {
	m := map[string]any{"kind": "user", "body": text}
	if image != nil {
		m["attachments"] = []map[string]string{{
			"type": "image", "mimeType": "image/png", "data": base64.StdEncoding.EncodeToString(image),
		}}
	}
	body, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return body
}

// invoke starts a run.
func (p *process) invoke(workflow, key string, input any) answer {
	body, err := json.Marshal(input)
	if err != nil {
		panic(err)
	}
	return p.do(http.MethodPost, "/workflows/"+workflow, key, body, wait)
}

// must is an admission that nothing stands in the way of.
func (p *process) must(a answer) (id string) {
	p.t.Helper()
	if a.status != http.StatusAccepted {
		p.t.Fatalf("node %s: %v\n%s", p.name, a, p.Complaints())
	}
	return a.id
}
