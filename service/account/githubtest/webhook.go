package githubtest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"net/http"
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
	Body   any       // text or bytes as they are, anything else as JSON
	ID     string    // defaults to a new one; the same twice is a replay
	To     string    // defaults to the app's own address
	Secret string    // defaults to the app's own
	Sign   Signature // defaults to Signed
}

// Deliver sends a webhook of an app. The caller closes the answer's body.
func (s *Server) Deliver(ctx context.Context, app int64, d Delivery) (*http.Response, error) {
	s.mu.Lock()
	a := s.world.app(app)
	s.mu.Unlock()
	if a == nil {
		return nil, errors.New("deliver: no such app")
	}
	r, err := d.request(ctx, a)
	if err != nil {
		return nil, fmt.Errorf("deliver: %w", err)
	}
	client := http.Client{Timeout: 10 * time.Second}
	return client.Do(r)
}

func (d Delivery) request(ctx context.Context, a *app) (*http.Request, error) {
	body, err := d.bytes()
	if err != nil {
		return nil, err
	}
	if d.To == "" {
		d.To = a.hook
	}
	if d.Secret == "" {
		d.Secret = a.WebhookSecret
	}
	if d.ID == "" {
		d.ID = newGUID()
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.To, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "User-Agent": "GitHub-Hookshot/044aadd", "X-GitHub-Event": d.Event,
		"X-GitHub-Delivery": d.ID, "X-GitHub-Hook-ID": strconv.FormatInt(a.ID+1, 10),
		"X-GitHub-Hook-Installation-Target-ID": strconv.FormatInt(a.ID, 10), "X-GitHub-Hook-Installation-Target-Type": "integration",
	} {
		r.Header.Set(name, value)
	}
	d.sign(r.Header, body)
	return r, nil
}

func (d Delivery) bytes() ([]byte, error) {
	switch b := d.Body.(type) {
	case []byte:
		return b, nil
	case string:
		return []byte(b), nil
	}
	return json.Marshal(d.Body)
}

func (d Delivery) sign(h http.Header, body []byte) {
	if d.Sign == Forged {
		d.Secret = "not " + d.Secret
	}
	if d.Sign == Unsigned || d.Secret == "" {
		return
	}
	h.Set("X-Hub-Signature", "sha1="+mac(sha1.New, d.Secret, body))
	if d.Sign != OldOnly {
		h.Set("X-Hub-Signature-256", "sha256="+mac(sha256.New, d.Secret, body))
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
	i := s.mustInstallation(id)
	out := s.payload(action, i)
	list := []map[string]any{}
	for _, r := range s.world.repositoriesOf(i) {
		list = append(list, s.shortRepository(r))
	}
	out["repositories"], out["requester"] = list, nil
	return out
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
	out := s.payload(action, s.mustInstallation(id))
	out["repository_selection"], out["requester"] = "selected", nil
	out["repositories_added"], out["repositories_removed"] = s.named(added), s.named(removed)
	return out
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
	out := s.inRepository(id, repository)
	out["ref"] = "refs/heads/main"
	return out
}

// CommentPayload tells what the person who is signed in wrote about an issue.
func (s *Server) CommentPayload(id, repository, number int64, text string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.inRepository(id, repository)
	out["action"] = "created"
	out["issue"] = map[string]any{"number": number, "title": "An issue", "html_url": s.URL + "/issue"}
	out["comment"] = map[string]any{"id": s.world.next(), "body": text, "html_url": s.URL + "/comment", "user": out["sender"]}
	return out
}

// inRepository is what all events of a repository tell that an installation reaches.
func (s *Server) inRepository(id, repository int64) map[string]any {
	i := s.mustInstallation(id)
	r := find(s.world.repositories, func(r *Repository) bool { return r.ID == repository })
	return map[string]any{
		"repository": s.repositoryBody(r), "sender": s.accountBody(s.world.account(s.world.current)),
		"installation": map[string]any{"id": i.ID, "node_id": "I_" + strconv.FormatInt(i.ID, 36)},
	}
}

func (s *Server) mustInstallation(id int64) *installation {
	i := s.world.installation(id)
	if i == nil {
		panic(fmt.Sprintf("githubtest: no installation %d", id))
	}
	return i
}

func (s *Server) payload(action string, i *installation) map[string]any {
	return map[string]any{
		"action": action, "installation": s.installationBody(i), "sender": s.accountBody(s.world.account(s.world.current)),
	}
}

func (s *Server) named(ids []int64) []map[string]any {
	list := []map[string]any{}
	for _, id := range ids {
		if r := find(s.world.repositories, func(r *Repository) bool { return r.ID == id }); r != nil {
			list = append(list, s.shortRepository(r))
		}
	}
	return list
}

func (s *Server) shortRepository(r *Repository) map[string]any {
	return map[string]any{
		"id": r.ID, "node_id": "R_" + strconv.FormatInt(r.ID, 36), "name": r.Name,
		"full_name": s.world.account(r.Owner).login + "/" + r.Name, "private": r.Private,
	}
}
