package web

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"
)

// TestTheApplicationHolds has its types checked, and runs the tests of what lives in functions. Its journeys are in internal/browser.
func TestTheApplicationHolds(t *testing.T) {
	build(t)
	for _, command := range [][]string{{"npm", "run", "--silent", "check"}, {"npm", "run", "--silent", "test"}} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", command, err, out)
		}
	}
}

// mostScripts is how many bytes of scripts, compressed, a page may load before it is shown.
const mostScripts = 250_000

// TestAPageLoadsFewScripts adds up what a browser loads before it shows a page: what the document asks for, what the page is made of, and what
// those import. What they load later, such as an editor, is not in it.
func TestAPageLoadsFewScripts(t *testing.T) {
	build(t)
	document := source(t, "index.html")
	first := scripts{}
	for _, found := range asked.FindAllStringSubmatch(document, -1) {
		first.load(t, path.Base(found[1]))
	}
	if len(first) == 0 {
		t.Fatal("the document asks for no script")
	}
	heaviest, most, pages := "", 0, 0
	for name := range first {
		for _, found := range later.FindAllStringSubmatch(source(t, "assets/"+name), -1) {
			page := scripts{}
			for each := range first {
				page.load(t, each)
			}
			page.load(t, found[1])
			pages++
			if size := page.size(t); size > most {
				heaviest, most = found[1], size
			}
		}
	}
	t.Attr("initial-scripts", fmt.Sprintf("%d bytes compressed of %d at most, in %s, the heaviest of %d pages; %d in each", most, mostScripts, heaviest, pages, first.size(t)))
	if pages < 10 || most > mostScripts {
		t.Errorf("the scripts of %s have %d bytes, more than %d; %d pages were found", heaviest, most, mostScripts, pages)
	}
}

// How a document asks for a script, how a script imports another before it runs, and how it does so later.
var (
	asked    = regexp.MustCompile(`<(?:script|link)[^>]+(?:src|href)="(/assets/[^"]+\.js)"`)
	imported = regexp.MustCompile(`(?:^|[;}\s])(?:import|export)(?:[^"'();]*?from)?\s*["']\./([\w.-]+\.js)["']`)
	later    = regexp.MustCompile(`\bimport\(\s*["'` + "`" + `]\./([\w.-]+\.js)["'` + "`" + `]\s*\)`)
)

// scripts are those that are loaded together.
type scripts map[string]bool

// load adds a script and all that it imports.
func (s scripts) load(t *testing.T, name string) {
	t.Helper()
	if s[name] {
		return
	}
	s[name] = true
	for _, found := range imported.FindAllStringSubmatch(source(t, "assets/"+name), -1) {
		s.load(t, found[1])
	}
}

// size is what the scripts have as they are sent.
func (s scripts) size(t *testing.T) (sum int) {
	t.Helper()
	for name := range s {
		var sent bytes.Buffer
		w, err := gzip.NewWriterLevel(&sent, gzip.BestCompression)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := strings.NewReader(source(t, "assets/"+name)).WriteTo(w); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		sum += sent.Len()
	}
	return sum
}

func source(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("dist/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// build has the application as its sources are now. It stands on the packages beside it.
func build(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("node_modules/.package-lock.json"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("the packages of the web application are not installed")
		}
		t.Skip("the packages of the web application are not installed: see scripts/setup")
	}
	if out, err := exec.Command("../scripts/web").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
}
