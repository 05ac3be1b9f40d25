package house

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	fenced  = regexp.MustCompile("(?ms)^```.*?^```$")
)

// TestLinksLeadSomewhere follows every link of the pages to a file or folder of the repository, and to a heading where one is named.
func TestLinksLeadSomewhere(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil || len(pages) < 10 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	pages = append(pages, "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "STYLE.md", "web/README.md", "sdk/typescript/README.md", "sdk/react/README.md")
	for _, page := range pages {
		for _, found := range link.FindAllStringSubmatch(fenced.ReplaceAllString(read(t, page), ""), -1) {
			if strings.Contains(found[1], "://") {
				continue // it is somebody else's
			}
			path, at, _ := strings.Cut(found[1], "#")
			to := filepath.Join(filepath.Dir(page), path)
			if path == "" {
				to = page
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s links to %s, which is not there", page, found[1])
				continue
			}
			if at != "" && !slices.Contains(anchors(read(t, to)), at) {
				t.Errorf("%s links to %s, and %s has no such heading", page, found[1], to)
			}
		}
	}
}

// TestEveryPageOfDocsIsListed wants each page in the table of docs/index.md.
func TestEveryPageOfDocsIsListed(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	index := read(t, "docs/index.md")
	for _, page := range pages {
		if name := filepath.Base(page); name != "index.md" && !strings.Contains(index, "]("+name+")") {
			t.Errorf("docs/index.md does not lead to %s", name)
		}
	}
}

// anchors are the names of a page's headings, as they are made of their words.
func anchors(page string) (all []string) {
	for _, found := range heading.FindAllStringSubmatch(page, -1) {
		words := strings.ToLower(regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(found[1], ""))
		all = append(all, strings.ReplaceAll(words, " ", "-"))
	}
	return all
}
