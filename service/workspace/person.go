package workspace

import (
	"fmt"
	"slices"
	"time"

	"svc.dev/svc/internal/sqldb"
)

// Person is what accounts know of somebody.
type Person struct {
	Username    string
	DisplayName string
	LastSeenAt  time.Time // zero: never
	Active      bool      // neither suspended nor deleted
	Staff       string    // their role over the whole service, if any
}

// lookup is who some accounts are. Those that are gone are left out.
func lookup(tx *sqldb.Tx, ids ...string) (map[string]Person, error) {
	found := map[string]Person{}
	if len(ids) == 0 {
		return found, nil
	}
	slices.Sort(ids)
	marks, args := sqldb.List(slices.Compact(ids))
	_, err := sqldb.Collect(tx, func(row sqldb.Row) (p Person, err error) {
		var id string
		err = row.Scan(&id, &p.Username, &p.DisplayName, &p.Active, &p.Staff, sqldb.Time(&p.LastSeenAt))
		found[id] = p
		return p, err
	}, `SELECT a.id, a.username, a.display_name, a.suspended_at IS NULL, CASE a.service_role WHEN 'none' THEN '' ELSE a.service_role END,
		(SELECT max(s.last_seen_at) FROM sessions s WHERE s.account = a.id)
		FROM accounts a WHERE a.deleted_at IS NULL AND a.id IN (`+marks+`)`, args...)
	if err != nil {
		return nil, fmt.Errorf("look up people: %w", err)
	}
	return found, nil
}
