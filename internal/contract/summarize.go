package contract

import (
	"context"

	"svc.dev/svc"
)

type text struct {
	Text string `json:"text"`
}

type summary struct {
	Summary string `json:"summary"`
}

// summarize prompts the model inside a run.
func summarize(ctx context.Context, w *svc.Work, in text) (summary, error) {
	answer, err := svc.Ask(ctx, w, &svc.Agent{Name: "summarizer", Model: modelName}, in.Text)
	return summary{answer.Text}, err
}
