package database

import (
	"context"
	"embed"
	"fmt"
	"slices"
	"strings"

	"svc.dev/svc/internal/sqldb"
)

//go:embed migrations
var migrations embed.FS

// Migrations are the tables of this room.
var Migrations = sqldb.NewRoom("node", migrations)

// Bundle is which project a node works with.
type Bundle struct {
	Node string // empty: the one that would start with this configuration
	Hash string // of the script; empty: there is no project
}

// String is the bundle as people tell it from another.
func (b Bundle) String() string {
	if b.Hash == "" {
		return "no project"
	}
	return "bundle " + b.Hash[:min(len(b.Hash), 12)]
}

// TellBundle writes down which project this node works with, for the others, and forgets the nodes that are gone.
func TellBundle(ctx context.Context, db *sqldb.DB, mine Bundle) error {
	err := db.Write(ctx, func(tx *sqldb.Tx) error {
		here, err := Present(tx)
		if err != nil {
			return err
		}
		told, err := bundles(tx)
		if err != nil {
			return err
		}
		for _, b := range told {
			if !slices.ContainsFunc(here, func(p Presence) bool { return p.Node == b.Node }) {
				if _, err := tx.Exec("DELETE FROM node_bundles WHERE node = $1", b.Node); err != nil {
					return err
				}
			}
		}
		_, err = tx.Exec("INSERT INTO node_bundles (node, hash) VALUES ($1, $2) ON CONFLICT (node) DO UPDATE SET hash = excluded.hash", mine.Node, mine.Hash)
		return err
	})
	if err != nil {
		return fmt.Errorf("tell which project runs here: %w", err)
	}
	return nil
}

// Bundles are those of the nodes that are connected to this PostgreSQL database and work, by node.
func Bundles(tx *sqldb.Tx) ([]Bundle, error) {
	here, err := Present(tx)
	if err != nil {
		return nil, err
	}
	told, err := bundles(tx)
	working := func(b Bundle) bool {
		return slices.ContainsFunc(here, func(p Presence) bool { return p.Node == b.Node && p.Works() })
	}
	return slices.DeleteFunc(told, func(b Bundle) bool { return !working(b) }), err
}

func bundles(tx *sqldb.Tx) ([]Bundle, error) {
	return sqldb.Collect(tx, func(row sqldb.Row) (b Bundle, err error) { return b, row.Scan(&b.Node, &b.Hash) }, "SELECT node, hash FROM node_bundles ORDER BY node")
}

// Apart says how the bundles of nodes differ, and is empty where they are one.
func Apart(all []Bundle) string {
	var each []string
	for _, b := range all {
		name := "this configuration"
		if b.Node != "" {
			name = PublicNode(b.Node)
		}
		each = append(each, name+" has "+b.String())
	}
	if len(all) == 0 || !slices.ContainsFunc(all, func(b Bundle) bool { return b.Hash != all[0].Hash }) {
		return ""
	}
	return strings.Join(each, ", ")
}
