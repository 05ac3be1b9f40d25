package house

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestReadmeShowsWhatCompiles keeps the README's program, in its pieces, the one of the Example and of examples/embed.
func TestReadmeShowsWhatCompiles(t *testing.T) {
	blocks := strings.Split(read(t, "README.md"), "```go\n")[1:]
	if len(blocks) < 2 {
		t.Fatal("the README does not show a workflow and an agent")
	}
	var program strings.Builder
	for _, block := range blocks {
		shown, _, _ := strings.Cut(block, "```")
		program.WriteString(shown)
	}
	want := "\t" + strings.ReplaceAll(strings.TrimSpace(program.String()), "\n", "\n\t")
	for _, file := range []string{"example_test.go", "examples/embed/main.go"} {
		if !strings.Contains(read(t, file), want) {
			t.Errorf("%s is not what the README shows", file)
		}
	}
}

// maxPicture is how many bytes a picture of the tour may have: people read it on the way.
const maxPicture = 150_000

// TestTourShowsItsPictures wants every picture of docs/tour.md there and small, and none beside them that nobody sees.
func TestTourShowsItsPictures(t *testing.T) {
	var shown []string
	for _, found := range regexp.MustCompile(`!\[[^\]]+\]\((tour/[a-z]+\.webp)\)`).FindAllStringSubmatch(read(t, "docs/tour.md"), -1) {
		shown = append(shown, filepath.Join("docs", found[1]))
	}
	there, err := filepath.Glob("docs/tour/*")
	if err != nil || len(there) == 0 {
		t.Fatalf("there are no pictures: %v", err)
	}
	slices.Sort(shown)
	if !slices.Equal(shown, there) {
		t.Errorf("the tour shows %v, and there are %v: make tour", shown, there)
	}
	for _, picture := range there {
		if size := len(read(t, picture)); size > maxPicture {
			t.Errorf("%s has %d bytes, and %d are enough", picture, size, maxPicture)
		}
	}
}

// release is the head of a version in the CHANGELOG.
var release = regexp.MustCompile(`^v(\d+)\.(\d+)\.(\d+), \d{4}-\d{2}-\d{2}$`)

// TestTheChangelogIsByVersion wants what is unreleased first, and then every version with its day, the newest first.
func TestTheChangelogIsByVersion(t *testing.T) {
	var last []int
	for i, section := range strings.Split(read(t, "CHANGELOG.md"), "\n## ")[1:] {
		head, _, _ := strings.Cut(section, "\n")
		found := release.FindStringSubmatch(head)
		if i == 0 && head == "Unreleased" {
			continue
		}
		if found == nil {
			t.Errorf("%q is no head of a version: write v0.1.0, 2026-01-31", head)
			continue
		}
		var version []int
		for _, part := range found[1:] {
			n, _ := strconv.Atoi(part) // it is of digits
			version = append(version, n)
		}
		if last != nil && slices.Compare(version, last) >= 0 {
			t.Errorf("%q stands below an older version", head)
		}
		last = version
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
