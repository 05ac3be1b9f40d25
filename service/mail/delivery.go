package mail

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"svc.dev/svc/internal/sqldb"
)

const (
	// firstPause and longestPause bound the time between two attempts, which doubles.
	firstPause   = time.Minute
	longestPause = 6 * time.Hour
)

// Run sends what is queued, on this node or another, until ctx ends; attempts under way then have a few seconds to finish.
// Any number of nodes may run on one database. A mail that the server refuses for good is dead at once; one that it does
// not take now is tried again after 1 minute, 2, 4, up to every 6 hours, and given up when the next attempt would come
// after 24 hours or after its link has ended. It returns an error only when the database is gone.
func (o *Outbox) Run(ctx context.Context) error {
	if !o.works() {
		<-ctx.Done()
		return nil
	}
	var sending sync.WaitGroup
	defer sending.Wait()
	slots := make(chan struct{}, o.config.Parallel)
	for ctx.Err() == nil {
		mails, pause, err := o.due(ctx, cap(slots)-len(slots))
		switch {
		case errors.Is(err, sqldb.ErrClosed) || errors.Is(err, sqldb.ErrFailed):
			return fmt.Errorf("run outbox: %w", err)
		case err != nil && ctx.Err() == nil:
			o.config.Log.Warn("outbox", "error", err)
		}
		for _, c := range mails {
			slots <- struct{}{}
			sending.Go(func() {
				o.deliver(ctx, c)
				<-slots
				o.Wake()
			})
		}
		if len(mails) == 0 {
			o.rest(ctx, pause)
		}
	}
	return nil
}

// due claims what is due, up to as many as may be sent now, and says how long to rest if that is none.
func (o *Outbox) due(ctx context.Context, free int) ([]claimed, time.Duration, error) {
	if free == 0 {
		return nil, o.config.Poll, nil
	}
	at, some, err := o.earliest(ctx)
	if err != nil || !some {
		return nil, o.config.Poll, err
	}
	if wait := at.Sub(o.config.Now()); wait > 0 {
		return nil, min(wait, o.config.Poll), nil
	}
	mails, err := o.claim(ctx, free)
	return mails, o.config.Poll, err
}

func (o *Outbox) rest(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-o.wake:
	case <-timer.C:
	}
}

// deliver makes one attempt and writes down how it ended. The log hears the class of a trouble, never whom the mail is to or
// what it says.
func (o *Outbox) deliver(ctx context.Context, c claimed) {
	if err := o.attempt(ctx, c); err != nil {
		o.config.Log.Error("what became of a mail is not on record, it may be sent again", "mail", c.id, "kind", c.kind, "error", err)
	}
}

func (o *Outbox) attempt(ctx context.Context, c claimed) error {
	switch now := o.config.Now(); {
	case c.unopened != nil:
		return o.bury(ctx, c, &trouble{class: unreadable, final: true})
	case now.After(c.expires):
		return o.bury(ctx, c, &trouble{class: expired, final: true})
	case o.relay == nil:
		return o.show(ctx, c)
	}
	sendCtx, cancel := outlive(ctx, o.config.Timeout, o.grace)
	defer cancel()
	t := o.relay.send(sendCtx, c)
	now := o.config.Now()
	switch {
	case t == nil:
		return o.mark(ctx, markSent, c.id, now.UnixMilli())
	case t.final:
		return o.bury(ctx, c, t)
	case ctx.Err() != nil:
		// Cut short by us: it is due at once, here or on another node.
		return o.mark(ctx, markLater, c.id, now.UnixMilli(), c.attempt)
	}
	next := now.Add(pauseAfter(c.attempt))
	if next.After(c.expires) {
		return o.bury(ctx, c, t)
	}
	o.config.Log.Warn("mail not sent yet", "mail", c.id, "kind", c.kind, "attempt", c.attempt, "class", t.class, "code", t.code, "next", next.UTC())
	return o.mark(ctx, markLater, c.id, next.UnixMilli(), c.attempt)
}

// pauseAfter is how long to wait after the nth attempt.
func pauseAfter(n int64) time.Duration {
	if n > 16 {
		return longestPause
	}
	return min(firstPause<<(n-1), longestPause)
}

func (o *Outbox) bury(ctx context.Context, c claimed, t *trouble) error {
	o.config.Log.Error("mail given up", "mail", c.id, "kind", c.kind, "attempt", c.attempt, "class", t.class, "code", t.code)
	return o.mark(ctx, markDead, c.id, o.config.Now().UnixMilli(), c.attempt)
}

// show is how a link gets to a developer who has no mail server.
func (o *Outbox) show(ctx context.Context, c claimed) error {
	o.config.Log.Info("mail is off, open the link", "kind", c.kind, "link", c.letter.Link)
	return o.mark(ctx, forget, c.id)
}

// outlive is a context that ends after a timeout, or a grace after its parent.
func outlive(parent context.Context, timeout, grace time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(parent), timeout)
	stop := context.AfterFunc(parent, func() {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		stop()
		cancel()
	}
}
