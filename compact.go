package svc

import (
	"context"
	"fmt"
	"strings"

	"svc.dev/svc/conversation"
	"svc.dev/svc/model"
)

// keptEntries is how many of the last messages the model still sees word for word after a compaction.
const keptEntries = 8

const compactInstructions = `Sum up the conversation so far for yourself, so that you can go on with it without seeing it again.
Keep what was asked for, what was decided, names, numbers, file names and open questions. Write plain text.`

// compactIfLong sums up what was said when the model's context grows too long.
func (th *thread) compactIfLong(ctx context.Context) error {
	if th.t.Tokens() < th.agent.context()*4/5 || th.t.Len() <= keptEntries {
		return nil
	}
	return th.compact(ctx)
}

// compact replaces what the model was told by its own summary. Readers see nothing of it.
func (th *thread) compact(ctx context.Context) error {
	summary, err := th.summary(ctx)
	if err != nil {
		return modelFault(err)
	}
	record, err := th.t.Compacted(summary, keptEntries)
	if err != nil {
		return err
	}
	// The log is read from the compaction's batch on: nothing may stand before it there.
	if err := th.w.commit(); err != nil {
		return err
	}
	stamped := th.record(conversation.Compaction)
	stamped.Text, stamped.Kept = record.Text, record.Kept
	return th.w.commitWith(Commit{}, stamped)
}

func (th *thread) summary(ctx context.Context) (string, error) {
	provider, request, room, err := th.request(ctx)
	if err != nil {
		return "", err
	}
	defer room.Release()
	request.Tools, request.Reasoning = nil, ""
	// The last messages stay: what is summed up ends before them, and fits where the whole did not.
	if n := len(request.Messages) - keptEntries; n > 0 {
		request.Messages = request.Messages[:n]
	}
	request.Messages = append(withoutTools(request.Messages), model.Message{
		Role: model.RoleUser, Parts: []model.Part{model.Text(compactInstructions)},
	})
	var text strings.Builder
	for event, err := range provider.Turn(ctx, request) {
		if err != nil {
			return "", err
		}
		if event.Type == model.TextDelta {
			text.WriteString(event.Text)
		}
	}
	return text.String(), nil
}

// withoutTools says in words what calls and results would say: a request without tools may not hold any.
func withoutTools(messages []model.Message) []model.Message {
	var plain []model.Message
	for _, m := range messages {
		var parts []model.Part
		for _, p := range m.Parts {
			switch {
			case p.Call != nil:
				parts = append(parts, model.Text(fmt.Sprintf("[called %s with %s]", p.Call.Name, p.Call.Input)))
			case p.Result != nil:
				for _, c := range p.Result.Content {
					if c.Text != nil {
						parts = append(parts, model.Text("["+p.Result.Name+" answered] "+*c.Text))
					}
				}
			case p.Reasoning == nil:
				parts = append(parts, p)
			}
		}
		if len(parts) == 0 {
			continue
		}
		if m.Role == model.RoleTool {
			m.Role = model.RoleUser
		}
		plain = append(plain, model.Message{Role: m.Role, Parts: parts})
	}
	return plain
}
