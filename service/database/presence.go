package database

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

// NodeIn is the id of the node whose data folder this is; empty: it has none yet. Unlike Folder.Node it makes none.
func NodeIn(folder string) string {
	text, err := os.ReadFile(filepath.Join(folder, "node"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// PublicNode is a node's id as strangers may hear it.
func PublicNode(id string) string {
	sum := sha256.Sum256([]byte("svc node " + id))
	return hex.EncodeToString(sum[:8])
}

// Presence is a process of the service that is connected to the database.
type Presence struct {
	Part string // serve, gateway or runtime
	Node string
}

// Works reports whether it does the work of agents and runs.
func (p Presence) Works() bool { return p.Part != "gateway" }

// presentAs begins the name under which a process's connections stand in PostgreSQL, so that nodes know of each other: its part
// and its node follow.
const presentAs = "svc "

// Named is the address of a database with the process's name for its connections, unless the operator chose another.
func Named(address, part, node string) string {
	u, err := url.Parse(address)
	if err != nil || !IsPostgres(address) || node == "" {
		return address
	}
	if u.Query().Has("application_name") {
		return address
	}
	if u.RawQuery != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += "application_name=" + url.PathEscape(presentAs+part+" "+node)
	return u.String()
}

// Present are the processes that are connected to this PostgreSQL database now, sorted.
func Present(tx *sqldb.Tx) ([]Presence, error) {
	all, err := sqldb.Collect(tx, scanPresence, `SELECT DISTINCT application_name FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE $1`, presentAs+"% node%")
	slices.SortFunc(all, func(a, b Presence) int { return strings.Compare(a.Part+a.Node, b.Part+b.Node) })
	return all, err
}

func scanPresence(row sqldb.Row) (Presence, error) {
	name, err := sqldb.Column[string](row)
	part, node, _ := strings.Cut(strings.TrimPrefix(name, presentAs), " ")
	return Presence{part, node}, err
}
