// Package anthropic speaks to the Messages API of Anthropic, and to what answers like it.
package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strings"
	"time"

	"svc.dev/svc/model"
	"svc.dev/svc/model/internal/exchange"
)

// Config is how to reach the provider.
type Config struct {
	Key         string        // Key is the API key. Without it every turn is refused.
	KeyName     string        // KeyName is what a person sets the key under; messages name it. Defaults to ANTHROPIC_API_KEY.
	Name        string        // Name is the provider's half of a model's name. Defaults to anthropic.
	URL         string        // URL is where the API is. Defaults to https://api.anthropic.com.
	HTTP        *http.Client  // HTTP makes the requests. Defaults to http.DefaultClient.
	IdleTimeout time.Duration // IdleTimeout is how long the provider may be silent. Defaults to 120 seconds.
	MaxTokens   int           // MaxTokens bounds a turn that does not say; the API wants a bound. Defaults to 32,000.

	// Cost is what a turn costs. Defaults to prices.Cost.
	Cost func(provider, name string, u model.Usage) model.Cost
}

// Provider is a model.Provider.
type Provider struct {
	wire      *exchange.Client
	maxTokens int
}

// New makes a provider. Nothing is sent before its first turn.
func New(c Config) *Provider {
	return &Provider{exchange.New(exchange.Client{
		Name: cmp.Or(c.Name, "anthropic"), Key: c.Key, KeyName: cmp.Or(c.KeyName, "ANTHROPIC_API_KEY"),
		URL:  cmp.Or(c.URL, "https://api.anthropic.com"),
		HTTP: c.HTTP, Idle: c.IdleTimeout, Cost: c.Cost, Refusal: refusal, Overflow: overflow,
	}), cmp.Or(c.MaxTokens, 32_000)}
}

// Turn answers one turn.
func (p *Provider) Turn(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return p.wire.Turn(ctx, exchange.Request{
		Path:   "/v1/messages",
		Header: http.Header{"X-Api-Key": {p.wire.Key}, "Anthropic-Version": {"2023-06-01"}},
		Body:   p.request(r), Turn: r,
	}, &parser{})
}

// apiError is an error of the API, in the body of a refusal and in a stream alike.
type apiError struct {
	Error struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
}

func refusal(status int, body []byte) exchange.Refusal {
	var f apiError
	_ = json.Unmarshal(body, &f)
	return exchange.Refusal{Status: status, Code: f.Error.Type, Message: f.Error.Message}
}

// statuses are those that the types of errors have outside of a stream.
var statuses = map[string]int{
	"invalid_request_error": 400,
	"authentication_error":  401,
	"billing_error":         402,
	"permission_error":      403,
	"not_found_error":       404,
	"request_too_large":     413,
	"rate_limit_error":      429,
	"api_error":             500,
	"timeout_error":         504,
	"overloaded_error":      529,
}

func (f apiError) refusal() exchange.Refusal {
	return exchange.Refusal{
		Status: cmp.Or(statuses[f.Error.Type], http.StatusInternalServerError),
		Code:   f.Error.Type, Message: f.Error.Message,
	}
}

func overflow(code, message string) bool {
	return code == "invalid_request_error" &&
		(strings.Contains(message, "prompt is too long") || strings.Contains(message, "exceed context limit") ||
			strings.Contains(message, "exceeds the maximum context") || strings.Contains(message, "context window"))
}
