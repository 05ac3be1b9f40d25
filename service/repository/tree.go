package repository

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/project"
)

// Why something of a repository is left out.
const (
	SkipLink      = "symlink"
	SkipSubmodule = "submodule"
	SkipPath      = "path"
	SkipTooLarge  = "too_large"
	SkipKind      = "kind"
)

// Skip is something of a repository that cannot be a file of a project.
type Skip struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// leaf is a file of a commit.
type leaf struct {
	path   string
	object string
	bytes  int64
	met    bool // a row here has its path
}

// tree is what a commit holds.
type tree struct {
	files   map[string]leaf
	skipped []Skip
	left    int // how many were skipped in all
}

// maxNamed is how many paths of a kind a pull names.
const maxNamed = 1000

func (t *tree) skip(path, reason string) {
	if t.left++; len(t.skipped) < maxNamed {
		t.skipped = append(t.skipped, Skip{strings.ToValidUTF8(path, "\uFFFD"), reason})
	}
}

// list reads the tree of a commit; one of more files than a project can have, or than there is room for, is refused.
func (f *remote) list(ctx context.Context, commit string, maxFile, maxFiles int64, room names) (*tree, error) {
	ctx, end := context.WithCancel(ctx)
	defer end() // a tree may hold itself a billion times
	c := f.command(ctx, false, "ls-tree", "-r", "-z", "--long", "--full-tree", commit)
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var said bounded
	said.left, c.Stderr = maxSaid, &said
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("start git: %w", err)
	}
	t, err := readTree(out, maxFile, maxFiles, room)
	if err != nil {
		end()
		_ = c.Wait()
		return nil, err
	}
	if err := c.Wait(); err != nil {
		return nil, unavailable("failed", f.trouble(ctx, "ls-tree", said.String(), err))
	}
	return t, nil
}

// maxLine is longer than the line of any path that git can have and we can take.
const maxLine = 16 << 10

func readTree(r io.Reader, maxFile, maxFiles int64, room names) (*tree, error) {
	t := &tree{files: map[string]leaf{}}
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 4096), maxLine)
	lines.Split(splitZero)
	for n := int64(0); lines.Scan(); n++ {
		if n >= maxFiles {
			return nil, fault.New(fault.BodyTooLarge, "The repository has too many files.", "").With("limit", maxFiles)
		}
		if err := room.take(len(lines.Bytes())); err != nil {
			return nil, err
		}
		if err := t.add(lines.Text(), maxFile); err != nil {
			return nil, err
		}
	}
	if err := lines.Err(); err != nil {
		return nil, unavailable("failed", fmt.Errorf("read tree: %w", err))
	}
	return t, nil
}

// splitZero splits at zero bytes.
func splitZero(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return 0, nil, io.ErrUnexpectedEOF
	}
	return 0, nil, nil
}

// add takes one line: mode, type, object and size, a tab, and the path.
func (t *tree) add(line string, maxFile int64) error {
	head, path, found := strings.Cut(line, "\t")
	fields := strings.Fields(head)
	if !found || len(fields) != 4 {
		return unavailable("failed", errors.New("read tree: a line is not one"))
	}
	mode, kind, object := fields[0], fields[1], fields[2]
	size, err := strconv.ParseInt(fields[3], 10, 64)
	_, twice := t.files[path]
	switch {
	case mode == "160000" || kind == "commit":
		t.skip(path, SkipSubmodule)
	case mode == "120000":
		t.skip(path, SkipLink)
	case kind != "blob" || err != nil || !objectName.MatchString(object):
		t.skip(path, SkipKind)
	case project.CheckPath(path) != nil || slices.ContainsFunc(strings.Split(path, "/"), isGit) || twice:
		t.skip(path, SkipPath)
	case size > maxFile:
		t.skip(path, SkipTooLarge)
	default:
		t.files[path] = leaf{path: path, object: object, bytes: size}
	}
	return nil
}

// isGit reports whether a name is that of git's own folder for some file system: one that knows no case, one that drops
// dots and spaces at the end, one that has short names, or one that does not see some characters.
func isGit(segment string) bool {
	name := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, segment)
	name, _, _ = strings.Cut(name, ":")
	name = strings.TrimRight(name, ". ")
	return strings.EqualFold(name, ".git") || strings.EqualFold(name, "git~1")
}
