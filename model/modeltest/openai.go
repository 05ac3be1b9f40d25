package modeltest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
)

// openAIFaults are the statuses, types, codes and sentences of faults, in both APIs.
var openAIFaults = map[Kind]struct {
	status              int
	kind, code, message string
}{
	RateLimit:  {429, "tokens", "rate_limit_exceeded", "Rate limit reached for gpt-6.1-sol"},
	Overload:   {503, "service_unavailable_error", "server_is_overloaded", "Our servers are currently overloaded. Please try again later."},
	Breakdown:  {500, "server_error", "server_error", "The server had an error while processing your request."},
	WrongKey:   {401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided."},
	TooLong:    {400, "invalid_request_error", "context_length_exceeded", "Your input exceeds the context window of this model. Please adjust your input and try again."},
	BadRequest: {400, "invalid_request_error", "invalid_value", "Invalid value."},
}

// openAI is what both of OpenAI's APIs share.
type openAI struct{}

func (openAI) base(address string) string { return address + "/v1" }

func (openAI) key(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

func (openAI) refuse(k Kind, why string) (int, string) {
	f := openAIFaults[k]
	if why != "" {
		f.message = why
	}
	return f.status, encode(object{"error": object{"message": f.message, "type": f.kind, "param": nil, "code": f.code}})
}

func checkDataURL(text string) error {
	kind, data, ok := strings.Cut(text, ";base64,")
	if _, err := base64.StdEncoding.DecodeString(data); !ok || err != nil || !strings.HasPrefix(kind, "data:image/") || data == "" {
		return errors.New("image_url: invalid base64 image")
	}
	return nil
}

// modelOf is the model that a request names.
func modelOf(body []byte) string {
	var q struct {
		Model string `json:"model"`
	}
	_ = json.Unmarshal(body, &q)
	return q.Model
}
