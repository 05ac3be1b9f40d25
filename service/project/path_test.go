package project_test

import (
	"path"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/project"
)

// FuzzPath holds every path that passes to what a file system and a database need of it.
func FuzzPath(f *testing.F) {
	for _, list := range [][]string{refusedPaths, literalPaths} {
		for _, seed := range list {
			f.Add(seed)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		err := project.CheckPath(text)
		if err != nil {
			if !fault.Is(err, fault.InvalidPath) {
				t.Fatal(err)
			}
			return
		}
		if !filepath.IsLocal(text) || path.Clean(text) != text || path.IsAbs(text) || !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\\\n") {
			t.Errorf("%q passes", text)
		}
	})
}
