package model_test

import (
	"context"
	"fmt"
	"iter"

	"svc.dev/svc/model"
)

// echo is a model of one's own: it says what it was told last.
type echo struct{}

func (echo) Turn(_ context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		last := r.Messages[len(r.Messages)-1]
		for _, p := range last.Parts {
			if p.Text != nil && !yield(model.Event{Type: model.TextDelta, Text: *p.Text}, nil) {
				return // nobody listens any more
			}
		}
		if yield(model.Event{Type: model.BlockEnd}, nil) {
			yield(model.Event{Type: model.Finished, Finish: &model.Finish{Reason: model.Stop}}, nil)
		}
	}
}

// A provider answers one turn as a sequence of events. Find is what svc.Config.Model wants.
func ExampleProvider() {
	models := model.Providers{"own": echo{}}
	ctx := context.Background()
	provider, err := models.Find(ctx, "", "own/echo")
	if err != nil {
		fmt.Println(err)
		return
	}
	request := model.Request{Model: "echo", Messages: []model.Message{{Role: model.RoleUser, Parts: []model.Part{model.Text("Hello!")}}}}
	for event, err := range provider.Turn(ctx, request) {
		fmt.Println(event.Type, event.Text, err)
	}
	// Output:
	// text Hello! <nil>
	// block_end  <nil>
	// finish  <nil>
}

func ExampleProviders_Find() {
	_, err := model.Providers{}.Find(context.Background(), "", "nobody/nothing")
	fmt.Println(err, model.Retryable(err))
	// Output: rejected: no model provider "nobody" false
}
