package mail

import (
	"encoding/json"
	"time"

	"github.com/oklog/ulid/v2"

	"svc.dev/svc/internal/outbox"
	"svc.dev/svc/internal/sqldb"
)

// queued is a mail that waits, and claimed one that is this node's to send.
type (
	queued struct {
		id     string
		kind   string
		until  int64 // Unix milliseconds
		sealed []byte
	}
	claimed = outbox.Claim[queued]
)

var table = outbox.Table[queued]{
	Name: "outbox", Rows: "mails",
	Key: []string{"id"}, KeyOf: func(m queued) []any { return []any{m.id} },
	Columns: []string{"id", "kind", "expires_at", "sealed"}, Fields: func(m *queued) []any { return []any{&m.id, &m.kind, &m.until, &m.sealed} },
}

func (o *Outbox) newQueue() *outbox.Queue[queued] {
	return outbox.New(outbox.Config[queued]{
		DB: o.db, Table: table, Parallel: o.config.Parallel, Poll: o.config.Poll, Timeout: o.config.Timeout, Grace: 5 * time.Second,
		Now: o.config.Now, Log: o.config.Log, Name: "outbox",
		Lost: func(c claimed, err error) {
			o.config.Log.Error("what became of a mail is not on record, it may be sent again", "mail", c.Row.id, "kind", c.Row.kind, "error", err)
		},
	})
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
	return tx.Do("insert mail", `INSERT INTO outbox (id, kind, sealed, next_at, created_at, expires_at) VALUES ($1, $2, $3, $4, $4, $5)`,
		id, l.kind, o.config.Box.Seal(aad(id, l.kind), plain), now.UnixMilli(), now.Add(l.life).UnixMilli())
}

func (m queued) expires() time.Time { return time.UnixMilli(m.until) }

func (m queued) open(box Sealer) (l letter, err error) {
	plain, err := box.Open(aad(m.id, m.kind), m.sealed)
	if err == nil {
		err = json.Unmarshal(plain, &l)
	}
	return l, err
}
