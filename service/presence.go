package service

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"svc.dev/svc/internal/sqldb"
)

// nodeIn is the id of the node whose data folder this is; empty: it has none yet. Unlike Folder.Node it makes none.
func nodeIn(folder string) string {
	text, err := os.ReadFile(filepath.Join(folder, "node"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// publicNode is a node's id as strangers may hear it.
func publicNode(id string) string {
	sum := sha256.Sum256([]byte("svc node " + id))
	return hex.EncodeToString(sum[:8])
}

// presence is a process of the service that is connected to the database.
type presence struct {
	part string // serve, gateway or runtime
	node string
}

// presentAs begins the name under which a process's connections stand in PostgreSQL, so that nodes know of each other: its part
// and its node follow.
const presentAs = "svc "

// named is the address of a database with the process's name for its connections, unless the operator chose another.
func (p part) named(address, node string) string {
	u, err := url.Parse(address)
	if err != nil || !isPostgres(address) || node == "" {
		return address
	}
	if u.Query().Has("application_name") {
		return address
	}
	if u.RawQuery != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += "application_name=" + url.PathEscape(presentAs+p.name+" "+node)
	return u.String()
}

// present are the processes that are connected to this PostgreSQL database now, sorted.
func present(tx *sqldb.Tx) ([]presence, error) {
	rows, err := tx.Query(`SELECT DISTINCT application_name FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE $1`, presentAs+"% node%")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []presence
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		part, node, _ := strings.Cut(strings.TrimPrefix(name, presentAs), " ")
		all = append(all, presence{part, node})
	}
	slices.SortFunc(all, func(a, b presence) int { return strings.Compare(a.part+a.node, b.part+b.node) })
	return all, rows.Err()
}
