package account

import (
	"database/sql"
	"fmt"
	"strings"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/workspace"
)

// Colleagues are who some accounts are to those who work with them. Accounts that are gone are left out.
func (a *Accounts) Colleagues(tx *sqldb.Tx, ids []string) (map[string]workspace.Person, error) {
	found := map[string]workspace.Person{}
	if len(ids) == 0 {
		return found, nil
	}
	marks, args := list(ids)
	rows, err := tx.Query(`SELECT a.id, a.username, a.display_name, a.suspended_at IS NULL, a.service_role, (SELECT max(s.last_seen_at) FROM sessions s WHERE s.account = a.id)
		FROM accounts a WHERE a.deleted_at IS NULL AND a.id IN (`+marks+`)`, args...)
	if err != nil {
		return nil, fmt.Errorf("find colleagues: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var p workspace.Person
		var seen sql.NullInt64
		if err := rows.Scan(&id, &p.Username, &p.DisplayName, &p.Active, &p.Staff, &seen); err != nil {
			return nil, fmt.Errorf("find colleagues: %w", err)
		}
		if p.Staff == RoleNone {
			p.Staff = ""
		}
		if seen.Valid {
			p.LastSeenAt = time.UnixMilli(seen.Int64)
		}
		found[id] = p
	}
	return found, rows.Err()
}

// Addresses are the verified e-mail addresses of some accounts. Accounts that are suspended or gone have none.
func (a *Accounts) Addresses(tx *sqldb.Tx, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	marks, args := list(ids)
	addresses, err := sqldb.Collect(tx, sqldb.Column[string], `SELECT email FROM accounts WHERE email IS NOT NULL AND email_verified = 1 AND suspended_at IS NULL AND deleted_at IS NULL
		AND id IN (`+marks+`) ORDER BY id`, args...)
	if err != nil {
		return nil, fmt.Errorf("find addresses: %w", err)
	}
	return addresses, nil
}

// list is the parameters of a statement that asks for some ids.
func list(ids []string) (marks string, args []any) {
	all := make([]string, len(ids))
	for i, id := range ids {
		all[i], args = fmt.Sprintf("$%d", i+1), append(args, id)
	}
	return strings.Join(all, ", "), args
}
