package browser

import (
	"encoding/json"
	"testing"
	"time"

	"svc.dev/svc/model"
	"svc.dev/svc/model/modeltest"
)

// provider is a provider of models on this machine, which speaks as Anthropic does. It says hello until it is told otherwise.
type provider struct{ *modeltest.Server }

func newProvider(t *testing.T) *provider {
	return &provider{modeltest.NewServer(t, modeltest.Anthropic)}
}

// saying is a turn of the provider as the script words it: a text, or the call of a tool. The provider thinks for some seconds first.
type saying struct {
	Text, Tool string
	Seconds    int
}

func (s saying) reply() modeltest.Reply {
	r := modeltest.Reply{Delay: time.Duration(s.Seconds) * time.Second}
	if s.Tool == "" {
		r.Text = []string{s.Text}
	} else {
		r.Calls = []model.ToolCall{{ID: "call_1", Name: s.Tool, Input: json.RawMessage(`{}`)}}
	}
	return r
}

// withProvider lets the script choose what the provider says next, the last again and again.
func (s *scene) withProvider(p *provider) {
	s.given["provider"] = map[string]string{"address": p.URL, "key": modeltest.Key}
	on(s, "provider says", func(of struct{ Turns []saying }) (any, error) {
		var replies []modeltest.Reply
		for _, turn := range of.Turns {
			replies = append(replies, turn.reply())
		}
		p.Say(replies...)
		return nil, nil
	})
}
