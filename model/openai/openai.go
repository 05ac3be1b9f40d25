// Package openai speaks to OpenAI by its Responses API, and to all that answer like its Chat Completions API: local
// servers, gateways, other providers.
package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc.dev/svc/model"
	"svc.dev/svc/model/internal/exchange"
)

// API is one of the two that OpenAI has.
type API string

// The two APIs.
const (
	Responses API = "responses"
	Chat      API = "chat"
)

// Config is how to reach the provider.
type Config struct {
	Key         string        // Key is the API key. A server at another address than OpenAI's may need none.
	KeyName     string        // KeyName is what a person sets the key under; messages name it. Defaults to OPENAI_API_KEY.
	Name        string        // Name is the provider's half of a model's name. Defaults to openai.
	URL         string        // URL is the address with the version. Defaults to https://api.openai.com/v1.
	API         API           // API is which to speak. Defaults to Responses at OpenAI's own address, else to Chat.
	HTTP        *http.Client  // HTTP makes the requests. Defaults to http.DefaultClient.
	IdleTimeout time.Duration // IdleTimeout is how long the provider may be silent. Defaults to 120 seconds.

	// Cost is what a turn costs. Defaults to prices.Cost.
	Cost func(provider, name string, u model.Usage) model.Cost
}

// Provider is a model.Provider.
type Provider struct {
	wire     *exchange.Client
	api      API
	official bool // the address is OpenAI's own
}

const official = "https://api.openai.com/v1"

// New makes a provider. Nothing is sent before its first turn.
func New(c Config) *Provider {
	c.URL = cmp.Or(c.URL, official)
	own, usual := isOfficial(c.URL), Chat
	if own {
		usual = Responses
	}
	return &Provider{exchange.New(exchange.Client{
		Name: cmp.Or(c.Name, "openai"), Key: c.Key, KeyName: cmp.Or(c.KeyName, "OPENAI_API_KEY"), Keyless: !own,
		URL: c.URL, HTTP: c.HTTP, Idle: c.IdleTimeout, Cost: c.Cost, Refusal: refusal, Overflow: overflow,
	}), cmp.Or(c.API, usual), own}
}

func isOfficial(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Hostname() == "api.openai.com" || strings.HasSuffix(u.Hostname(), ".api.openai.com"))
}

// Turn answers one turn.
func (p *Provider) Turn(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	q := exchange.Request{Header: http.Header{}, Turn: r}
	if p.wire.Key != "" {
		q.Header.Set("Authorization", "Bearer "+p.wire.Key)
	}
	if p.api == Responses {
		q.Path, q.Body = "/responses", p.responsesRequest(r)
		return p.wire.Turn(ctx, q, responsesParser{})
	}
	q.Path, q.Body = "/chat/completions", p.chatRequest(r)
	return p.wire.Turn(ctx, q, &chatParser{})
}

// apiError is an error of the API. A code may be a word, a number or nothing, depending on who answers.
type apiError struct {
	Message string          `json:"message"`
	Type    string          `json:"type"`
	Code    json.RawMessage `json:"code"`
}

func (f apiError) code() string {
	var word string
	if json.Unmarshal(f.Code, &word) == nil && word != "" {
		return word
	}
	if n := f.number(); n != 0 {
		return strconv.Itoa(n)
	}
	return f.Type
}

func (f apiError) number() int {
	var n int
	_ = json.Unmarshal(f.Code, &n)
	return n
}

// statuses are those that codes and types of errors have outside of a stream.
var statuses = map[string]int{
	"server_error":              500,
	"internal_error":            500,
	"vector_store_timeout":      504,
	"server_is_overloaded":      503,
	"overloaded":                503,
	"slow_down":                 503,
	"service_unavailable_error": 503,
	"rate_limit_exceeded":       429,
	"rate_limit_error":          429,
	"tokens":                    429,
	"requests":                  429,
	"insufficient_quota":        429,
	"invalid_api_key":           401,
	"authentication_error":      401,
	"invalid_request_error":     400,
	"invalid_prompt":            400,
	"context_length_exceeded":   400,
}

// refusal is a failure within a stream. One that nobody has heard of is taken for the server's.
func (f apiError) refusal() exchange.Refusal {
	status := cmp.Or(statuses[f.code()], statuses[f.Type], http.StatusInternalServerError)
	if n := f.number(); n >= 400 && n < 600 {
		status = n
	}
	return exchange.Refusal{Status: status, Code: f.code(), Message: f.Message, Final: final(f.code())}
}

func refusal(status int, body []byte) exchange.Refusal {
	var v struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
	}
	_ = json.Unmarshal(body, &v)
	f := apiError{Message: v.Message}
	if json.Unmarshal(v.Error, &f) != nil {
		// Some servers put the sentence where the object belongs.
		_ = json.Unmarshal(v.Error, &f.Message)
	}
	return exchange.Refusal{Status: status, Code: f.code(), Message: f.Message, Final: final(f.code())}
}

// final tells of failures that no waiting cures, though their status is that of a rate limit.
func final(code string) bool {
	return code == "insufficient_quota" || code == "billing_hard_limit_reached"
}

// tooLong are the sentences of servers that have no code for it.
var tooLong = []string{
	"maximum context length", "exceeds the context window", "context length exceeded", "context window exceeds",
	"exceeds the available context size", "exceeds model's maximum context", "input is longer than the context length",
	"prompt is too long", "greater than the context length",
}

func overflow(code, message string) bool {
	return code == "context_length_exceeded" || code == "exceed_context_size_error" ||
		slices.ContainsFunc(tooLong, func(words string) bool { return strings.Contains(strings.ToLower(message), words) })
}

// counted is a count of tokens whose input is split into its cached parts; each part is a share of the whole.
func counted(input, output, read, written int) model.Usage {
	return model.Usage{Input: max(0, input-read-written), Output: max(0, output), CacheRead: max(0, read), CacheWrite: max(0, written)}
}

func dataURL(i *model.Image) *exchange.Picture {
	return &exchange.Picture{Prefix: "data:" + i.MimeType + ";base64,", Image: i}
}
