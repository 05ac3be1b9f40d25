package account

import (
	"fmt"

	"svc.dev/svc/internal/sqldb"
)

// acting is the account of somebody signed in, locked, in the transaction of what they do. Somebody who was put out since their
// request began does nothing more: what ends a session has locked the account too, and is seen from here.
func acting(tx *sqldb.Tx, who Who) (Account, error) {
	p, found, err := locked(tx, who.Account.ID)
	if err != nil {
		return p, err
	}
	if !found || !p.alive() {
		return p, unauthenticated()
	}
	return p, stillSignedIn(tx, who)
}

// stillSignedIn refuses a session that has ended.
func stillSignedIn(tx *sqldb.Tx, who Who) error {
	var lives bool
	err := tx.QueryRow("SELECT EXISTS (SELECT 1 FROM sessions WHERE id = $1 AND revoked_at IS NULL)", who.Session.ID).Scan(&lives)
	if err != nil {
		return fmt.Errorf("find session: %w", err)
	}
	if !lives {
		return unauthenticated()
	}
	return nil
}
