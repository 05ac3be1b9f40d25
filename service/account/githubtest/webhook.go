package githubtest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Signature is how a delivery is signed.
type Signature int

const (
	Signed   Signature = iota // as GitHub does
	Unsigned                  // not at all
	Forged                    // with another secret
	OldOnly                   // with the SHA-1 header alone
)

// Delivery is a webhook to send.
type Delivery struct {
	Event  string
	Body   any    // a text as it is, anything else as JSON
	ID     string // defaults to a new one; the same twice is a replay
	To     string
	Secret string    // defaults to the app's own
	Sign   Signature // defaults to Signed
}

// Deliver sends a webhook of an app. The caller closes the answer's body.
func (s *Server) Deliver(ctx context.Context, app int64, d Delivery) (*http.Response, error) {
	s.mu.Lock()
	secret := s.world.app(app).WebhookSecret
	s.mu.Unlock()
	body, err := d.bytes()
	if err != nil {
		return nil, fmt.Errorf("deliver: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.To, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("deliver: %w", err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "User-Agent": "GitHub-Hookshot/044aadd", "X-GitHub-Event": d.Event,
		"X-GitHub-Delivery": cmp.Or(d.ID, newGUID()), "X-GitHub-Hook-ID": strconv.FormatInt(app+1, 10),
		"X-GitHub-Hook-Installation-Target-ID": strconv.FormatInt(app, 10), "X-GitHub-Hook-Installation-Target-Type": "integration",
	} {
		r.Header.Set(name, value)
	}
	d.sign(r.Header, cmp.Or(d.Secret, secret), body)
	client := http.Client{Timeout: 10 * time.Second}
	return client.Do(r)
}

func (d Delivery) bytes() ([]byte, error) {
	if text, ok := d.Body.(string); ok {
		return []byte(text), nil
	}
	return json.Marshal(d.Body)
}

func (d Delivery) sign(h http.Header, secret string, body []byte) {
	if d.Sign == Forged {
		secret = "not " + secret
	}
	if d.Sign == Unsigned || secret == "" {
		return
	}
	h.Set("X-Hub-Signature", "sha1="+mac(sha1.New, secret, body))
	if d.Sign != OldOnly {
		h.Set("X-Hub-Signature-256", "sha256="+mac(sha256.New, secret, body))
	}
}

func mac(kind func() hash.Hash, secret string, body []byte) string {
	m := hmac.New(kind, []byte(secret))
	m.Write(body)
	return hex.EncodeToString(m.Sum(nil))
}

func newGUID() string {
	d := random(hexDigits, 32)
	return d[:8] + "-" + d[8:12] + "-4" + d[13:16] + "-a" + d[17:20] + "-" + d[20:]
}

// PingPayload is what a new webhook is greeted with.
func (s *Server) PingPayload(app int64) map[string]any {
	return map[string]any{
		"zen": "Approachable is better than simple.", "hook_id": app + 1,
		"hook": map[string]any{"type": "App", "id": app + 1, "name": "web", "active": true, "app_id": app, "events": []string{"push"}},
	}
}

// InstallationPayload tells that an installation was created, deleted, suspended and so on.
func (s *Server) InstallationPayload(action string, id int64) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.world.installation(id)
	return s.payload(map[string]any{
		"action": action, "installation": s.installationBody(i), "repositories": s.shortRepositories(s.world.repositoriesOf(i)), "requester": nil,
	})
}

// ApprovedPayload tells that an owner made an installation that a person had asked for.
func (s *Server) ApprovedPayload(id, requester int64) map[string]any {
	out := s.InstallationPayload("created", id)
	s.mu.Lock()
	defer s.mu.Unlock()
	out["requester"] = s.accountBody(s.world.account(requester))
	return out
}

// RepositoriesPayload tells what an installation reaches more, and what it no longer reaches.
func (s *Server) RepositoriesPayload(id int64, added, removed []int64) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	action := "added"
	if len(added) == 0 {
		action = "removed"
	}
	named := func(ids []int64) []map[string]any {
		return s.shortRepositories(slices.DeleteFunc(slices.Clone(s.world.repositories), func(r *Repository) bool { return !slices.Contains(ids, r.ID) }))
	}
	return s.payload(map[string]any{
		"action": action, "installation": s.installationBody(s.world.installation(id)), "repository_selection": "selected", "requester": nil,
		"repositories_added": named(added), "repositories_removed": named(removed),
	})
}

// RevokedPayload tells that a person took back what they allowed.
func (s *Server) RevokedPayload(user int64) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return map[string]any{"action": "revoked", "sender": s.accountBody(s.world.account(user))}
}

// PushPayload tells of a push to a repository that an installation reaches.
func (s *Server) PushPayload(id, repository int64) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inRepository(id, repository, map[string]any{"ref": "refs/heads/main"})
}

// CommentPayload tells what a person wrote about an issue.
func (s *Server) CommentPayload(id, repository, number int64, text string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.inRepository(id, repository, map[string]any{
		"action": "created", "issue": map[string]any{"number": number, "title": "An issue", "html_url": s.URL + "/issue"},
	})
	out["comment"] = map[string]any{"id": s.world.next(), "body": text, "html_url": s.URL + "/comment", "user": out["sender"]}
	return out
}

// inRepository is an event of a repository that an installation reaches.
func (s *Server) inRepository(id, repository int64, event map[string]any) map[string]any {
	event["repository"] = s.repositoryBody(find(s.world.repositories, func(r *Repository) bool { return r.ID == repository }))
	event["installation"] = map[string]any{"id": id, "node_id": "I_" + strconv.FormatInt(id, 36)}
	return s.payload(event)
}

// payload is an event with the person it comes from.
func (s *Server) payload(event map[string]any) map[string]any {
	event["sender"] = s.accountBody(s.world.account(Octocat))
	return event
}

// shortRepositories are repositories as the events of installations name them.
func (s *Server) shortRepositories(list []*Repository) []map[string]any {
	all := s.repositoryBodies(list)
	for _, r := range all {
		for _, left := range []string{"owner", "html_url", "clone_url", "default_branch"} {
			delete(r, left)
		}
	}
	return all
}
