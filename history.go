package svc

import (
	"context"
	"fmt"

	"svc.dev/svc/conversation"
	"svc.dev/svc/stream"
)

// Conversation is an instance's history at this moment, and the offset it was read at: its finished messages, which are rows
// that never change, and what lies open behind them.
func (s Scoped) Conversation(ctx context.Context, agent, id string) (conversation.Snapshot, stream.Offset, error) {
	address := s.AgentStream(agent, id)
	tail, err := s.rt.store.Tail(ctx, address)
	if err != nil {
		return conversation.Snapshot{}, 0, err
	}
	name, err := s.conversationID(ctx, address)
	if err != nil {
		return conversation.Snapshot{}, 0, err
	}
	rows, err := s.finished(ctx, address, tail)
	if err != nil {
		return conversation.Snapshot{}, 0, err
	}
	var open conversation.Tail
	err = s.rt.eachBatch(ctx, address, Position{Offset: tail.OpenFrom, Part: maxPart}, tail.Head, func(b Batch) error {
		records, err := conversation.DecodeBatch(b.Data)
		if err != nil {
			return err
		}
		// What these batches finished is among the rows already: rows are written with their batch.
		_, err = open.Apply(records)
		return err
	})
	if err != nil {
		return conversation.Snapshot{}, 0, err
	}
	snapshot, err := conversation.History(name, tail.Head, rows, &open)
	return snapshot, tail.Head, err
}

// conversationID is in the batch that opened the stream.
func (s Scoped) conversationID(ctx context.Context, address Stream) (string, error) {
	page, err := s.rt.store.Read(ctx, address, Range{After: Position{Offset: stream.Start}, Through: stream.Tail, Items: 1})
	if err != nil {
		return "", err
	}
	if len(page.Batches) == 0 {
		return "", ErrNoStream
	}
	records, err := conversation.DecodeBatch(page.Batches[0].Data)
	if err != nil || len(records) == 0 {
		return "", fmt.Errorf("opening batch: %w", conversation.ErrCorrupt)
	}
	return records[0].Conversation, nil
}

// finished are the rows up to a tail.
func (s Scoped) finished(ctx context.Context, address Stream, tail Tail) ([]conversation.Row, error) {
	rows := make([]conversation.Row, 0, tail.Messages)
	r := Range{
		After: Position{Offset: stream.Start}, Through: stream.Offset(tail.Messages) - 1, Messages: true,
		Items: foldRows, Bytes: maxBatch,
	}
	for {
		page, err := s.rt.store.Read(ctx, address, r)
		if err != nil {
			return nil, err
		}
		for _, m := range page.Messages {
			rows = append(rows, conversation.Row{Kind: m.Kind, ID: m.ID, Data: m.Data})
			r.After.Offset = stream.Offset(m.Ord)
		}
		if !page.More {
			return rows, nil
		}
	}
}

// foldRows bounds a page of a fold, beside its bytes.
const foldRows = 4096

// eachBatch reads batches in order, after a position and up to a head.
func (rt *Runtime) eachBatch(ctx context.Context, s Stream, after Position, head stream.Offset, apply func(Batch) error) error {
	r := Range{After: after, Through: head, Items: foldRows, Bytes: maxBatch}
	for {
		page, err := rt.store.Read(ctx, s, r)
		if err != nil {
			return fmt.Errorf("read log: %w", err)
		}
		for _, b := range page.Batches {
			if err := apply(b); err != nil {
				return fmt.Errorf("read log at %s: %w", b.Last, err)
			}
			r.After = b.Position()
		}
		if !page.More {
			return nil
		}
	}
}
