package audit

import (
	"context"
	"errors"
	"time"
)

const (
	flushEvery = time.Second
	lastWords  = 5 * time.Second // for what is written after the context ended
)

// Run flushes refusals each second and makes checkpoints each minute and every 1,000 events, until ctx ends; then once
// more, and the error is of that. What fails before is tried again, and told to the Config's Log.
func (l *Log) Run(ctx context.Context) error {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	l.try(ctx, "audit checkpoint", l.Checkpoint)
	for last := time.Now(); ; {
		due := false
		select {
		case <-ctx.Done():
			return l.finish(ctx)
		case <-tick.C:
			l.try(ctx, "flush audit refusals", l.Flush)
			due = time.Since(last) >= checkpointEvery
		case <-l.due:
			due = true
		}
		if due {
			l.try(ctx, "audit checkpoint", l.Checkpoint)
			last = time.Now()
		}
	}
}

func (l *Log) try(ctx context.Context, what string, do func(context.Context) error) {
	if err := do(ctx); err != nil && ctx.Err() == nil {
		l.config.Log.Warn(what, "error", err)
	}
}

func (l *Log) finish(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	return errors.Join(l.Flush(ctx), l.Checkpoint(ctx))
}
