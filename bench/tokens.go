package main

import (
	"bytes"
	"context"
	"fmt"
	"time"
)

// The targets of a word on its way from the model to a reader, the time that it waits for company included.
const (
	tokenP50 = 40 * time.Millisecond
	tokenP99 = 120 * time.Millisecond
)

// tokenEvery is the pace of a model.
const tokenEvery = 25 * time.Millisecond

// measureTokens lets a few models speak at an ordinary pace, each to one reader.
func measureTokens(ctx context.Context, b *Bench, db Database) error {
	words := int(pick(b, 8*time.Second, 2*time.Second) / tokenEvery)
	return b.withServer(ctx, db, Setting{}, func(s *Server) error {
		if _, err := hearWords(s.Served, "warm-up", 20); err != nil {
			return err
		}
		heard := make([][]time.Duration, 4)
		err := inParallel(len(heard), func(i int) (err error) {
			heard[i], err = hearWords(s.Served, fmt.Sprint("talking-", i), words)
			return err
		})
		if err != nil {
			return err
		}
		took := sorted(heard...)
		if all := len(heard) * words; len(took) != all {
			return fmt.Errorf("%d of %d words came", len(took), all)
		}
		b.Report.add(Row{
			Measurement: fmt.Sprintf("a word every %s, from the model to one SSE reader, %s", tokenEvery, db.Name),
			Figure:      fmt.Sprintf("%s, most %s", took, ms(took.most())),
			Beside:      fmt.Sprintf("of %s words; they wait for company up to 40 ms", count(len(took))),
			Target:      fmt.Sprintf("p50 < %s, p99 < %s", ms(tokenP50), ms(tokenP99)),
			Met:         met(took.p50() < tokenP50 && took.p99() < tokenP99),
		})
		return nil
	})
}

var fieldDelta = []byte(`"delta":"t`)

// hearWords prompts for words that say when they were said, and returns how long each was on its way.
func hearWords(to, id string, words int) (took []time.Duration, err error) {
	w, err := dial(to)
	if err != nil {
		return nil, err
	}
	defer w.close()
	p, err := w.prompt(id, fmt.Sprintf("n=%d delay=%d ts=1", words, tokenEvery.Milliseconds()))
	if err != nil {
		return nil, err
	}
	err = readUpdates(door{Address: to}, id, p.Offset, saysSettled, func(line []byte) {
		now := time.Now()
		for _, said := range bytes.Split(line, fieldDelta)[1:] {
			took = append(took, now.Sub(time.UnixMicro(number(said))))
		}
	})
	return took, err
}
