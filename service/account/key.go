package account

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/throttle"
	"svc.dev/svc/service/workspace"
)

// KeyScopes are what a key can be allowed to do.
var KeyScopes = []string{
	"agents:read", "agents:write", "workflows:run", "runs:read", "connectors:read", "projects:read", "projects:write", "usage:read",
}

// Bounds of a key.
const (
	keyPrefix     = "svck_"
	keyIDSize     = 12
	keySecretSize = 32
	keySumSize    = 6
	keySize       = len(keyPrefix) + keyIDSize + 1 + keySecretSize + keySumSize
	keyLife       = 90 * day
	maxKeyLife    = 366 * day
	staffKeyLife  = 7 * day // of a key that staff make, at most
	maxKeyName    = 64
	maxGrace      = 24 * time.Hour
	maxKeys       = 200 // of one workspace
)

// Key is an API key as it is listed.
type Key struct {
	ID          string     `json:"id" id:"key"`
	Name        string     `json:"name"`
	Prefix      string     `json:"prefix"` // the public part of its value
	Last4       string     `json:"last4"`
	Scopes      []string   `json:"scopes"`
	CreatedAt   iso.Moment `json:"createdAt"`
	ExpiresAt   iso.Moment `json:"expiresAt" null:"never"`
	LastUsedAt  iso.Moment `json:"lastUsedAt" null:"never"` // noted at most once a minute
	LastUsedIP  *string    `json:"lastUsedIp"`
	RevokedAt   iso.Moment `json:"revokedAt" null:"it lives on"`
	Creator     string     `json:"creator" id:"acc"`
	Workspace   string     `json:"workspace"`
	Scope       string     `json:"-"`
	RotatedFrom *string    `json:"rotatedFrom"` // id of the key that this one replaced
	Staff       bool       `json:"staff"`       // made by the authority of the service, which it needs as long as it lives
}

// NewKey is what a key is made of.
type NewKey struct {
	Name      string
	Scopes    []string
	ExpiresAt *time.Time // nil: after 90 days
	Forever   bool       // never expires; for owners who confirm it
	Staff     bool       // made by the authority of the service: for a week at most
}

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// randomBase62 is n characters that nobody can guess.
func randomBase62(n int) string {
	out := make([]byte, 0, n)
	block := make([]byte, 2*n)
	for len(out) < n {
		_, _ = rand.Read(block) // never fails
		for _, b := range block {
			// Values from 248 on would make some characters likelier than others.
			if b < 248 && len(out) < n {
				out = append(out, base62[b%62])
			}
		}
	}
	return string(out)
}

// checksum is six characters that tell a key from a text that looks like one, without asking anybody.
func checksum(text string) string {
	sum := crc32.ChecksumIEEE([]byte(text))
	var out [keySumSize]byte
	for i := keySumSize - 1; i >= 0; i-- {
		out[i] = base62[sum%62]
		sum /= 62
	}
	return string(out[:])
}

func makeKey() (value, prefix string) {
	prefix = randomBase62(keyIDSize)
	text := keyPrefix + prefix + "_" + randomBase62(keySecretSize)
	return text + checksum(text), prefix
}

// parseKey is the public part of a well-formed key.
func parseKey(value string) (prefix string, ok bool) {
	if len(value) != keySize || !strings.HasPrefix(value, keyPrefix) || value[len(keyPrefix)+keyIDSize] != '_' {
		return "", false
	}
	for i := len(keyPrefix); i < len(value); i++ {
		if i != len(keyPrefix)+keyIDSize && strings.IndexByte(base62, value[i]) < 0 {
			return "", false
		}
	}
	text := value[:len(value)-keySumSize]
	return value[len(keyPrefix) : len(keyPrefix)+keyIDSize], checksum(text) == value[len(text):]
}

// FindKey finds what looks like a key within a text.
func FindKey(text string) (string, bool) {
	for {
		_, rest, found := strings.Cut(text, keyPrefix)
		if !found {
			return "", false
		}
		if value := keyPrefix + rest[:min(len(rest), keySize-len(keyPrefix))]; len(value) == keySize {
			if _, ok := parseKey(value); ok {
				return value, true
			}
		}
		text = rest
	}
}

func (n *NewKey) check(now time.Time) error {
	var wrong fields
	wrong.add("name", checkLine(n.Name, 1, maxKeyName))
	for _, s := range n.Scopes {
		if !slices.Contains(KeyScopes, s) {
			wrong.add("scopes", invalid)
			break
		}
	}
	if len(n.Scopes) == 0 {
		wrong.add("scopes", tooShort)
	}
	if n.ExpiresAt != nil && (!n.ExpiresAt.After(now) || n.ExpiresAt.After(now.Add(n.longest()))) || n.Forever && n.Staff {
		wrong.add("expiresAt", invalid)
	}
	return wrong.refusal()
}

// longest is how long such a key may live.
func (n *NewKey) longest() time.Duration {
	if n.Staff {
		return staffKeyLife
	}
	return maxKeyLife
}

// CreateKey makes a key for a workspace and returns its value, which is shown once.
func (a *Accounts) CreateKey(ctx context.Context, who Who, in workspace.Membership, n NewKey) (k Key, value string, err error) {
	now := a.Now()
	if err := n.check(now); err != nil {
		return k, "", err
	}
	if err := a.NeedFresh(who); err != nil {
		return k, "", err
	}
	if n.Forever && in.Role != workspace.Owner {
		return k, "", ownersOnly()
	}
	slices.Sort(n.Scopes)
	k = Key{
		Name: strings.TrimSpace(n.Name), Scopes: slices.Compact(n.Scopes), Workspace: in.ID, Scope: in.Scope, Creator: who.Account.ID,
		ExpiresAt: iso.At(now.Add(min(keyLife, n.longest()))), Staff: n.Staff,
	}
	if n.ExpiresAt != nil {
		k.ExpiresAt = iso.At(*n.ExpiresAt)
	}
	if n.Forever {
		k.ExpiresAt = iso.Moment{}
	}
	err = a.db.Write(ctx, func(tx *sqldb.Tx) (err error) {
		if _, err := acting(tx, who); err != nil {
			return err
		}
		if err := refuseTooManyKeys(tx, in.ID); err != nil {
			return err
		}
		if value, err = a.insertKey(tx, &k, ""); err != nil {
			return err
		}
		return a.tellKey(ctx, tx, who, k, "key.created")
	})
	return k, value, err
}

func ownersOnly() error {
	return fault.New(Forbidden, "Only an owner makes a key that never expires.", "").With("role", workspace.Owner)
}

func refuseTooManyKeys(tx *sqldb.Tx, workspace string) error {
	var n int
	if err := tx.QueryRow("SELECT count(*) FROM api_keys WHERE workspace = $1 AND revoked_at IS NULL", workspace).Scan(&n); err != nil {
		return fmt.Errorf("count keys: %w", err)
	}
	if n >= maxKeys {
		return fault.Invalid("A workspace has at most %d keys.", maxKeys)
	}
	return nil
}

// insertKey gives a key its id and value.
func (a *Accounts) insertKey(tx *sqldb.Tx, k *Key, from string) (value string, err error) {
	value, k.Prefix = makeKey()
	k.ID, k.Last4, k.CreatedAt = "key_"+ulid.Make().String(), value[len(value)-4:], iso.At(a.Now())
	scopes, err := json.Marshal(k.Scopes)
	if err != nil {
		return "", err
	}
	_, err = tx.Exec(`INSERT INTO api_keys (id, prefix, hash, last4, name, scopes, workspace, scope, creator, created_at, expires_at, rotated_from, staff)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`, k.ID, k.Prefix, fingerprint(value), k.Last4, k.Name, string(scopes),
		k.Workspace, k.Scope, k.Creator, k.CreatedAt.UnixMilli(), instant(k.ExpiresAt.Time), from, flag(k.Staff))
	if err != nil {
		return "", fmt.Errorf("make key: %w", err)
	}
	return value, nil
}

// flag is a truth as it is stored.
func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// instant is a time as it is stored; the zero time is none.
func instant(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

func moment(n sql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return time.UnixMilli(n.Int64)
}

func (a *Accounts) tellKey(ctx context.Context, tx *sqldb.Tx, who Who, k Key, action string) error {
	return a.Audit.Append(ctx, tx, audit.Event{
		Actor: who.Account.Actor(), Action: action, Target: audit.Target{Kind: "key", ID: k.ID}, Scope: k.Scope,
	})
}

const keyColumns = `k.id, k.prefix, k.last4, k.name, k.scopes, k.workspace, k.scope, k.creator, k.created_at, k.expires_at, k.last_used_at, NULLIF(k.last_used_ip, ''),
	k.revoked_at, NULLIF(k.rotated_from, ''), k.staff <> 0`

func scanKey(row sqldb.Row, more ...any) (Key, error) {
	var k Key
	var scopes string
	var created int64
	var expires, used, revoked sql.NullInt64
	to := []any{&k.ID, &k.Prefix, &k.Last4, &k.Name, &scopes, &k.Workspace, &k.Scope, &k.Creator, &created, &expires, &used, &k.LastUsedIP, &revoked, &k.RotatedFrom, &k.Staff}
	if err := row.Scan(append(to, more...)...); err != nil {
		return k, err
	}
	k.CreatedAt, k.ExpiresAt, k.LastUsedAt, k.RevokedAt = iso.Millis(created), iso.At(moment(expires)), iso.At(moment(used)), iso.At(moment(revoked))
	return k, json.Unmarshal([]byte(scopes), &k.Scopes)
}

func scanPlainKey(row sqldb.Row) (Key, error) { return scanKey(row) }

// KeyQuery asks for some keys, newest first.
type KeyQuery struct {
	listing.Query
	Workspace string
	All       bool // of all workspaces: then Workspace is not looked at
}

// Keys lists the keys of a workspace, or of all, that are not revoked, the newest first.
func (a *Accounts) Keys(ctx context.Context, q KeyQuery) (page listing.Page[Key], err error) {
	if problem := checkLine(q.Q, 0, maxQuery); problem != "" {
		return page, fields{{Field: "q", Type: problem}}.refusal()
	}
	var after string
	if err := q.After(&after); err != nil {
		return page, err
	}
	which := "k.workspace = $1"
	if q.All {
		which, q.Workspace = "k.workspace <> $1", ""
	}
	err = a.db.Read(ctx, func(tx *sqldb.Tx) error {
		all, err := sqldb.Collect(tx, scanPlainKey, "SELECT "+keyColumns+" FROM api_keys k WHERE "+which+` AND (k.revoked_at IS NULL OR k.revoked_at > $2)
			AND ($3 = '' OR k.id < $3) AND lower(k.name) LIKE lower($4) ESCAPE '\' ORDER BY k.id DESC LIMIT $5`,
			q.Workspace, a.Now().UnixMilli(), after, sqldb.Contains(q.Q), q.Size()+1)
		if err != nil {
			return fmt.Errorf("list keys: %w", err)
		}
		page = listing.Cut(all, q.Size(), func(k Key) []any { return []any{k.ID} })
		return nil
	})
	return page, err
}

// RotateKey makes another key with the same rights. The old one dies after the grace; rotating it twice is refused. One that
// never expires comes from an owner, as when it was made; one by the authority of the staff lives as long as those do.
func (a *Accounts) RotateKey(ctx context.Context, who Who, in workspace.Membership, id string, grace time.Duration, staff bool) (k Key, value string, err error) {
	if grace < 0 || grace > maxGrace {
		return k, "", fields{{Field: "graceSeconds", Type: invalid}}.refusal()
	}
	if err := a.NeedFresh(who); err != nil {
		return k, "", err
	}
	err = a.db.Write(ctx, func(tx *sqldb.Tx) error {
		if _, err := acting(tx, who); err != nil {
			return err
		}
		n, err := tx.Exec(`UPDATE api_keys SET revoked_at = $3 WHERE id = $1 AND workspace = $2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $4)`,
			id, in.ID, a.Now().Add(grace).UnixMilli(), a.Now().UnixMilli())
		if err != nil {
			return fmt.Errorf("rotate key: %w", err)
		}
		if n == 0 {
			return notFound()
		}
		old, err := scanKey(tx.QueryRow("SELECT "+keyColumns+" FROM api_keys k WHERE k.id = $1", id))
		if err != nil {
			return fmt.Errorf("find key: %w", err)
		}
		if old.ExpiresAt.IsZero() && in.Role != workspace.Owner && !staff {
			return ownersOnly()
		}
		k = a.heir(old, who, staff)
		if value, err = a.insertKey(tx, &k, id); err != nil {
			return err
		}
		return a.tellKey(ctx, tx, who, k, "key.rotated")
	})
	return k, value, err
}

// heir is the key that takes the place of one.
func (a *Accounts) heir(old Key, who Who, staff bool) Key {
	k, longest := old, (&NewKey{Staff: staff}).longest()
	k.Creator, k.RevokedAt, k.LastUsedAt, k.LastUsedIP, k.RotatedFrom, k.Staff = who.Account.ID, iso.Moment{}, iso.Moment{}, nil, &old.ID, staff
	switch {
	case !old.ExpiresAt.IsZero():
		k.ExpiresAt = iso.At(a.Now().Add(min(longest, old.ExpiresAt.Sub(old.CreatedAt.Time))))
	case staff:
		k.ExpiresAt = iso.At(a.Now().Add(longest))
	}
	return k
}

// endStaffKeys ends the keys that somebody made by an authority which they have no more. They stay dead if it comes back.
func (a *Accounts) endStaffKeys(tx *sqldb.Tx, account string) error {
	_, err := tx.Exec("UPDATE api_keys SET revoked_at = $2 WHERE creator = $1 AND staff <> 0 AND (revoked_at IS NULL OR revoked_at > $2)", account, a.Now().UnixMilli())
	if err != nil {
		return fmt.Errorf("end keys of staff: %w", err)
	}
	return nil
}

// RevokeKey ends a key of a workspace at once.
func (a *Accounts) RevokeKey(ctx context.Context, who Who, in workspace.Membership, id string) error {
	return a.db.Write(ctx, func(tx *sqldb.Tx) error {
		if _, err := acting(tx, who); err != nil {
			return err
		}
		n, err := tx.Exec("UPDATE api_keys SET revoked_at = $3 WHERE id = $1 AND workspace = $2 AND (revoked_at IS NULL OR revoked_at > $3)",
			id, in.ID, a.Now().UnixMilli())
		if err != nil {
			return fmt.Errorf("revoke key: %w", err)
		}
		if n == 0 {
			return notFound()
		}
		return a.tellKey(ctx, tx, who, Key{ID: id, Scope: in.Scope}, "key.revoked")
	})
}

// revokesPerSource is how often somebody may say that they found a key.
var revokesPerSource = throttle.Rate{Limit: 20, Per: time.Minute}

// AdmitRevoke counts a request to end a key that was found, before its body is looked at.
func (a *Accounts) AdmitRevoke(ctx context.Context) error {
	return a.admitted(ctx, "revoke", revokesPerSource, nobody)
}

// RevokeFound ends a key on the word of whoever holds it. Nobody learns whether it was one.
func (a *Accounts) RevokeFound(ctx context.Context, value string) error {
	return a.onFound(ctx, value, "key.revoked_by_holder", "UPDATE api_keys SET revoked_at = $3 WHERE id = $1 AND hash = $2 AND (revoked_at IS NULL OR revoked_at > $3)")
}

// Exposed notes that a key stood in an address, where logs keep it, and tells its maker.
func (a *Accounts) Exposed(ctx context.Context, value string) error {
	return a.onFound(ctx, value, "key.exposed", "UPDATE api_keys SET exposed_at = $3 WHERE id = $1 AND hash = $2 AND exposed_at IS NULL")
}

// onFound does one thing to the key of that value, tells it in the audit log and to the key's maker, once.
func (a *Accounts) onFound(ctx context.Context, value, action, statement string) error {
	prefix, ok := parseKey(value)
	if !ok {
		return nil
	}
	return a.post(ctx, func(tx *sqldb.Tx, out *letters) error {
		k, err := scanKey(tx.QueryRow("SELECT "+keyColumns+" FROM api_keys k WHERE k.prefix = $1", prefix))
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("find key: %w", err)
		}
		n, err := tx.Exec(statement, k.ID, fingerprint(value), a.Now().UnixMilli())
		if err != nil || n == 0 {
			return err
		}
		p, _, err := oneAccount(tx, "a.id = $1", k.Creator)
		if err != nil {
			return err
		}
		if action == "key.exposed" {
			if err := out.keyExposed(tx, p.Email, k.Name); err != nil {
				return err
			}
		}
		return a.Audit.Append(ctx, tx, audit.Event{
			Actor: audit.Actor{Kind: "anonymous"}, Action: action, Target: audit.Target{Kind: "key", ID: k.ID}, Scope: k.Scope,
		})
	})
}

// Bearer is who acts by a key.
type Bearer struct {
	Key     Key
	Account Account // its maker
}

// BearerOf is who is behind a key. Whatever is wrong with it, the refusal is the same. A key whose maker has left its workspace
// is dead, and stays so when they come again; so is one of staff whose maker is no administrator any more.
func (a *Accounts) BearerOf(tx *sqldb.Tx, value string) (b Bearer, err error) {
	prefix, ok := parseKey(value)
	if !ok {
		return b, invalidKey()
	}
	var hash string
	b.Key, err = scanKey(tx.QueryRow("SELECT "+keyColumns+", k.hash FROM api_keys k WHERE k.prefix = $1", prefix), &hash)
	if errors.Is(err, sql.ErrNoRows) {
		return Bearer{}, invalidKey()
	}
	if err != nil {
		return Bearer{}, fmt.Errorf("find key: %w", err)
	}
	member, err := workspace.IsMemberSince(tx, b.Key.Workspace, b.Key.Creator, b.Key.CreatedAt.Time)
	if err != nil {
		return Bearer{}, err
	}
	if b.Account, _, err = oneAccount(tx, "a.id = $1", b.Key.Creator); err != nil {
		return Bearer{}, err
	}
	if b.Key.Staff {
		member = b.Account.Role == RoleAdmin
	}
	if subtle.ConstantTimeCompare([]byte(hash), []byte(fingerprint(value))) != 1 || !b.Key.live(a.Now()) || !b.Account.alive() || !member {
		return Bearer{}, invalidKey()
	}
	return b, nil
}

func (k Key) live(now time.Time) bool {
	return (k.RevokedAt.IsZero() || now.Before(k.RevokedAt.Time)) && (k.ExpiresAt.IsZero() || now.Before(k.ExpiresAt.Time))
}

// KeyUsed notes at most once a minute that a key was used, and from where.
func (a *Accounts) KeyUsed(ctx context.Context, k Key) error {
	now := a.Now()
	if now.Sub(k.LastUsedAt.Time) < seenPause {
		return nil
	}
	return a.db.Write(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec("UPDATE api_keys SET last_used_at = $2, last_used_ip = $3 WHERE id = $1", k.ID, now.UnixMilli(), audit.From(ctx).IP)
		return err
	})
}

func invalidKey() error {
	return fault.New(InvalidAPIKey, "The API key is not valid.", "It is unknown, expired or revoked.")
}
