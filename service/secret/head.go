package secret

import (
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"errors"

	"github.com/oklog/ulid/v2"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
)

// head is the row of secrets: all that is known of a secret but its value.
type head struct {
	id         string
	version    int64
	bytes      int64
	createdAt  int64
	updatedAt  int64
	updatedBy  string
	lastUsedAt iso.Moment // zero: never
	tag        []byte
}

func newID() string { return "sec_" + ulid.Make().String() }

// sum is the tag: it binds what is told about a value, its version above all, to the very bytes of it. To bring back an
// old value one would have to bring back both rows as they were; that is a restored backup, and looks like one.
func (h head) sum(root Secret, o Owner, name string, e envelope) []byte {
	mac := hmac.New(sha256.New, derive(root, tuple("svc-head-v1")))
	mac.Write(tuple("svc-head-v1", o.Kind, o.Scope, name, h.id, decimal(h.version), decimal(h.bytes),
		decimal(h.createdAt), decimal(h.updatedAt), h.updatedBy, string(e.nonce), string(e.sealed)))
	return mac.Sum(nil)
}

func (h head) genuine(root Secret, o Owner, name string, e envelope) bool {
	return hmac.Equal(h.tag, h.sum(root, o, name, e))
}

func (h head) entry(name string) Entry {
	return Entry{
		Name: name, Version: h.version, Bytes: int(h.bytes), UpdatedBy: h.updatedBy,
		CreatedAt: iso.Millis(h.createdAt), UpdatedAt: iso.Millis(h.updatedAt), LastUsedAt: h.lastUsedAt,
	}
}

const headColumns = `h.id, h.version, h.bytes, h.created_at, h.updated_at, h.updated_by, h.last_used_at, h.tag`

func (h *head) fields() []any {
	return []any{&h.id, &h.version, &h.bytes, &h.createdAt, &h.updatedAt, &h.updatedBy, sqldb.Time(&h.lastUsedAt.Time), &h.tag}
}

// read finds a secret with its value in one statement, so that the two agree. A value that is gone is an empty one, which
// does not open.
func read(tx *sqldb.Tx, o Owner, name string) (h head, e envelope, err error) {
	var version sql.NullInt64
	var kid sql.NullString
	err = tx.QueryRow(`SELECT `+headColumns+`, v.version, v.kid, v.wrapped, v.nonce, v.sealed
FROM secrets h LEFT JOIN secret_values v ON v.secret = h.id WHERE h.owner_kind = $1 AND h.scope = $2 AND h.name = $3`,
		o.Kind, o.Scope, name).Scan(append(h.fields(), &version, &kid, &e.wrapped, &e.nonce, &e.sealed)...)
	if errors.Is(err, sql.ErrNoRows) {
		return h, e, ErrNotFound
	}
	e.version, e.kid = version.Int64, kid.String
	return h, e, err
}

// hold finds a secret and keeps others from changing it until the transaction ends.
func hold(tx *sqldb.Tx, o Owner, name string) (h head, err error) {
	err = tx.QueryRow(`SELECT `+headColumns+` FROM secrets h WHERE h.owner_kind = $1 AND h.scope = $2 AND h.name = $3`+tx.ForUpdate(),
		o.Kind, o.Scope, name).Scan(h.fields()...)
	if errors.Is(err, sql.ErrNoRows) {
		return h, ErrNotFound
	}
	return h, err
}
