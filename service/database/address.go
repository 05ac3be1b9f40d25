package database

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// IsPostgres reports whether an address is one of PostgreSQL. Any other is a file of SQLite.
func IsPostgres(address string) bool {
	return strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://")
}

// SQLitePath is the file of an sqlite: address.
func SQLitePath(address string) string {
	path := strings.TrimPrefix(address, "sqlite:")
	if rest, found := strings.CutPrefix(path, "//"); found {
		return rest
	}
	return path
}

// LiesIn reports whether a file's folder is that folder, under whatever name.
func LiesIn(file, folder string) bool {
	a, err := os.Stat(filepath.Dir(file))
	if err != nil {
		return false
	}
	b, err := os.Stat(folder)
	return err == nil && os.SameFile(a, b)
}

// Shown is an address without its user, password and options.
func Shown(address string) string {
	if !IsPostgres(address) {
		return address
	}
	u, err := url.Parse(address)
	if err != nil {
		return "postgres://…"
	}
	return u.Scheme + "://" + u.Host + u.Path
}
