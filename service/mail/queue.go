package mail

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/oklog/ulid/v2"

	"svc.dev/svc/internal/sqldb"
)

// lease is how long a mail belongs to whoever tries to send it. It is longer than any attempt, and than the clocks of two
// nodes may differ.
const lease = 5 * time.Minute

// claimed is a mail that is this node's to send until its lease ends.
type claimed struct {
	id       string
	kind     string
	attempt  int64 // the fence: the next claim raises it
	created  time.Time
	expires  time.Time
	sealed   []byte
	unopened error // why sealed could not be read
	letter   letter
}

// aad ties a sealed letter to its row.
func aad(id, kind string) string { return "outbox " + id + " " + kind }

func (o *Outbox) insert(tx *sqldb.Tx, l letter) error {
	plain, err := json.Marshal(l)
	if err != nil {
		return err
	}
	id := "mail_" + ulid.Make().String()
	now := o.config.Now()
	_, err = tx.Exec(`INSERT INTO outbox (id, kind, sealed, next_at, created_at, expires_at) VALUES ($1, $2, $3, $4, $4, $5)`,
		id, l.kind, o.config.Box.Seal(aad(id, l.kind), plain), now.UnixMilli(), now.Add(l.life).UnixMilli())
	return err
}

// earliest is when the next queued mail may be tried; some is false when none waits.
func (o *Outbox) earliest(ctx context.Context) (at time.Time, some bool, err error) {
	var ms sql.NullInt64
	err = o.db.Read(ctx, func(tx *sqldb.Tx) error {
		return tx.QueryRow("SELECT MIN(next_at) FROM outbox WHERE state = 'queued'").Scan(&ms)
	})
	if err != nil {
		return at, false, fmt.Errorf("look for mails: %w", err)
	}
	return time.UnixMilli(ms.Int64), ms.Valid, nil
}

// claim takes up to n mails that are due, the longest waiting first. Two nodes never hold the same one.
func (o *Outbox) claim(ctx context.Context, n int) (mails []claimed, err error) {
	now := o.config.Now()
	err = o.db.Write(ctx, func(tx *sqldb.Tx) error {
		mails = nil
		rows, err := tx.Query(`WITH due AS MATERIALIZED (SELECT id FROM outbox WHERE state = 'queued' AND next_at <= $1
			ORDER BY next_at, id LIMIT $3`+unlocked(tx)+`)
			UPDATE outbox SET attempts = attempts + 1, next_at = $2 WHERE id IN (SELECT id FROM due)
			RETURNING id, kind, attempts, created_at, expires_at, sealed`, now.UnixMilli(), now.Add(lease).UnixMilli(), n)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var c claimed
			var created, expires int64
			if err := rows.Scan(&c.id, &c.kind, &c.attempt, &created, &expires, &c.sealed); err != nil {
				return err
			}
			c.created, c.expires = time.UnixMilli(created), time.UnixMilli(expires)
			mails = append(mails, c)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("claim mails: %w", err)
	}
	for i := range mails {
		mails[i].open(o.config.Box)
	}
	return mails, nil
}

// unlocked leaves out the rows that another node is claiming.
func unlocked(tx *sqldb.Tx) string {
	if tx.Dialect() == sqldb.Postgres {
		return " FOR UPDATE SKIP LOCKED"
	}
	return ""
}

func (c *claimed) open(box Sealer) {
	plain, err := box.Open(aad(c.id, c.kind), c.sealed)
	if err == nil {
		err = json.Unmarshal(plain, &c.letter)
	}
	c.sealed, c.unopened = nil, err
}

// The ends of an attempt. sent holds even for whoever lost the lease: the mail is out. The others change nothing then.
const (
	markSent  = `UPDATE outbox SET state = 'sent', sealed = NULL, sent_at = $2, next_at = $2 WHERE id = $1 AND state = 'queued'`
	markDead  = `UPDATE outbox SET state = 'dead', sealed = NULL, next_at = $2 WHERE id = $1 AND state = 'queued' AND attempts = $3`
	markLater = `UPDATE outbox SET next_at = $2 WHERE id = $1 AND state = 'queued' AND attempts = $3`
	forget    = `DELETE FROM outbox WHERE id = $1`
)

// mark writes down what became of a mail, and tries again for a while: what is not written down happens twice.
func (o *Outbox) mark(ctx context.Context, statement string, args ...any) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	for {
		err := o.db.Write(ctx, func(tx *sqldb.Tx) error {
			_, err := tx.Exec(statement, args...)
			return err
		})
		if err == nil {
			return nil
		}
		if ctx.Err() != nil || errors.Is(err, sqldb.ErrClosed) || errors.Is(err, sqldb.ErrFailed) {
			return fmt.Errorf("mark mail: %w", err)
		}
		time.Sleep(500 * time.Millisecond)
	}
}
