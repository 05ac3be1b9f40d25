package project

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb"
)

// FileQuery asks for some files of a project.
type FileQuery struct {
	// Prefix is how every path begins. Defaults to all.
	Prefix string
	// Folded gives a folder instead of all that lies in it: what comes is one level below the last slash of Prefix.
	Folded bool
	// Query says which page; its Q is not looked at.
	listing.Query
}

// Files lists files of a project by their paths, byte by byte.
func (p *Projects) Files(ctx context.Context, o Owner, slug string, q FileQuery) (page listing.Page[File], err error) {
	if len(q.Prefix) > maxPath || !utf8.ValidString(q.Prefix) || strings.ContainsRune(q.Prefix, 0) {
		return page, invalidPath("No path begins like this.")
	}
	after := mark{Path: q.Prefix, Self: true}
	if err := q.After(&after.Path, &after.Self); err != nil {
		return page, err
	}
	// Paths before the prefix need not even be as long as it.
	if after.Path < q.Prefix {
		return page, listing.NotGiven()
	}
	return sqldb.Snapshot(ctx, p.DB, func(tx *sqldb.Tx) (page listing.Page[File], err error) {
		r, err := Find(tx, o, slug)
		if err != nil {
			return page, err
		}
		all, err := q.list(tx, r.ID, after, q.Size()+1)
		if err != nil {
			return page, fmt.Errorf("list files: %w", err)
		}
		return listing.Cut(all, q.Size(), placeOfFile), nil
	})
}

// mark is where the next entry is looked for: behind a path, or from it on.
type mark struct {
	Path string
	Self bool
}

// markAfter passes over all that lies in a folder.
func markAfter(f File) mark {
	if f.Kind == KindFolder {
		_, before := inFolder(f.Path)
		return mark{before, true}
	}
	return mark{f.Path, false}
}

func placeOfFile(f File) []any {
	after := markAfter(f)
	return []any{after.Path, after.Self}
}

// list gathers entries; each folder it meets is one query more.
func (q FileQuery) list(tx *sqldb.Tx, project string, after mark, limit int) (all []File, err error) {
	for len(all) < limit {
		rows, err := q.rows(tx, project, after, limit-len(all))
		if err != nil || len(rows) == 0 {
			return all, err
		}
		want := limit - len(all)
		for _, e := range rows {
			f := q.fold(e)
			all = append(all, f)
			after = markAfter(f)
			if f.Kind == KindFolder {
				break
			}
		}
		if last := all[len(all)-1]; last.Kind != KindFolder && len(rows) < want {
			return all, nil
		}
	}
	return all, nil
}

// fold makes a folder of what lies in one.
func (q FileQuery) fold(e entry) File {
	base := strings.LastIndexByte(q.Prefix, '/') + 1
	if i := strings.IndexByte(e.path[base:], '/'); q.Folded && i >= 0 {
		return File{Path: e.path[:base+i], Kind: KindFolder}
	}
	return e.file()
}

func (q FileQuery) rows(tx *sqldb.Tx, project string, after mark, limit int) ([]entry, error) {
	compare := ">"
	if after.Self {
		compare = ">="
	}
	args := []any{project, after.Path, limit}
	bound := ""
	if end, ok := endOf(q.Prefix); ok {
		bound, args = " AND path < $4", append(args, end)
	}
	return sqldb.Collect(tx, scanEntry, "SELECT "+entryColumns+" FROM project_files WHERE project = $1 AND path "+compare+" $2"+bound+
		" ORDER BY path LIMIT $3", args...)
}

// endOf is the first text after all that begin with the prefix; false where there is none. It is valid UTF-8, whose order
// is that of its code points.
func endOf(prefix string) (string, bool) {
	runes := []rune(prefix)
	for len(runes) > 0 {
		last := len(runes) - 1
		switch runes[last]++; {
		case runes[last] == 0xD800:
			runes[last] = 0xE000 // surrogates are no characters
			return string(runes), true
		case runes[last] <= utf8.MaxRune:
			return string(runes), true
		}
		runes = runes[:last]
	}
	return "", false
}
