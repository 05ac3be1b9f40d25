package project

import (
	"encoding/json"
	"os"
	"strings"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
)

// The kinds of entries in a list of files.
const (
	KindFile   = "file"
	KindFolder = "folder"
)

// File is an entry of a project's index. Folders are there only as long as they hold a file, and have a path alone.
type File struct {
	Path      string
	Kind      string
	Bytes     int64
	ETag      string // strong, as a header holds it
	UpdatedAt time.Time
	UpdatedBy audit.Actor
	Agent     string // that wrote it in the name of UpdatedBy; empty: they did themselves
}

// Condition is what a change of a file depends on, as the headers If-Match and If-None-Match say it. The zero value is none.
type Condition struct {
	Match     string // etags, of which the file must have one, or *: it must be there
	NoneMatch string // etags, of which the file must have none, or *: it must not be there
}

// Holds looks at the etag of what is there, without its quotes; "" where nothing is.
func (c Condition) Holds(etag string) bool {
	if c.Match != "" && !listed(c.Match, etag, false) {
		return false
	}
	return c.NoneMatch == "" || !listed(c.NoneMatch, etag, true)
}

// listed reports whether a header names the etag. Where it is compared strongly a weak one never matches.
func listed(header, etag string, weak bool) bool {
	if etag == "" {
		return false
	}
	for one := range strings.SplitSeq(header, ",") {
		one = strings.TrimSpace(one)
		if weak {
			one = strings.TrimPrefix(one, "W/")
		}
		if one == "*" || one == quote(etag) {
			return true
		}
	}
	return false
}

// entry is a row of the index.
type entry struct {
	path  string
	bytes int64
	etag  string // hexadecimal; "": there is no such file
	mtime int64
	at    int64
	by    string
}

func (e entry) there() bool { return e.etag != "" }

func (e entry) file() File {
	return File{
		Path: e.path, Kind: KindFile, Bytes: e.bytes, ETag: quote(e.etag),
		UpdatedAt: time.UnixMilli(e.at).UTC(), UpdatedBy: parseActor(e.by), Agent: agentIn(e.by),
	}
}

// is reports whether a file on disk is the one of the entry.
func (e entry) is(info os.FileInfo) bool {
	return e.there() && info.Size() == e.bytes && info.ModTime().UnixNano() == e.mtime
}

const entryColumns = "path, bytes, etag, mtime, updated_at, updated_by"

func scanEntry(row sqldb.Row) (e entry, err error) {
	err = row.Scan(&e.path, &e.bytes, &e.etag, &e.mtime, &e.at, &e.by)
	return e, err
}

// entryOf is the row of a path, and one that is not there where there is none.
func entryOf(tx *sqldb.Tx, project, path string) (entry, error) {
	e, _, err := sqldb.First(tx, "find file", scanEntry, "SELECT "+entryColumns+" FROM project_files WHERE project = $1 AND path = $2", project, path)
	e.path = path
	return e, err
}

// put writes a row, over the one that is there.
func (e entry) put(tx *sqldb.Tx, project string) error {
	return tx.Do("index file", `INSERT INTO project_files (project, path, bytes, etag, mtime, updated_at, updated_by) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (project, path) DO UPDATE SET bytes = excluded.bytes, etag = excluded.etag, mtime = excluded.mtime,
			updated_at = excluded.updated_at, updated_by = excluded.updated_by`, project, e.path, e.bytes, e.etag, e.mtime, e.at, e.by)
}

func dropEntry(tx *sqldb.Tx, project, path string) error {
	return tx.Do("drop file", "DELETE FROM project_files WHERE project = $1 AND path = $2", project, path)
}

// authorText is an actor as a row keeps it, and the agent that acts in their name. What is read by the version before has no agent.
func authorText(by audit.Actor, agent string) string {
	parts := []string{by.Kind, by.ID, by.Username}
	if agent != "" {
		parts = append(parts, agent)
	}
	text, _ := json.Marshal(parts) // texts always marshal
	return string(text)
}

func agentIn(text string) string {
	var parts [4]string
	_ = json.Unmarshal([]byte(text), &parts) // what cannot be read is nobody
	return parts[3]
}

func parseActor(text string) audit.Actor {
	var parts [3]string
	_ = json.Unmarshal([]byte(text), &parts) // what cannot be read is nobody
	return audit.Actor{Kind: parts[0], ID: parts[1], Username: parts[2]}
}
