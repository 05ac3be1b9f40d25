package mail

import (
	"context"
	"fmt"
	"time"

	"svc.dev/svc/internal/outbox"
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
	if err := o.queue.Run(ctx, o.attempt); err != nil {
		return fmt.Errorf("run outbox: %w", err)
	}
	return nil
}

// attempt tries to send a mail. The log hears the class of a trouble, never whom the mail is to or what it says.
func (o *Outbox) attempt(ctx context.Context, c claimed) outbox.Verdict {
	l, err := c.Row.open(o.config.Box)
	switch {
	case err != nil:
		return o.bury(c, &trouble{class: unreadable, final: true})
	case o.config.Now().After(c.Row.expires()):
		return o.bury(c, &trouble{class: expired, final: true})
	case o.relay == nil:
		return o.show(c, l)
	}
	return o.judge(c, o.relay.send(ctx, c, l))
}

// judge is what comes of a mail that was sent, or met some trouble.
func (o *Outbox) judge(c claimed, t *trouble) outbox.Verdict {
	now := o.config.Now()
	switch {
	case t == nil:
		return outbox.Done(marked(markSent, c.Row.id, now.UnixMilli()))
	case t.final:
		return o.bury(c, t)
	case c.Stopped():
		// Cut short by us: it is due at once, here or on another node.
		return outbox.Again(now)
	}
	next := now.Add(outbox.Pause(firstPause, longestPause, c.Attempt))
	if next.After(c.Row.expires()) {
		return o.bury(c, t)
	}
	o.config.Log.Warn("mail not sent yet", "mail", c.Row.id, "kind", c.Row.kind, "attempt", c.Attempt, "class", t.class, "code", t.code, "next", next.UTC())
	return outbox.Again(next)
}

func (o *Outbox) bury(c claimed, t *trouble) outbox.Verdict {
	o.config.Log.Error("mail given up", "mail", c.Row.id, "kind", c.Row.kind, "attempt", c.Attempt, "class", t.class, "code", t.code)
	return outbox.Dead(marked(markDead, c.Row.id, o.config.Now().UnixMilli()))
}

// show is how a link gets to a developer who has no mail server.
func (o *Outbox) show(c claimed, l letter) outbox.Verdict {
	o.config.Log.Info("mail is off, open the link", "kind", c.Row.kind, "link", l.Link)
	return outbox.Done(marked(forget, c.Row.id))
}

// The ends of a mail.
const (
	markSent = `UPDATE outbox SET state = 'sent', sealed = NULL, sent_at = $2, next_at = $2 WHERE id = $1 AND state = 'queued'`
	markDead = `UPDATE outbox SET sealed = NULL, next_at = $2 WHERE id = $1`
	forget   = `DELETE FROM outbox WHERE id = $1`
)

func marked(statement string, args ...any) func(*sqldb.Tx) error {
	return func(tx *sqldb.Tx) error { return tx.Do("mark mail", statement, args...) }
}
