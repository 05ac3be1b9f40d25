package conversation

import (
	"encoding/json"
	"errors"
	"fmt"

	"svc.dev/svc/stream"
)

// ErrCorrupt tells that a batch cannot be read.
var ErrCorrupt = errors.New("corrupt batch")

// EncodeBatch prints records as one batch, a list. Most of a log are deltas that differ in nothing but their texts and their times: of
// one that follows another only these are printed, [milliseconds later, text].
func EncodeBatch(records []Record) ([]byte, error) {
	list := make([]any, len(records))
	for i := range records {
		if i > 0 && records[i].follows(&records[i-1]) {
			list[i] = [2]any{records[i].At - records[i-1].At, records[i].Text}
		} else {
			list[i] = &records[i]
		}
	}
	return stream.Encode(list)
}

// follows reports whether the record is a delta to the same message as the one before.
func (r *Record) follows(before *Record) bool {
	return (r.Type == TextDelta || r.Type == ReasoningDelta) && r.Type == before.Type &&
		r.Message == before.Message && r.Turn == before.Turn && r.Submission == before.Submission &&
		r.Conversation == before.Conversation && r.Session == before.Session
}

// DecodeBatch reads a batch back.
func DecodeBatch(data []byte) ([]Record, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	records := make([]Record, len(list))
	for i, item := range list {
		var err error
		switch {
		case item[0] != '[':
			err = json.Unmarshal(item, &records[i])
		case i == 0:
			err = errors.New("it begins in the middle")
		default:
			records[i], err = records[i-1].next(item)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
	}
	return records, nil
}

// next is the delta that follows, of which only that is printed in which it differs.
func (r *Record) next(item json.RawMessage) (Record, error) {
	next := Record{
		Type: r.Type, Conversation: r.Conversation, Session: r.Session, At: r.At, Submission: r.Submission, Turn: r.Turn, Message: r.Message,
	}
	var later int64
	err := json.Unmarshal(item, &[2]any{&later, &next.Text})
	next.At += later
	return next, err
}
