package account

import (
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"svc.dev/svc/internal/sqldb"
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
	forManifest    = "manifest_state"
	forInstall     = "install_state"
)

// Prefixes are how credentials begin that a client shows with every request: none may stand in an address.
var Prefixes = []string{keyPrefix, sessionPrefix, elevationPrefix, viewPrefix}

// How long tokens live.
const (
	resetLife  = 30 * time.Minute
	verifyLife = 24 * time.Hour
	undoLife   = 72 * time.Hour
	setupLife  = 24 * time.Hour
	deviceLife = 365 * day
)

// random is 256 bits that nobody can guess.
func random() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// fingerprint is what is stored of a value that has enough entropy of its own.
func fingerprint(value string) string {
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:])
}

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
func (a *Accounts) issue(tx *sqldb.Tx, t token) (string, error) {
	value := random()
	return value, a.keep(tx, value, t)
}

// keep stores a token of a value that is known already.
func (a *Accounts) keep(tx *sqldb.Tx, value string, t token) error {
	now := a.Now()
	_, err := tx.Exec(`INSERT INTO tokens (hash, purpose, account, email, binding, data, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		fingerprint(value), t.purpose, t.account, t.email, t.binding, t.data, now.UnixMilli(), now.Add(t.life).UnixMilli())
	if err != nil {
		return fmt.Errorf("issue token: %w", err)
	}
	return nil
}

// redeem uses a token and gives the account that it is of, which is locked first, as everywhere: two tokens of one account
// that come at once are judged one after the other. The account of a token that has none is zero.
func (a *Accounts) redeem(tx *sqldb.Tx, value string, purposes ...string) (t token, p Account, found bool, err error) {
	var account string
	err = tx.QueryRow("SELECT COALESCE(max(account), '') FROM tokens WHERE hash = $1", fingerprint(value)).Scan(&account)
	if err != nil {
		return t, p, false, fmt.Errorf("find token: %w", err)
	}
	if p, _, err = locked(tx, account); err != nil {
		return t, p, false, err
	}
	t, found, err = a.use(tx, value, purposes...)
	return t, p, found && p.ID == t.account, err
}

// use consumes a token: of two who come with it, one finds it.
func (a *Accounts) use(tx *sqldb.Tx, value string, purposes ...string) (token, bool, error) {
	var t token
	for _, purpose := range purposes {
		err := tx.QueryRow(`UPDATE tokens SET used_at = $3 WHERE hash = $1 AND purpose = $2 AND used_at IS NULL AND expires_at > $3
			RETURNING purpose, account, email, binding, data, created_at`, fingerprint(value), purpose, a.Now().UnixMilli()).
			Scan(&t.purpose, &t.account, &t.email, &t.binding, &t.data, &t.issuedAt)
		if err == nil {
			return t, true, nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return t, false, fmt.Errorf("use token: %w", err)
		}
	}
	return t, false, nil
}

// void makes tokens of an account useless.
func (a *Accounts) void(tx *sqldb.Tx, account string, purposes ...string) error {
	for _, purpose := range purposes {
		if _, err := tx.Exec("UPDATE tokens SET used_at = $3 WHERE account = $1 AND purpose = $2 AND used_at IS NULL",
			account, purpose, a.Now().UnixMilli()); err != nil {
			return fmt.Errorf("void tokens: %w", err)
		}
	}
	return nil
}
