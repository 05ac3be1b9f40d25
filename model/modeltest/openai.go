package modeltest

import (
	"encoding/base64"
	"errors"
	"strings"
)

// openAIFaults are those of both APIs. More of them are their types.
var openAIFaults = map[Kind]wording{
	RateLimit:  {429, "rate_limit_exceeded", "Rate limit reached for gpt-6.1-sol", "tokens"},
	Overload:   {503, "server_is_overloaded", "Our servers are currently overloaded. Please try again later.", "service_unavailable_error"},
	Breakdown:  {500, "server_error", "The server had an error while processing your request.", "server_error"},
	WrongKey:   {401, "invalid_api_key", "Incorrect API key provided.", "invalid_request_error"},
	TooLong:    {400, "context_length_exceeded", "Your input exceeds the context window of this model. Please adjust your input and try again.", "invalid_request_error"},
	BadRequest: {400, "invalid_value", "Invalid value.", "invalid_request_error"},
}

func openAIRefusal(w wording) object {
	return object{"error": object{"message": w.message, "type": w.more, "param": nil, "code": w.code}}
}

func checkDataURL(text string) error {
	kind, data, ok := strings.Cut(text, ";base64,")
	if _, err := base64.StdEncoding.DecodeString(data); !ok || err != nil || !strings.HasPrefix(kind, "data:image/") || data == "" {
		return errors.New("image_url: invalid base64 image")
	}
	return nil
}
