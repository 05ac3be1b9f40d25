package sqldb

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// address is where a database lies: a path on SQLite, a URL on PostgreSQL.
type address struct {
	dialect Dialect
	path    string
	url     string
}

// parseAddress never repeats an address in its errors: it may hold a password.
func parseAddress(s string) (address, error) {
	scheme, rest, found := strings.Cut(s, ":")
	switch {
	case s == "":
		return address{}, errors.New("address is empty: write sqlite:PATH or postgres://…")
	case !found || strings.ContainsAny(scheme, "/\\.@= "):
		return address{}, errors.New("address has no scheme: write sqlite:PATH for a file")
	case scheme == "sqlite":
		path, err := sqlitePath(rest)
		return address{dialect: SQLite, path: path}, err
	case (scheme == "postgres" || scheme == "postgresql") && strings.HasPrefix(rest, "//"):
		return address{dialect: Postgres, url: s}, nil
	case scheme == "postgres" || scheme == "postgresql":
		return address{}, fmt.Errorf("address is not complete: write %s://USER@HOST/DATABASE", scheme)
	}
	return address{}, fmt.Errorf("scheme %q is not known: write sqlite:PATH or postgres://…", scheme)
}

// sqlitePath takes a path literally: "%20" and "?" are part of its name.
func sqlitePath(s string) (string, error) {
	if rest, found := strings.CutPrefix(s, "//"); found {
		if !strings.HasPrefix(rest, "/") {
			return "", errors.New("address names a host: write sqlite:PATH or sqlite:///PATH")
		}
		s = rest
	}
	switch {
	case s == "":
		return "", errors.New("address has no path: write sqlite:PATH")
	case strings.ContainsRune(s, 0):
		return "", errors.New("path holds a zero byte")
	case s == ":memory:" || strings.HasSuffix(s, "/"):
		return "", fmt.Errorf("path %q is not a file: write sqlite:PATH", s)
	}
	return s, nil
}

// resolve makes a path absolute and follows links, so that one file has one lock under all its names.
func resolve(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real, nil
	}
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	folder, err = filepath.EvalSymlinks(folder)
	if err != nil {
		return "", err
	}
	return filepath.Join(folder, filepath.Base(path)), nil
}
