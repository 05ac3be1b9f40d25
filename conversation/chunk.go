package conversation

import (
	"encoding/json"

	"svc.dev/svc/model"
	"svc.dev/svc/stream"
)

// The types of chunks.
const (
	chunkReset       = "conversation-reset"
	chunkAppended    = "message-appended"
	chunkStarted     = "message-started"
	chunkDelta       = "message-delta"
	chunkInput       = "tool-input"
	chunkOutput      = "tool-output"
	chunkOutputError = "tool-output-error"
	chunkCompleted   = "message-completed"
	chunkSettled     = "submission-settled"
)

// chunk is one update of a reader's projection. Fields stand in the order of the wire.
type chunk struct {
	Type         string          `json:"type"`
	Conversation string          `json:"conversationId"`
	Snapshot     *Snapshot       `json:"snapshot,omitempty"`
	Message      *View           `json:"message,omitempty"`
	MessageID    string          `json:"messageId,omitempty"`
	Kind         string          `json:"kind,omitempty"`
	Delta        *string         `json:"delta,omitempty"`
	ToolCallID   string          `json:"toolCallId,omitempty"`
	ToolName     string          `json:"toolName,omitempty"`
	Input        json.RawMessage `json:"input,omitempty"`
	Output       json.RawMessage `json:"output,omitempty"`
	ErrorText    *string         `json:"errorText,omitempty"`
	DurationMs   *int64          `json:"durationMs,omitempty"`
	Timestamp    string          `json:"timestamp,omitempty"`
	Submission   string          `json:"submissionId,omitempty"`
	Turn         string          `json:"turnId,omitempty"`
	Model        *ModelName      `json:"model,omitempty"`
	AgentVersion string          `json:"agentVersion,omitempty"`
	Usage        *model.Usage    `json:"usage,omitempty"`
	Outcome      string          `json:"outcome,omitempty"`
	Error        *Error          `json:"error,omitempty"`
	Position     position        `json:"position"`
}

type position struct {
	Batch int64 `json:"batch"`
	Index int   `json:"index"`
}

// Chunks are what readers are shown of the batch at an offset. They follow from the batch alone.
func Chunks(at stream.Offset, batch []byte) ([][]byte, error) {
	records, err := DecodeBatch(batch)
	if err != nil {
		return nil, err
	}
	return ChunksOf(at, records)
}

// ChunksOf is Chunks of a batch that is not encoded yet.
func ChunksOf(at stream.Offset, records []Record) ([][]byte, error) {
	var encoded [][]byte
	for _, r := range records {
		if !r.Public() {
			continue
		}
		chunks, err := r.chunks(at)
		if err != nil {
			return nil, err
		}
		for _, c := range chunks {
			c.Conversation, c.Position = r.Conversation, position{Batch: int64(at), Index: len(encoded)}
			data, err := stream.Encode(c)
			if err != nil {
				return nil, err
			}
			encoded = append(encoded, data)
		}
	}
	return encoded, nil
}

func (r Record) chunks(at stream.Offset) ([]chunk, error) {
	switch r.Type {
	case Created:
		return []chunk{{Type: chunkReset, Snapshot: &Snapshot{
			V: SnapshotVersion, Conversation: r.Conversation, Offset: at.String(), Messages: []json.RawMessage{}, Settlements: []json.RawMessage{},
		}}}, nil
	case UserMessage, SignalMessage:
		v := viewOf(r)
		return []chunk{{Type: chunkAppended, Message: &v}}, nil
	case AssistantStarted:
		return []chunk{{Type: chunkStarted, MessageID: r.Message, Timestamp: r.time(), Submission: r.Submission, Turn: r.Turn, Model: r.Model, AgentVersion: r.version()}}, nil
	case TextDelta:
		return []chunk{{Type: chunkDelta, MessageID: r.Message, Kind: partText, Delta: &r.Text}}, nil
	case ReasoningDelta:
		return []chunk{{Type: chunkDelta, MessageID: r.Message, Kind: partReasoning, Delta: &r.Text}}, nil
	case ToolCalled:
		return []chunk{{Type: chunkInput, MessageID: r.Message, ToolCallID: r.Call.ID, ToolName: r.Call.Name, Input: r.Call.Input}}, nil
	case ResultsCommitted:
		return resultChunks(r.Outcomes)
	case AssistantCompleted:
		return []chunk{{Type: chunkCompleted, MessageID: r.Message, Usage: r.Usage}}, nil
	case Settled:
		if r.Settlement.Private {
			return nil, nil
		}
		return []chunk{{Type: chunkSettled, Submission: r.Settlement.Submission, Outcome: r.Settlement.Outcome, Error: r.Settlement.Error}}, nil
	}
	return nil, nil
}

func resultChunks(outcomes []Outcome) ([]chunk, error) {
	var chunks []chunk
	for _, o := range outcomes {
		c := chunk{ToolCallID: o.Call, DurationMs: o.DurationMs}
		if o.IsError {
			text := o.errorText()
			c.Type, c.ErrorText = chunkOutputError, &text
		} else {
			output, err := o.shown()
			if err != nil {
				return nil, err
			}
			c.Type, c.Output = chunkOutput, output
		}
		chunks = append(chunks, c)
	}
	return chunks, nil
}
