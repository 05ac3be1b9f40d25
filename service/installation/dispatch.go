package installation

import (
	"encoding/base64"
	"fmt"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account/github"
)

// told is a delivery that was believed.
type told struct {
	github.Event
	provider string
	id       string
	app      int64
	body     []byte
}

// The kinds of what is left to do about a delivery.
const (
	forChannel  = "channel"
	forApproval = "approval"
)

// dispatch is something left to do about a delivery for one workspace.
type dispatch struct {
	provider     string
	delivery     string
	workspace    string
	kind         string
	scope        string
	account      string // that waits for an approval
	event        string
	installation int64
	bytes        int64 // of its body
}

// leave writes down what is left to do about a delivery, in the transaction that stores it.
func (a *Installations) leave(tx *sqldb.Tx, t told) error {
	var all []dispatch
	var err error
	switch t.Name {
	case github.EventPing, github.EventAuthorization, github.EventRepositories:
		return nil
	case github.EventInstallation:
		all, err = a.awaited(tx, t)
	default:
		if t.Installation != 0 {
			all, err = bindings(tx, forChannel, "provider = $1 AND installation = $2", t.provider, t.Installation)
		}
	}
	if err != nil || len(all) == 0 {
		return err
	}
	if err := a.refuseCrowd(tx, t); err != nil {
		return err
	}
	now := a.Now().UnixMilli()
	for _, d := range all {
		if err := tx.Do("queue delivery", `INSERT INTO dispatches (provider, delivery, workspace, kind, scope, account, event, installation, bytes, next_at, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)`,
			t.provider, t.id, d.workspace, d.kind, d.scope, d.account, t.Name, t.Installation, len(t.body), now); err != nil {
			return err
		}
	}
	return a.keepBody(tx, t)
}

// bindings are workspaces, each with something of a kind to do.
func bindings(tx *sqldb.Tx, kind, where string, args ...any) ([]dispatch, error) {
	all, err := sqldb.Collect(tx, func(row sqldb.Row) (dispatch, error) {
		d := dispatch{kind: kind}
		err := row.Scan(&d.workspace, &d.scope, &d.account)
		return d, err
	}, "SELECT workspace, scope, account FROM installation_bindings WHERE "+where+" ORDER BY scope", args...)
	if err != nil {
		return nil, fmt.Errorf("list bindings: %w", err)
	}
	return all, nil
}

// keepBody seals what was told, for it may hold what only few may read.
func (a *Installations) keepBody(tx *sqldb.Tx, t told) error {
	sealed := base64.StdEncoding.EncodeToString(a.deliveries.Seal(t.provider+" "+t.id, t.body))
	return tx.Do("keep delivery", `INSERT INTO delivery_bodies (provider, delivery, sealed, received_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (provider, delivery) DO NOTHING`, t.provider, t.id, sealed, a.Now().UnixMilli())
}

// readBody is the way back from keepBody.
func (a *Installations) readBody(tx *sqldb.Tx, d dispatch) ([]byte, error) {
	text, err := sqldb.Value[string](tx, "read delivery", "SELECT sealed FROM delivery_bodies WHERE provider = $1 AND delivery = $2", d.provider, d.delivery)
	if err != nil {
		return nil, err
	}
	sealed, err := base64.StdEncoding.DecodeString(text)
	if err == nil {
		sealed, err = a.deliveries.Open(d.provider+" "+d.delivery, sealed)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: unreadable: %w", ErrUndeliverable, err)
	}
	return sealed, nil
}

// revive queues again what was given up, when the provider was asked to tell it once more.
func (a *Installations) revive(tx *sqldb.Tx, t told) (bool, error) {
	if err := lockDelivery(tx, t.provider, t.id); err != nil {
		return false, err
	}
	n, err := tx.Exec(`UPDATE dispatches SET state = 'queued', trouble = '', attempts = 0, next_at = $3, created_at = $3
		WHERE provider = $1 AND delivery = $2 AND state = 'dead'`, t.provider, t.id, a.Now().UnixMilli())
	if err != nil {
		return false, fmt.Errorf("revive delivery: %w", err)
	}
	if n == 0 {
		return false, nil
	}
	return true, a.keepBody(tx, t)
}

// load is how much waits.
type load struct{ count, bytes int64 }

// The most that waits to be passed on, of one installation and of all: one that is told much leaves room for the others.
var (
	mostOfOne = load{1_000, 64 << 20}
	mostOfAll = load{10_000, 512 << 20}
)

// refuseCrowd refuses a delivery rather than promise what nobody can keep: the provider can be asked to tell it again.
func (a *Installations) refuseCrowd(tx *sqldb.Tx, t told) error {
	const waiting = "SELECT count(*), CAST(COALESCE(sum(bytes), 0) AS BIGINT) FROM dispatches WHERE state = 'queued'"
	var one, all load
	if err := tx.QueryRow(waiting+" AND provider = $1 AND installation = $2", t.provider, t.Installation).Scan(&one.count, &one.bytes); err != nil {
		return fmt.Errorf("count deliveries: %w", err)
	}
	if err := tx.QueryRow(waiting).Scan(&all.count, &all.bytes); err != nil {
		return fmt.Errorf("count deliveries: %w", err)
	}
	if a.mostOfOne.full(one) || a.mostOfAll.full(all) {
		a.Log.Warn("delivery refused, too many wait", "provider", t.provider, "delivery", t.id, "installation", t.Installation, "waiting", all.count)
		return fault.New(fault.Busy, "Too many deliveries wait.", "Try again shortly.").After(time.Minute)
	}
	return nil
}

func (most load) full(is load) bool { return is.count >= most.count || is.bytes >= most.bytes }
