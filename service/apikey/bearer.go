package apikey

import (
	"cmp"
	"context"
	"crypto/subtle"
	"slices"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/mail"
	"svc.dev/svc/service/secret"
	"svc.dev/svc/service/throttle"
	"svc.dev/svc/service/workspace"
)

// Invalid is the type of the refusal of a key that opens nothing.
const Invalid = "invalid_api_key"

// Bearer is who acts by a key.
type Bearer struct {
	Key     Key
	Account account.Account // its maker
	// Member is the maker's place in the workspace of the key, without an ID where that is no more.
	Member workspace.Membership
	stayed bool // where they made the key, since then
}

// BearerOf is who is behind a key. Whatever is wrong with it, the refusal is the same. A key whose maker has left its workspace
// is dead, and stays so when they come again; so is one of staff whose maker is no administrator any more.
func (a *Keys) BearerOf(tx *sqldb.Tx, value string) (b Bearer, err error) {
	prefix, ok := parse(value)
	if !ok {
		return b, invalid()
	}
	b, found, err := sqldb.First(tx, "find bearer", scanBearer, bearers+"k.prefix = $1", prefix)
	if err != nil || !found {
		return Bearer{}, cmp.Or(err, invalid())
	}
	if subtle.ConstantTimeCompare([]byte(b.Key.hash), []byte(secret.Fingerprint(value))) != 1 || !b.live(a.Now()) {
		return Bearer{}, invalid()
	}
	return b, nil
}

// BearerByID is who is behind a key of which only the id is known: one that was used before, by somebody who is judged anew.
func BearerByID(tx *sqldb.Tx, now time.Time, id string) (Bearer, error) {
	b, found, err := sqldb.First(tx, "find bearer", scanBearer, bearers+"k.id = $1", id)
	if err != nil || !found || !b.live(now) {
		return Bearer{}, cmp.Or(err, invalid())
	}
	return b, nil
}

// live reports whether a key opens anything now, and notes its state.
func (b *Bearer) live(now time.Time) bool {
	b.Key.State = b.Key.state(now, b.Account.Alive(), b.stayed)
	return b.Key.State == Live
}

// bearers has all that a key rests on in one statement: it is asked before every request with one.
const bearers = "SELECT " + account.Columns + ", " + columns + ", " + workspace.MemberColumns + ", " + remained + `
	FROM api_keys k JOIN accounts a ON a.id = k.creator LEFT JOIN workspaces w ON w.id = k.workspace AND w.deleted_at IS NULL
	LEFT JOIN members m ON m.workspace = k.workspace AND m.account = k.creator WHERE `

func scanBearer(row sqldb.Row) (b Bearer, err error) {
	b.Account, err = account.Scan(row, slices.Concat(b.Key.fields(), b.Member.Fields(), []any{&b.stayed})...)
	if b.Key.Staff {
		b.stayed = b.Account.Role == account.RoleAdmin
	}
	return b, err
}

func invalid() error {
	return fault.New(Invalid, "The API key is not valid.", "It is unknown, expired or revoked.")
}

// usedPause is the least time between two notes that a key was used.
const usedPause = time.Minute

// Used notes at most once a minute that a key was used, and from where.
func (a *Keys) Used(ctx context.Context, k Key) error {
	now := a.Now()
	if now.Sub(k.LastUsedAt.Time) < usedPause {
		return nil
	}
	return a.DB.Do(ctx, "note key", "UPDATE api_keys SET last_used_at = $2, last_used_ip = $3 WHERE id = $1", k.ID, now.UnixMilli(), audit.From(ctx).IP)
}

// revokesPerSource is how often somebody may say that they found a key.
var revokesPerSource = throttle.Rate{Limit: 20, Per: time.Minute}

// AdmitRevoke counts a request to end a key that was found, before its body is looked at.
func (a *Keys) AdmitRevoke(ctx context.Context) error {
	return a.Accounts.Admit(ctx, "revoke", revokesPerSource)
}

// RevokeFound ends a key on the word of whoever holds it. Nobody learns whether it was one.
func (a *Keys) RevokeFound(ctx context.Context, value string) error {
	return a.onFound(ctx, value, "key.revoked_by_holder", "UPDATE api_keys SET revoked_at = $3 WHERE id = $1 AND hash = $2 AND (revoked_at IS NULL OR revoked_at > $3)")
}

// exposed is what the audit log calls a key that stood where others read it.
const exposed = "key.exposed"

// Exposed notes that a key stood in an address, where logs keep it, and tells its maker.
func (a *Keys) Exposed(ctx context.Context, value string) error {
	err := a.onFound(ctx, value, exposed, "UPDATE api_keys SET exposed_at = $3 WHERE id = $1 AND hash = $2 AND exposed_at IS NULL")
	if err == nil {
		a.Mail.Wake()
	}
	return err
}

// onFound does one thing to the key of that value, tells it in the audit log and to the key's maker, once.
func (a *Keys) onFound(ctx context.Context, value, action, statement string) error {
	prefix, ok := parse(value)
	if !ok {
		return nil
	}
	return a.DB.Write(ctx, func(tx *sqldb.Tx) error {
		k, found, err := sqldb.First(tx, "find key", scan, "SELECT "+columns+" FROM api_keys k WHERE k.prefix = $1", prefix)
		if err != nil || !found {
			return err
		}
		n, err := tx.Exec(statement, k.ID, secret.Fingerprint(value), a.Now().UnixMilli())
		if err != nil || n == 0 {
			return err
		}
		p, _, err := account.Find(tx, k.Creator)
		if err != nil {
			return err
		}
		if action == exposed && p.Email != "" {
			if err := a.Mail.Queue(tx, p.Email, mail.KeyExposed(k.Name)); err != nil {
				return err
			}
		}
		return a.Audit.Append(ctx, tx, audit.Event{
			Actor: audit.Actor{Kind: audit.Anonymous}, Action: action, Target: audit.Target{Kind: "key", ID: k.ID}, Scope: k.Scope,
		})
	})
}
