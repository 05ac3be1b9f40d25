package device

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/oklog/ulid/v2"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/secret"
)

// The states of a pairing.
const (
	waiting  = "waiting"
	approved = "approved"
	denied   = "denied" // or what was approved cannot be given any more
	given    = "given"
)

// Pairing is a program that asks for a key, as it is shown to whoever answers. What it calls itself nobody has checked.
type Pairing struct {
	UserCode  string
	Client    string
	IP        string
	AskedAt   time.Time
	ExpiresAt time.Time
}

// pairing is one as it is stored.
type pairing struct {
	Pairing
	id       string
	state    string
	polledAt time.Time
	pause    time.Duration

	// What was approved.
	account, workspace, scope string
	scopes                    []string
	decidedAt, keyExpiresAt   time.Time
	key                       string // id of the one that was given
}

// insert stores a pairing; made is false when another shows its code.
func (d *Devices) insert(tx *sqldb.Tx, a Asked, client, ip string) (made bool, err error) {
	now := d.Now()
	n, err := tx.Exec(`INSERT INTO device_pairings (id, code, user_code, client, ip, created_at, expires_at, pause)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (user_code) DO NOTHING`,
		"dev_"+ulid.Make().String(), secret.Fingerprint(a.Code), d.hash(a.UserCode), client, ip, now.UnixMilli(), now.Add(Life).UnixMilli(), Pause.Milliseconds())
	if err != nil {
		return false, fmt.Errorf("begin pairing: %w", err)
	}
	return n == 1, nil
}

// one is the pairing that a condition names, if there is one.
func one(tx *sqldb.Tx, where string, args ...any) (pairing, bool, error) {
	return sqldb.First(tx, "find pairing", scan, `SELECT id, client, ip, created_at, expires_at, state, polled_at, pause, account, workspace, scope, scopes,
		decided_at, key_expires_at, key FROM device_pairings WHERE `+where, args...)
}

func scan(row sqldb.Row) (p pairing, err error) {
	var pause int64
	var scopes string
	if err := row.Scan(&p.id, &p.Client, &p.IP, sqldb.Time(&p.AskedAt), sqldb.Time(&p.ExpiresAt), &p.state, sqldb.Time(&p.polledAt), &pause, &p.account, &p.workspace,
		&p.scope, &scopes, sqldb.Time(&p.decidedAt), sqldb.Time(&p.keyExpiresAt), &p.key); err != nil {
		return p, err
	}
	p.pause = time.Duration(pause) * time.Millisecond
	return p, json.Unmarshal([]byte(scopes), &p.scopes)
}

// target is the pairing as what was acted on.
func (p pairing) target() audit.Target { return audit.Target{Kind: "device", ID: p.id} }
