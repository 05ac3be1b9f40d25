// Package google speaks to the Gemini API of Google, by generateContent.
package google

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"svc.dev/svc/model"
	"svc.dev/svc/model/internal/exchange"
)

// Config is how to reach the provider.
type Config struct {
	Key         string        // Key is the API key. Without it every turn is refused.
	KeyName     string        // KeyName is what a person sets the key under; messages name it. Defaults to GEMINI_API_KEY.
	Name        string        // Name is the provider's half of a model's name. Defaults to google.
	URL         string        // URL is where the API is. Defaults to https://generativelanguage.googleapis.com.
	HTTP        *http.Client  // HTTP makes the requests. Defaults to http.DefaultClient.
	IdleTimeout time.Duration // IdleTimeout is how long the provider may be silent. Defaults to 120 seconds.

	// Cost is what a turn costs. Defaults to prices.Cost.
	Cost func(provider, name string, u model.Usage) model.Cost
}

// Provider is a model.Provider.
type Provider struct{ wire *exchange.Client }

// New makes a provider. Nothing is sent before its first turn.
func New(c Config) *Provider {
	return &Provider{exchange.New(exchange.Client{
		Name: cmp.Or(c.Name, "google"), Key: c.Key, KeyName: cmp.Or(c.KeyName, "GEMINI_API_KEY"),
		URL:  cmp.Or(c.URL, "https://generativelanguage.googleapis.com"),
		HTTP: c.HTTP, Idle: c.IdleTimeout, Cost: c.Cost, Refusal: refusal, Overflow: overflow,
	})}
}

// Turn answers one turn.
func (p *Provider) Turn(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return p.wire.Turn(ctx, exchange.Request{
		Path: "/v1beta/" + path(r.Model) + ":streamGenerateContent?alt=sse",
		// The key goes in a header: an address ends up in logs.
		Header: http.Header{"X-Goog-Api-Key": {p.wire.Key}},
		Body:   p.request(r), Turn: r,
	}, &parser{})
}

// path is a model's: one of Google's own, unless its name says where else it stands.
func path(name string) string {
	if !strings.Contains(name, "/") {
		name = "models/" + name
	}
	segments := strings.Split(name, "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return strings.Join(segments, "/")
}

// apiError is an error of the API, in the body of a refusal and in a stream alike.
type apiError struct {
	Code    int    `json:"code"`
	Status  string `json:"status"`
	Message string `json:"message"`
	Details []struct {
		Reason     string `json:"reason"`
		RetryDelay string `json:"retryDelay"`
	} `json:"details"`
}

func (f apiError) refusal() exchange.Refusal {
	r := exchange.Refusal{Status: f.Code, Code: f.Status, Message: f.Message}
	for _, d := range f.Details {
		// A wrong key is answered with 400.
		if d.Reason == "API_KEY_INVALID" {
			r.Status = http.StatusUnauthorized
		}
		if after, err := time.ParseDuration(d.RetryDelay); err == nil {
			r.RetryAfter = max(0, after)
		}
	}
	return r
}

// refusal reads a body: an error, or a list that holds one.
func refusal(status int, body []byte) exchange.Refusal {
	type answer struct {
		Error apiError `json:"error"`
	}
	var one answer
	var list []answer
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		one = list[0]
	} else {
		_ = json.Unmarshal(body, &one)
	}
	r := one.Error.refusal()
	r.Status = cmp.Or(r.Status, status)
	return r
}

func overflow(_, message string) bool {
	return strings.Contains(message, "exceeds the maximum number of tokens")
}
