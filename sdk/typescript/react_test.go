package typescript

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"svc.dev/svc/internal/sqldb/sqldbtest"
)

// react is the folder of @svc/react. Its tests run in this package, since they read the client that this package builds.
const react = "../react"

// hooks are what the tests of @svc/react share: the package, its tests and their pages, compiled.
var hooks struct {
	once sync.Once
	ok   bool
}

func enterReact(t *testing.T) {
	t.Helper()
	enter(t)
	hooks.once.Do(func() {
		notice(t, react)
		if _, err := os.Stat(filepath.Join(react, "node_modules/react")); err != nil {
			run(t, nil, "npm", "--prefix", react, "ci", "--no-audit", "--no-fund")
		}
		run(t, nil, "npm", "--prefix", react, "run", "--silent", "compile")
		hooks.ok = true
	})
	if !hooks.ok {
		t.Fatal("the hooks do not compile")
	}
	if chromium() == "" && os.Getenv("CI") == "true" {
		t.Fatal("there is no Chromium")
	}
}

// notice looks at all sources of a package, so that go test takes no result from its cache when one has changed.
func notice(t *testing.T, folder string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && strings.Contains("node_modules dist build readme generated", entry.Name()) {
			return filepath.SkipDir
		}
		_, err = os.Stat(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// fast are the files of tests that always run: what people do on a page. What is packed, what many components leave behind and how
// long a browser works take longer, or want a machine of their own.
var fast = []string{"chat", "readme", "run", "store"}

// TestReact runs every file of tests of @svc/react by itself, those that need a service on SQLite.
func TestReact(t *testing.T) {
	enterReact(t)
	files, err := filepath.Glob(react + "/build/*.test.js")
	if err != nil || len(files) < len(fast) {
		t.Fatalf("%d files of tests: %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".test.js")
		t.Run(name, func(t *testing.T) {
			if !soak && !slices.Contains(fast, name) {
				t.Skip("in the soak alone: it takes long, or wants a quiet machine")
			}
			t.Parallel()
			suite(t, file)
		})
	}
}

func TestReactOnPostgres(t *testing.T) {
	if !soak {
		t.Skip("in the soak alone: a page does not see which database there is")
	}
	enterReact(t)
	for _, name := range []string{"chat", "run"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			suite(t, react+"/build/"+name+".test.js", "SVC_CONTRACT_DB="+sqldbtest.Postgres(t))
		})
	}
}
