package modeltest

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"svc.dev/svc/model"
)

// googleAPI is streamGenerateContent of the Gemini API. More of a fault are its details.
var googleAPI = dialect{
	key: "X-Goog-Api-Key", tail: 1,
	check: checkGenerate, frames: googleFrames,
	faults: map[Kind]wording{
		RateLimit: {429, "RESOURCE_EXHAUSTED", "You exceeded your current quota.", []object{
			{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}}},
		Overload:  {503, "UNAVAILABLE", "The model is overloaded. Please try again later.", nil},
		Breakdown: {500, "INTERNAL", "An internal error has occurred.", nil},
		WrongKey: {400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", []object{
			{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"}}},
		TooLong:    {400, "INVALID_ARGUMENT", "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).", nil},
		BadRequest: {400, "INVALID_ARGUMENT", "Invalid JSON payload received.", nil},
	},
	refuse: googleRefusal,
	midway: func(w wording) string { return frame("", googleRefusal(w)) },
}

func googleRefusal(w wording) object {
	return object{"error": object{"code": w.status, "message": w.message, "status": w.code, "details": w.more}}
}

func checkGenerate(r *http.Request, q object) error {
	name, ok := strings.CutPrefix(r.URL.Path, "/v1beta/models/")
	name, ok2 := strings.CutSuffix(name, ":streamGenerateContent")
	if !ok || !ok2 || name == "" || r.URL.Query().Get("alt") != "sse" {
		return fmt.Errorf("no route %s", r.URL)
	}
	return cmp.Or(
		q.only("contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings", "cachedContent"),
		checkDeclarations(q.objects("tools")),
		checkContents(q.objects("contents"), !strings.HasPrefix(name, "gemini-2")),
	)
}

func checkDeclarations(tools []object) error {
	for _, t := range tools {
		for i, d := range t.objects("functionDeclarations") {
			if d.text("name") == "" {
				return fmt.Errorf("tools.function_declarations[%d].name: Invalid function name", i)
			}
		}
	}
	return nil
}

func checkContents(contents []object, signed bool) error {
	if len(contents) == 0 {
		return errors.New("* GenerateContentRequest.contents: contents is not specified")
	}
	owed := 0 // calls that the next content has to answer
	for i, c := range contents {
		parts := c.objects("parts")
		if len(parts) == 0 {
			return fmt.Errorf("* GenerateContentRequest.contents[%d].parts: must include at least one parts field", i)
		}
		calls, answers, err := checkParts(parts)
		switch role := c.text("role"); {
		case err != nil:
			return fmt.Errorf("contents[%d].%w", i, err)
		case role != "user" && role != "model":
			return errors.New("please use a valid role: user, model")
		case role == "user" && answers != owed:
			return errors.New("please ensure that the number of function response parts is equal to the number of function call parts of the function call turn")
		case role == "model" && i == 0 && calls > 0, role == "model" && owed > 0:
			return errors.New("please ensure that function call turn comes immediately after a user turn or after a function response turn")
		case signed && calls > 0 && !firstSigned(parts):
			return fmt.Errorf("function call is missing a thought_signature in functionCall parts, position %d", i)
		}
		owed = calls
	}
	if owed > 0 {
		return errors.New("please ensure that the number of function response parts is equal to the number of function call parts of the function call turn")
	}
	return nil
}

func firstSigned(parts []object) bool {
	first := slices.IndexFunc(parts, func(p object) bool { return p.object("functionCall") != nil })
	return first < 0 || parts[first].text("thoughtSignature") != ""
}

func checkParts(parts []object) (calls, answers int, err error) {
	for i, p := range parts {
		set := 0
		for _, field := range []string{"text", "inlineData", "functionCall", "functionResponse"} {
			if _, ok := p[field]; ok {
				set++
			}
		}
		if set != 1 {
			return 0, 0, fmt.Errorf("parts[%d].data: required oneof field 'data' must have one initialized field", i)
		}
		if f := p.object("functionCall"); f != nil {
			calls++
			err = cmp.Or(err, f.needs("name"))
		}
		if f := p.object("functionResponse"); f != nil {
			answers++
			err = cmp.Or(err, f.needs("name", "response"))
		}
		if b := p.object("inlineData"); b != nil {
			err = cmp.Or(err, checkBlob(b))
		}
		if _, wrong := base64.RawURLEncoding.DecodeString(urlSafe(p.text("thoughtSignature"))); wrong != nil {
			err = cmp.Or(err, errors.New("thought_signature: base64 decoding failed"))
		}
	}
	return calls, answers, err
}

// urlSafe is base64 in the one of its alphabets that the other one can be turned into; the service reads both.
func urlSafe(s string) string {
	return strings.TrimRight(strings.NewReplacer("+", "-", "/", "_").Replace(s), "=")
}

func checkBlob(b object) error {
	if data, err := base64.StdEncoding.DecodeString(b.text("data")); err != nil || len(data) == 0 || b.text("mimeType") == "" {
		return errors.New("inline_data: invalid data")
	}
	return nil
}

func googleFrames(r Reply, _ string) []string {
	var all []string
	chunk := func(last bool, parts ...object) {
		c := object{"content": object{"parts": parts, "role": "model"}, "index": 0}
		u := object{"promptTokenCount": r.Usage.Input + r.Usage.CacheRead, "cachedContentTokenCount": r.Usage.CacheRead,
			"totalTokenCount": r.Usage.Input + r.Usage.CacheRead}
		if last {
			c["finishReason"] = map[model.StopReason]string{model.Length: "MAX_TOKENS"}[r.Reason]
			if c["finishReason"] == "" {
				c["finishReason"] = "STOP"
			}
			u["candidatesTokenCount"], u["thoughtsTokenCount"] = r.Usage.Output-1, 1
			u["totalTokenCount"] = r.Usage.Input + r.Usage.CacheRead + r.Usage.Output
		}
		all = append(all, frame("", object{"candidates": []object{c}, "usageMetadata": u, "modelVersion": "gemini-test", "responseId": "resp_1"}))
	}
	for i, text := range r.Reasoning {
		p := object{"text": text, "thought": true}
		if i == len(r.Reasoning)-1 && r.Signature != "" {
			p["thoughtSignature"] = r.Signature
		}
		chunk(false, p)
	}
	for _, text := range r.Text {
		chunk(false, object{"text": text})
	}
	for _, c := range r.Calls {
		chunk(false, callPart(c))
	}
	chunk(true, object{"text": ""})
	return all
}

func callPart(c model.ToolCall) object {
	call := object{"name": c.Name}
	if c.ID != "" {
		call["id"] = c.ID
	}
	if len(c.Input) > 0 {
		call["args"] = json.RawMessage(c.Input)
	}
	p := object{"functionCall": call}
	if c.Signature != "" {
		p["thoughtSignature"] = c.Signature
	}
	return p
}
