package apikey

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/secret"
	"svc.dev/svc/service/strictjson"
)

// Scopes are what a key can be allowed to do.
var Scopes = []string{
	"agents:read", "agents:write", "workflows:run", "runs:read", "connectors:read", "projects:read", "projects:write", "usage:read",
}

// Bounds of a key.
const (
	day       = 24 * time.Hour
	life      = 90 * day
	maxLife   = 366 * day
	staffLife = 7 * day // of a key that staff make, at most
	maxGrace  = day
	maxKeys   = 200 // of one workspace, but for those of devices
	maxPaired = 20  // of one person's devices in one workspace

	// MaxName is how many characters a name has, and DeviceLife how long a key of a device lives, at most.
	MaxName    = 64
	DeviceLife = life
)

// What a key was made for.
const (
	API    = "api"    // whatever its maker does with it, who saw its value
	Device = "device" // a program that asked for one, and was given it without anybody seeing it
)

// What can be said of a key that is not revoked.
const (
	Live      = "live"
	Expired   = "expired"
	Suspended = "suspended" // its maker is, or has deleted their account
	Orphaned  = "orphaned"  // its maker has left the workspace, or the staff: it stays dead
)

// Key is an API key as it is listed.
type Key struct {
	ID          string     `json:"id" id:"key"`
	Kind        string     `json:"kind" enum:"api device"`
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
	State       string     `json:"state" enum:"live expired suspended orphaned"`

	// Maker is the username of its creator, where it is listed.
	Maker string `json:"-"`

	hash string // of its value
}

// Draft is what a key is made of.
type Draft struct {
	Name      string
	Scopes    []string
	ExpiresAt *time.Time // nil: after 90 days
	Forever   bool       // never expires; for owners who confirm it
	Staff     bool       // made by the authority of the service: for a week at most
}

func (d *Draft) check(now time.Time) error {
	var wrong strictjson.Fields
	wrong.Add("name", strictjson.CheckLine(d.Name, 1, MaxName))
	wrong.Add("scopes", CheckScopes(d.Scopes))
	if d.ExpiresAt != nil && (!d.ExpiresAt.After(now) || d.ExpiresAt.After(now.Add(longest(d.Staff)))) || d.Forever && d.Staff {
		wrong.Add("expiresAt", strictjson.Invalid)
	}
	return wrong.Refusal()
}

// CheckScopes says what is wrong with the scopes of a key.
func CheckScopes(scopes []string) string {
	switch {
	case len(scopes) == 0:
		return strictjson.TooShort
	case slices.ContainsFunc(scopes, func(s string) bool { return !slices.Contains(Scopes, s) }):
		return strictjson.Invalid
	}
	return ""
}

// inOrder are scopes as they are stored, each of them once.
func inOrder(scopes []string) []string { return slices.Compact(slices.Sorted(slices.Values(scopes))) }

// longest is how long a key of staff or of others may live.
func longest(staff bool) time.Duration {
	if staff {
		return staffLife
	}
	return maxLife
}

// expiry is when the key ends; the zero time is never.
func (d *Draft) expiry(now time.Time) time.Time {
	switch {
	case d.Forever:
		return time.Time{}
	case d.ExpiresAt != nil:
		return *d.ExpiresAt
	}
	return now.Add(min(life, longest(d.Staff)))
}

// heir is the key that takes the place of one.
func (k Key) heir(now time.Time, creator string, staff bool) Key {
	old := k.ID
	switch most := longest(staff); {
	case !k.ExpiresAt.IsZero():
		k.ExpiresAt = iso.At(now.Add(min(most, k.ExpiresAt.Sub(k.CreatedAt.Time))))
	case staff:
		k.ExpiresAt = iso.At(now.Add(most))
	}
	// Whoever rotates sees the value: it is no longer one that a device alone has.
	k.Kind, k.Creator, k.RevokedAt, k.LastUsedAt, k.LastUsedIP, k.RotatedFrom, k.Staff = API, creator, iso.Moment{}, iso.Moment{}, nil, &old, staff
	return k
}

// state is whether a key works, by what it rests on: whether its maker's account is alive, and whether they have stayed.
func (k Key) state(now time.Time, alive, stayed bool) string {
	ended := func(at time.Time) bool { return !at.IsZero() && !now.Before(at) }
	switch {
	case !stayed:
		return Orphaned
	case ended(k.RevokedAt.Time) || ended(k.ExpiresAt.Time):
		return Expired
	case !alive:
		return Suspended
	}
	return Live
}

// insert gives a key its id and value.
func (k *Key) insert(tx *sqldb.Tx, now time.Time, from string) (value string, err error) {
	value, k.Prefix = makeValue()
	k.ID, k.Last4, k.CreatedAt, k.State = "key_"+ulid.Make().String(), value[len(value)-4:], iso.At(now), Live
	scopes, err := json.Marshal(k.Scopes)
	if err != nil {
		return "", err
	}
	var expires sql.NullInt64
	if !k.ExpiresAt.IsZero() {
		expires = sql.NullInt64{Int64: k.ExpiresAt.UnixMilli(), Valid: true}
	}
	return value, tx.Do("make key", `INSERT INTO api_keys (id, prefix, hash, last4, name, scopes, workspace, scope, creator, created_at, expires_at, rotated_from, staff, kind)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`, k.ID, k.Prefix, secret.Fingerprint(value), k.Last4, k.Name, string(scopes),
		k.Workspace, k.Scope, k.Creator, k.CreatedAt.UnixMilli(), expires, from, sqldb.Bit(k.Staff), k.Kind)
}

const columns = `k.id, k.prefix, k.last4, k.name, k.scopes, k.workspace, k.scope, k.creator, k.created_at, k.expires_at, k.last_used_at, NULLIF(k.last_used_ip, ''),
	k.revoked_at, NULLIF(k.rotated_from, ''), k.staff <> 0, k.kind, k.hash`

func scan(row sqldb.Row) (k Key, err error) {
	err = row.Scan(k.fields()...)
	return k, err
}

// fields are where the columns go.
func (k *Key) fields() []any {
	return []any{
		&k.ID, &k.Prefix, &k.Last4, &k.Name, (*texts)(&k.Scopes), &k.Workspace, &k.Scope, &k.Creator, sqldb.Time(&k.CreatedAt.Time), sqldb.Time(&k.ExpiresAt.Time),
		sqldb.Time(&k.LastUsedAt.Time), &k.LastUsedIP, sqldb.Time(&k.RevokedAt.Time), &k.RotatedFrom, &k.Staff, &k.Kind, &k.hash,
	}
}

// remained is whether the maker m of a key has been in its workspace since, or as an account a is still of the staff that it was made by.
const remained = `CASE WHEN k.staff <> 0 THEN COALESCE(a.service_role = '` + account.RoleAdmin + `', FALSE) ELSE COALESCE(m.created_at <= k.created_at, FALSE) END`

// listed are keys with what their state follows from.
const listed = "SELECT " + columns + ", COALESCE(a.username, ''), COALESCE(a.suspended_at IS NULL AND a.deleted_at IS NULL, FALSE), " + remained + ` FROM api_keys k
	LEFT JOIN accounts a ON a.id = k.creator LEFT JOIN members m ON m.workspace = k.workspace AND m.account = k.creator`

// scanListed reads a key as it is now.
func scanListed(now time.Time) func(sqldb.Row) (Key, error) {
	return func(row sqldb.Row) (k Key, err error) {
		var alive, stayed bool
		err = row.Scan(append(k.fields(), &k.Maker, &alive, &stayed)...)
		k.State = k.state(now, alive, stayed)
		return k, err
	}
}

// texts are stored as JSON.
type texts []string

// Scan reads them.
func (t *texts) Scan(stored any) error {
	var text sql.NullString
	if err := text.Scan(stored); err != nil {
		return err
	}
	return json.Unmarshal([]byte(text.String), t)
}

// Ends is how keys end with what they rest on, in the transaction that takes it away: account.Keys.
type Ends struct{}

// OfMaker ends all keys of an account. One that was rotated lives on for its grace, and must not.
func (Ends) OfMaker(tx *sqldb.Tx, now time.Time, account string) error {
	_, err := revoke(tx, now, "creator = $2", account)
	return err
}

// OfStaff ends the keys that somebody made by an authority which they have no more. They stay dead if it comes back.
func (Ends) OfStaff(tx *sqldb.Tx, now time.Time, account string) error {
	_, err := revoke(tx, now, "creator = $2 AND staff <> 0", account)
	return err
}

// Since ends the keys that were made for a workspace since a time, and says how many.
func (Ends) Since(tx *sqldb.Tx, now time.Time, workspace string, since time.Time) (int64, error) {
	return revoke(tx, now, "workspace = $2 AND created_at >= $3", workspace, since.UnixMilli())
}

// Erase deletes the keys of an account that is being erased.
func (Ends) Erase(tx *sqldb.Tx, account string) error {
	_, err := tx.Exec("DELETE FROM api_keys WHERE creator = $1", account)
	return err
}

// revoke ends the keys that a condition names; its first argument is $2.
func revoke(tx *sqldb.Tx, now time.Time, where string, args ...any) (int64, error) {
	n, err := tx.Exec("UPDATE api_keys SET revoked_at = $1 WHERE "+where+" AND (revoked_at IS NULL OR revoked_at > $1)", append([]any{now.UnixMilli()}, args...)...)
	if err != nil {
		return 0, fmt.Errorf("revoke keys: %w", err)
	}
	return n, nil
}
