package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/conversation"
	"svc.dev/svc/stream"
)

// filling is a conversation that is written without a runtime: one submission, settled at the end.
type filling struct {
	store svc.Store
	lease svc.Lease
	about conversation.Record // what every record says
}

func fillConversation(ctx context.Context, store svc.Store, id string) (*filling, error) {
	about := conversation.Record{Conversation: "conv_" + id, At: time.Now().UnixMilli()}
	created := about
	created.Type, created.Kind = conversation.Created, conversation.KindRoot
	opening, err := conversation.EncodeBatch([]conversation.Record{created})
	if err != nil {
		return nil, err
	}
	about.Submission, about.Turn, about.Message = "sub_"+id, "turn_"+id, "entry_"+id
	receipt, err := store.Admit(ctx, svc.Admission{
		Stream:     svc.Stream{Kind: svc.KindAgent, Name: talker, ID: id},
		Submission: about.Submission, Kind: svc.Direct, Input: []byte(`{"kind":"user","body":"n=1"}`), Opening: opening,
		Owner: &svc.Owner{Node: "bench", Boot: "bench", Lease: longest, Agents: true},
	})
	if err != nil {
		return nil, err
	}
	if receipt.Lease == nil {
		return nil, errors.New("the conversation is another's")
	}
	return &filling{store, *receipt.Lease, about}, nil
}

func (f *filling) record(t conversation.Type, text string) conversation.Record {
	r := f.about
	r.Type, r.Text = t, text
	return r
}

// append writes records as one batch, with what the Commit says.
func (f *filling) append(ctx context.Context, c svc.Commit, records ...conversation.Record) (head stream.Offset, err error) {
	if c.Data, err = conversation.EncodeBatch(records); err != nil {
		return 0, err
	}
	c.N = 1
	appended, err := f.store.Append(ctx, f.lease, c)
	return appended.Head, err
}

// say writes a reply of so many pieces, each a batch of its own, and returns the head behind its settlement.
func (f *filling) say(ctx context.Context, pieces int, text string) (stream.Offset, error) {
	heard := f.record(conversation.UserMessage, "n=1")
	heard.Message = conversation.DirectID(f.about.Submission)
	_, err := f.append(ctx, svc.Commit{}, heard, f.record(conversation.AssistantStarted, ""), f.record(conversation.TextStarted, ""))
	if err != nil {
		return 0, err
	}
	err = inParallel(pieces, func(int) error {
		_, err := f.append(ctx, svc.Commit{}, f.record(conversation.TextDelta, text))
		return err
	})
	if err != nil {
		return 0, err
	}
	return f.settle(ctx, f.record(conversation.TextCompleted, ""), f.record(conversation.AssistantCompleted, ""))
}

// settle ends the submission with its last records; nothing of the conversation is open afterwards.
func (f *filling) settle(ctx context.Context, last ...conversation.Record) (stream.Offset, error) {
	tail, err := f.store.Tail(ctx, f.lease.Stream)
	if err != nil {
		return 0, err
	}
	settled := f.record(conversation.Settled, "")
	settled.Settlement = &conversation.Settlement{Submission: f.about.Submission, Outcome: string(svc.OutcomeCompleted)}
	openFrom := tail.Head + 1
	return f.append(ctx, svc.Commit{OpenFrom: &openFrom, Settle: svc.OutcomeCompleted, Release: true}, append(last, settled)...)
}

// finish writes finished messages, a hundred with every batch.
func (f *filling) finish(ctx context.Context, messages, size int) error {
	const together = 100
	for first := 0; first < messages; first += together {
		var records []conversation.Record
		for i := range together {
			r := f.record(conversation.UserMessage, strings.Repeat("word ", (size-250)/5)) // the rest is what surrounds it
			r.Message = fmt.Sprintf("entry_%08d", first+i)
			records = append(records, r)
		}
		rows, err := new(conversation.Tail).Apply(records)
		if err != nil {
			return err
		}
		var c svc.Commit
		for _, row := range rows {
			c.Messages = append(c.Messages, svc.Message{Kind: row.Kind, ID: row.ID, Data: row.Data})
		}
		if _, err := f.append(ctx, c, records...); err != nil {
			return err
		}
	}
	_, err := f.settle(ctx)
	return err
}
