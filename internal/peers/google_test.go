package peers

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"google.golang.org/genai"

	"svc.dev/svc/model/modeltest"
)

func askGoogle(t *testing.T, r modeltest.Reply, more ...*genai.Content) (parts []*genai.Part, last *genai.GenerateContentResponse, err error) {
	s := modeltest.NewServer(t, modeltest.Google, r)
	client, err := genai.NewClient(t.Context(), &genai.ClientConfig{
		APIKey: modeltest.Key, Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: s.URL},
	})
	if err != nil {
		t.Fatal(err)
	}
	contents := append(genai.Text("Weather?"), more...)
	config := &genai.GenerateContentConfig{Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{
		{Name: "weather", ParametersJsonSchema: schema}}}}}
	for chunk, err := range client.Models.GenerateContentStream(t.Context(), "gemini-3.8-flash", contents, config) {
		if err != nil {
			return parts, last, err
		}
		last = chunk
		parts = append(parts, chunk.Candidates[0].Content.Parts...)
	}
	return parts, last, nil
}

func TestGoogleReadsAll(t *testing.T) {
	for _, split := range []bool{false, true} {
		r := said
		r.Split = split
		parts, last, err := askGoogle(t, r)
		if err != nil || len(parts) < 6 {
			t.Fatalf("%+v, %v", parts, err)
		}
		if !parts[0].Thought || parts[0].Text+parts[1].Text != "Let me see." || string(parts[1].ThoughtSignature) != "signed" {
			t.Errorf("thought %+v, %+v", parts[0], parts[1])
		}
		if parts[2].Text+parts[3].Text != "Grüß Gott" {
			t.Errorf("text %+v, %+v", parts[2], parts[3])
		}
		var want map[string]any
		_ = json.Unmarshal([]byte(arguments), &want)
		if f := parts[4].FunctionCall; f.ID != "call_1" || f.Name != "weather" || fmt.Sprint(f.Args) != fmt.Sprint(want) {
			t.Errorf("call %+v", f)
		}
		u := last.UsageMetadata
		if int(u.PromptTokenCount) != usage.Input+usage.CacheRead || int(u.CachedContentTokenCount) != usage.CacheRead ||
			int(u.CandidatesTokenCount+u.ThoughtsTokenCount) != usage.Output || last.Candidates[0].FinishReason != genai.FinishReasonStop {
			t.Errorf("end %+v", u)
		}
	}
}

func TestGoogleTakesAnAnswer(t *testing.T) {
	parts, _, err := askGoogle(t, said)
	if err != nil {
		t.Fatal(err)
	}
	answer := &genai.Content{Role: genai.RoleModel, Parts: parts[4:6]}
	result := func(name string) *genai.Part {
		return genai.NewPartFromFunctionResponse(name, map[string]any{"output": "fine"})
	}
	if _, _, err := askGoogle(t, modeltest.Reply{}, answer, &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{result("weather"), result("now")}}); err != nil {
		t.Error(err)
	}
	_, _, err = askGoogle(t, modeltest.Reply{}, answer, &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{result("weather")}})
	if e := (genai.APIError{}); !errors.As(err, &e) || e.Code != 400 {
		t.Errorf("a call without a result: %v", err)
	}
}

func TestGoogleSeesFaults(t *testing.T) {
	for kind, status := range map[modeltest.Kind]int{
		modeltest.RateLimit: 429, modeltest.Overload: 503, modeltest.Breakdown: 500, modeltest.WrongKey: 400, modeltest.TooLong: 400,
	} {
		for _, midway := range []bool{false, true} {
			_, _, err := askGoogle(t, modeltest.Reply{Fault: &modeltest.Fault{Kind: kind, Midway: midway}})
			if e := (genai.APIError{}); !errors.As(err, &e) || e.Code != status || e.Status == "" {
				t.Errorf("%s, midway %t: %v", kind, midway, err)
			}
		}
	}
}
