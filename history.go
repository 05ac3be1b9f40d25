package svc

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"svc.dev/svc/conversation"
	"svc.dev/svc/memory"
	"svc.dev/svc/stream"
)

// Conversation is an instance's history at this moment, and the offset it was read at: its finished messages, which are rows
// that never change, and what lies open behind them.
func (s Scoped) Conversation(ctx context.Context, agent, id string) (conversation.Snapshot, stream.Offset, error) {
	h, err := s.History(ctx, agent, id)
	if err != nil {
		return conversation.Snapshot{}, 0, err
	}
	var rows []conversation.Row
	for _, kind := range []string{conversation.RowMessage, conversation.RowSettlement} {
		for page, err := range h.Rows(ctx, kind, maxBatch) {
			if err != nil {
				return conversation.Snapshot{}, 0, err
			}
			rows = append(rows, page...)
		}
	}
	snapshot, err := conversation.History(h.name, h.tail.Head, rows, &h.open)
	return snapshot, h.tail.Head, err
}

// History is an instance's history at one moment, to be read page by page.
type History struct {
	scoped  Scoped
	address Stream
	name    string
	tail    Tail
	open    conversation.Tail
	room    *memory.Grant // nil: rows are read however long they are
}

// Within lets rows that are longer than a page wait until the room has grown for them.
func (h *History) Within(room *memory.Grant) { h.room = room }

// read reads a page of rows.
func (h *History) read(ctx context.Context, r Range) (page Page, err error) {
	if h.room == nil {
		return h.scoped.rt.store.Read(ctx, h.address, r)
	}
	err = h.scoped.within(ctx, h.room, func(largest int) (err error) {
		r.Largest = largest
		if page, err = h.scoped.rt.store.Read(ctx, h.address, r); err == nil && page.Larger > 0 {
			err = &longRow{page.Larger}
		}
		return err
	})
	return page, err
}

// History opens the history of an instance as it is now. What lies open in it is read at once, what is finished when it is
// asked for.
func (s Scoped) History(ctx context.Context, agent, id string) (*History, error) {
	h := &History{scoped: s, address: s.AgentStream(agent, id)}
	return h, s.inTurn(ctx, s.rt.pages, func() error { return h.begin(ctx) })
}

func (h *History) begin(ctx context.Context) (err error) {
	s := h.scoped
	if h.tail, err = s.rt.store.Tail(ctx, h.address); err != nil {
		return err
	}
	if h.name, err = s.conversationID(ctx, h.address); err != nil {
		return err
	}
	return s.rt.eachBatch(ctx, h.address, Position{Offset: h.tail.OpenFrom, Part: maxPart}, h.tail.Head, func(b Batch) error {
		records, err := conversation.DecodeBatch(b.Data)
		if err != nil {
			return err
		}
		// What these batches finished is among the rows already: rows are written with their batch.
		_, err = h.open.Apply(records)
		return err
	})
}

// Offset is where the history stands.
func (h *History) Offset() stream.Offset { return h.tail.Head }

// Begin is the snapshot without its rows, and the message in progress, nil if there is none.
func (h *History) Begin() (conversation.Snapshot, json.RawMessage, error) {
	empty, err := conversation.History(h.name, h.tail.Head, nil, &conversation.Tail{})
	if err != nil {
		return empty, nil, err
	}
	unfinished, err := h.open.Unfinished()
	return empty, unfinished, err
}

// Rows are the finished rows of a kind in pages of about so many bytes; a page always holds one row.
func (h *History) Rows(ctx context.Context, kind string, bytes int) iter.Seq2[[]conversation.Row, error] {
	return func(yield func([]conversation.Row, error) bool) {
		r := Range{
			After: Position{Offset: stream.Start}, Through: stream.Offset(h.tail.Messages) - 1, Messages: true, Kind: kind,
			Items: stream.PageItems, Bytes: bytes,
		}
		for more := true; more; {
			page, err := h.read(ctx, r)
			if err != nil {
				yield(nil, err)
				return
			}
			rows := make([]conversation.Row, 0, len(page.Messages))
			for _, m := range page.Messages {
				rows = append(rows, conversation.Row{Kind: m.Kind, ID: m.ID, Data: m.Data})
				r.After.Offset = stream.Offset(m.Ord)
			}
			if len(rows) > 0 && !yield(rows, nil) {
				return
			}
			more = page.More
		}
	}
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
			if err := rt.readable(s, b, apply); err != nil {
				return err
			}
			r.After = b.Position()
		}
		if !page.More {
			return nil
		}
	}
}

// readable applies a batch. One that means nothing to this program poisons the work on it.
func (rt *Runtime) readable(s Stream, b Batch, apply func(Batch) error) (err error) {
	defer rt.survive(s, "read log", &err)
	if err := apply(b); err != nil {
		return fmt.Errorf("read log at %s: %w: %w", b.Last, errPoisoned, err)
	}
	return nil
}

// EraseConversation destroys an agent's instance with its queue, its history and its attachments, as EraseRun does a run.
// The next message to it begins a new conversation, behind all offsets that were given out. Without an instance it is
// ErrNoStream.
func (s Scoped) EraseConversation(ctx context.Context, agent, id string) error {
	address := s.AgentStream(agent, id)
	if _, err := s.rt.store.Tail(ctx, address); err != nil {
		return err
	}
	return s.rt.erase(ctx, address)
}
