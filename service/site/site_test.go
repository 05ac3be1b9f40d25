package site_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"svc.dev/svc/service/access"
	"svc.dev/svc/service/operation"
	"svc.dev/svc/service/site"
)

var (
	action = regexp.MustCompile(`action="(/[^"]*)"`)
	filler = regexp.MustCompile(`\{\{[^}]*\}\}`)
)

// TestEveryFormOfAPageHasItsRow looks for what the templates post to.
func TestEveryFormOfAPageHasItsRow(t *testing.T) {
	files, err := filepath.Glob("../page/templates/*.html")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no templates", err)
	}
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range action.FindAllStringSubmatch(string(text), -1) {
			found++
			path := filler.ReplaceAllString(at[1], "{id}")
			known := slices.ContainsFunc(site.Rows(), func(r site.Row) bool { return r.Path == path })
			known = known || slices.ContainsFunc(operation.Rows(), func(r operation.Row) bool { return r.Path == strings.Replace(path, "github", "{provider}", 1) })
			if !known {
				t.Errorf("%s posts to %s, which is no row", filepath.Base(file), path)
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d forms were found", found)
	}
}

func TestRowsAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range site.Rows() {
		name := r.Method + " " + r.Path
		if r.Do == nil || len(r.On) == 0 {
			t.Errorf("%s does nothing, or is nowhere", name)
		}
		if r.Need.String() == "" {
			t.Errorf("%s lets nobody in: say what it needs, and access.Public if nothing", name)
		}
		for _, on := range r.On {
			if seen[string(on)+" "+name] {
				t.Errorf("%s stands twice on %s", name, on)
			}
			seen[string(on)+" "+name] = true
		}
		if r.Method == "GET" && r.Again != nil {
			t.Errorf("%s takes no form, and has a page for a refused one", name)
		}
	}
}

// TestNobodyNeedsToBeSignedInOnlyToComeIn holds who may open what: a page of the account, of a workspace or of staff cannot be made public by
// a slip.
func TestNobodyNeedsToBeSignedInOnlyToComeIn(t *testing.T) {
	for _, r := range site.Rows() {
		own := strings.HasPrefix(r.Path, "/account") || strings.HasPrefix(r.Path, "/w/") || strings.HasPrefix(r.Path, "/workspaces") || r.Path == "/device" || slices.Contains(r.On, access.Admin)
		if own == r.Need.IsPublic() && !(r.Path == "/invitations" && r.Method == "POST") {
			t.Errorf("%s %s: %s", r.Method, r.Path, r.Need)
		}
	}
}

// TestNoPageTakesTheAPIsPlace keeps the addresses of pages out of those of programs.
func TestNoPageTakesTheAPIsPlace(t *testing.T) {
	for _, r := range site.Rows() {
		if strings.HasPrefix(r.Path, "/api/") || strings.HasPrefix(r.Path, "/v1/") || strings.HasPrefix(r.Path, "/{") {
			t.Errorf("%s %s is no address of a page", r.Method, r.Path)
		}
	}
}
