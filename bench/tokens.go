package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
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
func measureTokens(ctx context.Context, b *Bench) error {
	const talking = 4
	d := pick(b, 8*time.Second, 2*time.Second)
	words := int(d / tokenEvery)
	for _, db := range b.Databases {
		err := b.withServer(ctx, db, func(s *Server) error {
			if _, err := hearWords(s.Served, "warm-up", 20); err != nil {
				return err
			}
			var mu sync.Mutex
			var took []time.Duration
			err := inParallel(talking, func(i int) error {
				heard, err := hearWords(s.Served, fmt.Sprint("talking-", i), words)
				mu.Lock()
				defer mu.Unlock()
				took = append(took, heard...)
				return err
			})
			if err == nil && len(took) != talking*words {
				err = fmt.Errorf("%d of %d words came", len(took), talking*words)
			}
			if err == nil {
				b.Report.add(tokenRow(db, took))
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", db.Name, err)
		}
	}
	return nil
}

func tokenRow(db Database, took []time.Duration) Row {
	slices.Sort(took)
	p50, p99 := quantile(took, 0.5), quantile(took, 0.99)
	return Row{
		Measurement: fmt.Sprintf("a word every %s, from the model to one SSE reader, %s", tokenEvery, db.Name),
		Figure:      fmt.Sprintf("p50 %s, p99 %s, most %s", ms(p50), ms(p99), ms(quantile(took, 1))),
		Beside:      fmt.Sprintf("of %s words; they wait for company up to 40 ms", count(len(took))),
		Target:      fmt.Sprintf("p50 < %s, p99 < %s", ms(tokenP50), ms(tokenP99)), Met: met(p50 < tokenP50 && p99 < tokenP99),
		Values: map[string]float64{"p50Millis": float64(p50) / 1e6, "p99Millis": float64(p99) / 1e6, "mostMillis": float64(quantile(took, 1)) / 1e6},
	}
}

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
	u, err := openUpdates(to, id, p.Offset)
	if err != nil {
		return nil, err
	}
	defer u.close()
	err = u.until(saysSettled, func(line []byte) {
		now := time.Now().UnixMicro()
		for _, said := range saidAt(line) {
			took = append(took, time.Duration(now-said)*time.Microsecond)
		}
	})
	return took, err
}

var fieldDelta = []byte(`"delta":"t`)

// saidAt finds the times that a data frame's words tell.
func saidAt(line []byte) (all []int64) {
	for {
		_, rest, ok := bytes.Cut(line, fieldDelta)
		if !ok {
			return all
		}
		all, line = append(all, number(rest)), rest
	}
}
