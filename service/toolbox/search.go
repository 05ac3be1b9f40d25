package toolbox

import (
	"context"
	"regexp"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/service/project"
)

// Bounds of one search.
const (
	maxPattern  = 1 << 10
	maxContext  = 5
	maxFound    = 100
	maxSearched = 1000     // files
	maxScanned  = 64 << 20 // bytes
)

type searching struct {
	Project    string `json:"project" jsonschema:"The project's slug."`
	Text       string `json:"text,omitempty" jsonschema:"What to look for, as it is. Either this or regexp."`
	Regexp     string `json:"regexp,omitempty" jsonschema:"What to look for in a line, as a regular expression in the syntax of RE2."`
	IgnoreCase bool   `json:"ignoreCase,omitempty" jsonschema:"Whether A is a."`
	Prefix     string `json:"prefix,omitempty" jsonschema:"How the paths begin of the files to look into."`
	Context    int    `json:"context,omitempty" jsonschema:"How many lines before and after are shown, up to 5."`
	Cursor     string `json:"cursor,omitempty" jsonschema:"Where the search before ended, to go on there."`
}

func (h hand) searchFiles() svc.Tool {
	return define(h, "search_files", "Find the lines of a project's text files that hold a text, or that a regular expression fits, within the first 2,000 bytes of each line.", fileTime,
		func(ctx context.Context, in searching) (string, error) {
			pattern, err := in.pattern()
			if err != nil {
				return "", err
			}
			at, err := h.enter(ctx, readsProjects, in.Project)
			if err != nil {
				return "", err
			}
			s := search{hand: h, place: at, pattern: pattern, around: min(max(in.Context, 0), maxContext)}
			return s.run(ctx, project.FileQuery{Prefix: in.Prefix, Query: listing.Query{Cursor: in.Cursor, Limit: listing.MaxLimit}})
		})
}

func (in searching) pattern() (*regexp.Regexp, error) {
	if (in.Text == "") == (in.Regexp == "") {
		return nil, fault.Invalid("Say either text or regexp.")
	}
	text := in.Regexp
	if text == "" {
		text = regexp.QuoteMeta(in.Text)
	}
	if len(text) > maxPattern {
		return nil, fault.Invalid("At most %d bytes can be looked for.", maxPattern)
	}
	if in.IgnoreCase {
		text = "(?i)" + text
	}
	pattern, err := regexp.Compile(text)
	if err != nil {
		return nil, fault.Invalid("regexp: %v.", err)
	}
	return pattern, nil
}

// search is one way through the files of a project.
type search struct {
	hand
	place
	pattern *regexp.Regexp
	around  int

	passage
	found, files int
	bytes        int64
}

// run looks into page after page of files, as far as one answer reaches.
func (s *search) run(ctx context.Context, q project.FileQuery) (string, error) {
	for {
		page, err := s.config.Projects.Files(ctx, s.Owner, s.slug, q)
		if err != nil {
			return "", err
		}
		for _, f := range page.Items {
			if err := s.look(ctx, f); err != nil {
				return "", err
			}
			if s.full || s.found >= maxFound {
				s.hint("more may be found: look for less, or below a prefix; this was the last: %s", f.Path)
				return s.String(), nil
			}
		}
		q.Cursor = page.Next
		switch {
		case q.Cursor == "" && s.found == 0:
			s.hint("nothing was found")
			return s.String(), nil
		case q.Cursor == "":
			return s.String(), nil
		case s.files >= maxSearched || s.bytes >= maxScanned:
			s.hint("%d files were looked into: go on with cursor %q", s.files, q.Cursor)
			return s.String(), nil
		}
	}
}

// look looks into one file. What is no text, too long, or gone by now is passed over.
func (s *search) look(ctx context.Context, f project.File) error {
	s.files++
	if f.Bytes > maxText {
		return nil
	}
	content, err := s.config.Projects.Open(ctx, s.Owner, s.slug, f.Path)
	if fault.Is(err, fault.ItemNotFound) || fault.Is(err, fault.InvalidPath) {
		return nil
	}
	if err != nil {
		return err
	}
	defer content.Close()
	s.bytes += content.Bytes
	r, err := textOf(content)
	if fault.Is(err, fault.InvalidRequest) {
		return nil
	}
	if err != nil {
		return err
	}
	var before []textLine
	after := 0
	for l, err := range linesOf(ctx, r) {
		switch {
		case err != nil:
			return err
		case s.pattern.MatchString(l.text):
			for _, b := range before {
				s.line("%s-%d- %s", f.Path, b.number, b.shown())
			}
			s.line("%s:%d: %s", f.Path, l.number, l.shown())
			s.found++
			before, after = nil, s.around
		case after > 0:
			s.line("%s-%d- %s", f.Path, l.number, l.shown())
			after--
		case s.around > 0:
			before = append(before, l)
			before = before[max(0, len(before)-s.around):]
		}
		if s.full || s.found >= maxFound {
			return nil
		}
	}
	return nil
}
