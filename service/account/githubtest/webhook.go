package githubtest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Delivery is a webhook to send.
type Delivery struct {
	Event  string
	Body   any    // a text as it is, anything else as JSON
	ID     string // defaults to a new one; the same twice is a replay
	To     string
	Secret string // defaults to the app's own; another one forges
}

// Deliver sends a webhook of an app. The caller closes the answer's body.
func (s *Server) Deliver(ctx context.Context, app int64, d Delivery) (*http.Response, error) {
	s.change(func(w *world) { d.Secret = cmp.Or(d.Secret, w.app(app).WebhookSecret) })
	body, err := json.Marshal(d.Body)
	if text, ok := d.Body.(string); ok {
		body = []byte(text)
	}
	if err != nil {
		return nil, fmt.Errorf("deliver: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.To, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("deliver: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "GitHub-Hookshot/044aadd")
	r.Header.Set("X-GitHub-Event", d.Event)
	r.Header.Set("X-GitHub-Delivery", cmp.Or(d.ID, hex.EncodeToString([]byte(rand.Text()))))
	if d.Secret != "" {
		mac := hmac.New(sha256.New, []byte(d.Secret))
		mac.Write(body)
		r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	}
	client := http.Client{Timeout: 10 * time.Second}
	return client.Do(r)
}

// PingPayload is what a new webhook is greeted with.
func (s *Server) PingPayload(app int64) map[string]any {
	return map[string]any{
		"zen": "Approachable is better than simple.", "hook_id": app + 1,
		"hook": map[string]any{"type": "App", "id": app + 1, "name": "web", "active": true, "app_id": app, "events": []string{"push"}},
	}
}

// payload is an event, which octocat caused unless it says otherwise.
func (s *Server) payload(tell func(*world) map[string]any) (event map[string]any) {
	s.change(func(w *world) {
		event = tell(w)
		if event["sender"] == nil {
			event["sender"] = w.accountBody(w.account(Octocat))
		}
	})
	return event
}

// InstallationPayload tells that an installation was created, deleted, suspended and so on.
func (s *Server) InstallationPayload(action string, id int64) map[string]any {
	return s.payload(func(w *world) map[string]any {
		i := w.installationOf(id)
		return map[string]any{
			"action": action, "installation": w.installationBody(i), "requester": nil,
			"repositories": w.repositoryBodies(i.reaches),
		}
	})
}

// ApprovedPayload tells that an owner made an installation that a person had asked for.
func (s *Server) ApprovedPayload(id, requester int64) map[string]any {
	event := s.InstallationPayload("created", id)
	s.change(func(w *world) { event["requester"] = w.accountBody(w.account(requester)) })
	return event
}

// RepositoriesPayload tells what an installation reaches more, and what it no longer reaches.
func (s *Server) RepositoriesPayload(id int64, added, removed []int64) map[string]any {
	action := "added"
	if len(added) == 0 {
		action = "removed"
	}
	return s.payload(func(w *world) map[string]any {
		return map[string]any{
			"action": action, "installation": w.installationBody(w.installationOf(id)), "repository_selection": "selected", "requester": nil,
			"repositories_added":   w.repositoryBodies(among(added)),
			"repositories_removed": w.repositoryBodies(among(removed)),
		}
	})
}

// RevokedPayload tells that a person took back what they allowed.
func (s *Server) RevokedPayload(user int64) map[string]any {
	return s.payload(func(w *world) map[string]any {
		return map[string]any{"action": "revoked", "sender": w.accountBody(w.account(user))}
	})
}

// PushPayload tells of a push to a repository that an installation reaches.
func (s *Server) PushPayload(id, repository int64) map[string]any {
	return s.payload(func(w *world) map[string]any {
		return map[string]any{"ref": "refs/heads/main", "installation": map[string]any{"id": id}, "repository": w.repositoryBodies(among([]int64{repository}))[0]}
	})
}

// CommentPayload tells what octocat wrote about an issue of a repository that an installation reaches.
func (s *Server) CommentPayload(id, repository, number int64, text string) map[string]any {
	event := s.PushPayload(id, repository)
	delete(event, "ref")
	event["action"] = "created"
	event["issue"] = map[string]any{"number": number, "title": "An issue", "html_url": s.URL + "/issue"}
	event["comment"] = map[string]any{"body": text, "html_url": s.URL + "/comment", "user": event["sender"]}
	return event
}
