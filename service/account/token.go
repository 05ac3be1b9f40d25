package account

import (
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/secret"
)

// What a token is for. One that was made for one thing is of no use for another.
const (
	forSignUp      = "sign_up"
	forVerifying   = "verify_email"
	forReset       = "reset_password"
	forEmailChange = "change_email"
	forEmailUndo   = "undo_email"
	forHold        = "hold_email"
	forUndelete    = "undelete"
	forSetup       = "setup"
	forLink        = "link"
	forState       = "oauth_state"
)

// Journeys that other rooms send people on.
const (
	ForManifest = "manifest_state"
	ForInstall  = "install_state"
	ForMCP      = "mcp_state"
)

// Prefixes are how the values of sessions begin, and of what goes beside them: none may stand in an address.
var Prefixes = []string{sessionPrefix, elevationPrefix, viewPrefix}

// How long tokens live.
const (
	resetLife  = 30 * time.Minute
	verifyLife = 24 * time.Hour
	undoLife   = 72 * time.Hour
	setupLife  = 24 * time.Hour
	deviceLife = 365 * day
)

// token is a thing to be used once.
type token struct {
	purpose string
	account string
	email   string
	binding int64  // the version of the password it was made under; of an undo link, that of the account
	data    string // what it carries
	life    time.Duration

	issuedAt int64 // of one that was used
}

// issue stores a token and returns its value, which is stored nowhere.
func issue(tx *sqldb.Tx, now time.Time, t token) (string, error) {
	value := secret.Random()
	return value, keep(tx, now, value, t)
}

// keep stores a token of a value that is known already.
func keep(tx *sqldb.Tx, now time.Time, value string, t token) error {
	return tx.Do("issue token", `INSERT INTO tokens (hash, purpose, account, email, binding, data, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		secret.Fingerprint(value), t.purpose, t.account, t.email, t.binding, t.data, now.UnixMilli(), now.Add(t.life).UnixMilli())
}

// redeem uses a token and gives the account that it is of, which is locked first, as everywhere: two tokens of one account
// that come at once are judged one after the other. The account of a token that has none is zero.
func redeem(tx *sqldb.Tx, now time.Time, value string, purposes ...string) (t token, p Account, err error) {
	account, err := sqldb.Value[string](tx, "find token", "SELECT COALESCE(max(account), '') FROM tokens WHERE hash = $1", secret.Fingerprint(value))
	if err != nil {
		return t, p, err
	}
	if p, _, err = locked(tx, account); err != nil {
		return t, p, err
	}
	t, found, err := use(tx, now, value, purposes...)
	if err == nil && (!found || p.ID != t.account) {
		err = invalidToken()
	}
	return t, p, err
}

// use consumes a token: of two who come with it, one finds it.
func use(tx *sqldb.Tx, now time.Time, value string, purposes ...string) (t token, found bool, err error) {
	for _, purpose := range purposes {
		t, found, err = sqldb.First(tx, "use token", scanToken, "UPDATE tokens SET used_at = $3 WHERE "+live+" RETURNING "+tokenColumns,
			secret.Fingerprint(value), purpose, now.UnixMilli())
		if found || err != nil {
			return t, found, err
		}
	}
	return t, false, nil
}

// mustUse is use that refuses a token which is not there.
func mustUse(tx *sqldb.Tx, now time.Time, value, purpose string) error {
	_, found, err := use(tx, now, value, purpose)
	if err == nil && !found {
		err = invalidToken()
	}
	return err
}

// peek looks at a token without using it, and refuses one that is not there.
func peek(tx *sqldb.Tx, now time.Time, value, purpose string) (token, error) {
	t, found, err := sqldb.First(tx, "find token", scanToken, "SELECT "+tokenColumns+" FROM tokens WHERE "+live, secret.Fingerprint(value), purpose, now.UnixMilli())
	if err == nil && !found {
		err = invalidToken()
	}
	return t, err
}

const (
	tokenColumns = "purpose, account, email, binding, data, created_at"
	live         = "hash = $1 AND purpose = $2 AND used_at IS NULL AND expires_at > $3"
)

func scanToken(row sqldb.Row) (t token, err error) {
	err = row.Scan(&t.purpose, &t.account, &t.email, &t.binding, &t.data, &t.issuedAt)
	return t, err
}

// void makes tokens of an account useless.
func void(tx *sqldb.Tx, now time.Time, account string, purposes ...string) error {
	for _, purpose := range purposes {
		if err := tx.Do("void tokens", "UPDATE tokens SET used_at = $3 WHERE account = $1 AND purpose = $2 AND used_at IS NULL",
			account, purpose, now.UnixMilli()); err != nil {
			return err
		}
	}
	return nil
}
