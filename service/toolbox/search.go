package toolbox

import (
	"context"
	"regexp"
	"regexp/syntax"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/service/project"
)

// Bounds of one search.
const (
	maxPattern  = 1 << 10
	maxProgram  = 2 << 10 // steps of a pattern: each may be taken for each byte
	maxContext  = 5
	maxFound    = 100
	maxSearched = 1000     // files
	maxScanned  = 64 << 20 // bytes
)

// turnTime is how long a search looks into files before others have their turn.
const turnTime = 50 * time.Millisecond

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
	if err := checkPattern(text); err != nil {
		return nil, err
	}
	pattern, err := regexp.Compile(text)
	if err != nil {
		return nil, fault.Invalid("regexp: %v.", err)
	}
	return pattern, nil
}

// checkPattern refuses a pattern that would take long for each line.
func checkPattern(text string) error {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return fault.Invalid("regexp: %v.", err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return fault.Invalid("regexp: %v.", err)
	}
	if len(program.Inst) > maxProgram {
		return fault.Invalid("regexp: it repeats too much.")
	}
	return nil
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

	since time.Time // when its turn came
	done  func()    // ends it; nil while it has none
}

// turn waits for the search's turn, and gives it away every now and then.
func (s *search) turn(ctx context.Context) (err error) {
	if s.done != nil && time.Since(s.since) < turnTime {
		return nil
	}
	s.pass()
	s.done, err = s.turns.Wait(ctx, s.holder())
	s.since = time.Now()
	return err
}

// pass ends the search's turn.
func (s *search) pass() {
	if s.done != nil {
		s.done()
		s.done = nil
	}
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
	defer s.pass()
	for l, err := range linesOf(ctx, r) {
		if err == nil {
			err = s.turn(ctx)
		}
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
