package account

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/oklog/ulid/v2"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/audit"
)

// The states of an identity. A revoked one has no tokens; its person still comes in by it, and is then connected again.
const (
	connected = "connected"
	revoked   = "revoked"
)

// Identity is a way into an account that a provider vouches for.
type Identity struct {
	ID       string     `json:"id" id:"idn"`
	Provider string     `json:"provider"`
	Issuer   string     `json:"issuer"`
	Login    string     `json:"login"` // as it was when the person last came in; no identity follows from it
	Status   string     `json:"status" enum:"connected revoked"`
	LinkedAt iso.Moment `json:"linkedAt"`
}

// identity is whose a visitor's key is.
type identity struct {
	id      string
	account string
}

// findIdentity asks for issuer and subject, and for nothing else.
func findIdentity(tx *sqldb.Tx, v visitor) (id identity, found bool, err error) {
	err = tx.QueryRow("SELECT id, account FROM identities WHERE provider = $1 AND issuer = $2 AND subject = $3", v.Provider, v.Issuer, v.Subject).
		Scan(&id.id, &id.account)
	if errors.Is(err, sql.ErrNoRows) {
		return id, false, nil
	}
	if err != nil {
		return id, false, fmt.Errorf("find identity: %w", err)
	}
	return id, true, nil
}

// addIdentity gives an account a new identity with its tokens. It is errTaken when another account got it first.
func (a *Accounts) addIdentity(tx *sqldb.Tx, account string, v visitor) (string, error) {
	id, now := "idn_"+ulid.Make().String(), a.Now().UnixMilli()
	n, err := tx.Exec(`INSERT INTO identities (id, provider, issuer, subject, account, login, no_email, status, linked_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9) ON CONFLICT (provider, issuer, subject) DO NOTHING`,
		id, v.Provider, v.Issuer, v.Subject, account, v.Login, bit(v.NoEmail), connected, now)
	if err != nil {
		return "", fmt.Errorf("add identity: %w", err)
	}
	if n == 0 {
		return "", errTaken
	}
	return id, a.keepGrant(tx, account, id, v.Grant)
}

func identityEvent(p Account, id, action string) audit.Event {
	return audit.Event{Actor: p.Actor(), Action: action, Target: audit.Target{Kind: "identity", ID: id}, Scope: p.scope()}
}

// Identities lists the ways into an account that providers vouch for, the oldest first.
func (a *Accounts) Identities(ctx context.Context, who Who) (all []Identity, err error) {
	err = a.db.Read(ctx, func(tx *sqldb.Tx) (err error) {
		all, err = identitiesOf(tx, who.Account.ID)
		return err
	})
	return all, err
}

func identitiesOf(tx *sqldb.Tx, account string) ([]Identity, error) {
	all, err := sqldb.Collect(tx, scanIdentity, "SELECT id, provider, issuer, login, status, linked_at FROM identities WHERE account = $1 ORDER BY linked_at, id", account)
	if err != nil {
		return nil, fmt.Errorf("list identities: %w", err)
	}
	return all, nil
}

func scanIdentity(row sqldb.Row) (i Identity, err error) {
	var at int64
	err = row.Scan(&i.ID, &i.Provider, &i.Issuer, &i.Login, &i.Status, &at)
	i.LinkedAt = iso.Millis(at)
	return i, err
}

func (a *Accounts) removeIdentity(tx *sqldb.Tx, account, id string) error {
	if _, err := tx.Exec("DELETE FROM identities WHERE id = $1 AND account = $2", id, account); err != nil {
		return fmt.Errorf("remove identity: %w", err)
	}
	_, err := a.Secrets.Delete(tx, ofAccount(account), grantName(id))
	return err
}

// dropIdentities removes the identities of an account that a condition names, with their tokens.
func (a *Accounts) dropIdentities(tx *sqldb.Tx, account string, named func(Identity) bool) error {
	all, err := identitiesOf(tx, account)
	if err != nil {
		return err
	}
	for _, i := range all {
		if !named(i) {
			continue
		}
		if err := a.removeIdentity(tx, account, i.ID); err != nil {
			return err
		}
	}
	return nil
}

// revokeIdentity notes that a provider no longer accepts the tokens of an identity. The account stays, and so does the way
// into it: the person allows it again when they next come in.
func (a *Accounts) revokeIdentity(ctx context.Context, tx *sqldb.Tx, p Account, id string, by audit.Actor) error {
	n, err := tx.Exec("UPDATE identities SET status = $3, lease = '', refreshing_until = 0 WHERE id = $1 AND account = $2", id, p.ID, revoked)
	if err != nil {
		return fmt.Errorf("revoke identity: %w", err)
	}
	if n == 0 {
		return nil
	}
	if _, err := a.Secrets.Delete(tx, ofAccount(p.ID), grantName(id)); err != nil {
		return err
	}
	e := identityEvent(p, id, "identity.revoked")
	e.Actor = by
	return a.Audit.Append(ctx, tx, e)
}
