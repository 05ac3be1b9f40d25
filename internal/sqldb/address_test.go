package sqldb_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc.dev/svc/internal/sqldb"
)

func TestAddressesNameAFile(t *testing.T) {
	t.Chdir(t.TempDir())
	abs := t.TempDir()
	for address, file := range map[string]string{
		"sqlite:svc.db":                          "svc.db",
		"sqlite:./dot.db":                        "dot.db",
		"sqlite:made/for/it.db":                  "made/for/it.db",
		"sqlite:" + abs + "/a.db":                abs + "/a.db",
		"sqlite://" + abs + "/b.db":              abs + "/b.db",
		"sqlite:with space.db":                   "with space.db",
		"sqlite:why?mode=memory&cache=shared":    "why?mode=memory&cache=shared",
		"sqlite:100%25 #1.db":                    "100%25 #1.db",
		"sqlite:ünï:code.db":                     "ünï:code.db",
		"sqlite:" + abs + "/q?_pragma=x/../c.db": abs + "/c.db",
	} {
		t.Run(address, func(t *testing.T) {
			numbers(t, address)
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode() != 0o600 {
				t.Errorf("mode is %v", info.Mode())
			}
			for _, beside := range []string{file + "-wal", file + ".d/lock"} {
				if info, err := os.Stat(beside); err != nil || info.Mode() != 0o600 {
					t.Errorf("%s: %v, %v", beside, info, err)
				}
			}
			if info, err := os.Stat(file + ".d"); err != nil || info.Mode() != fs.ModeDir|0o700 {
				t.Errorf("folder: %v, %v", info, err)
			}
		})
	}
}

func TestAddressesAreRefusedWithAHint(t *testing.T) {
	t.Chdir(t.TempDir())
	for address, hint := range map[string]string{
		"":                                 "write sqlite:PATH or postgres://",
		"svc.db":                           "write sqlite:PATH",
		"/var/lib/svc.db":                  "write sqlite:PATH",
		"./a:b.db":                         "write sqlite:PATH",
		"host=db password=hunter2:x":       "write sqlite:PATH",
		"sqlite:":                          "write sqlite:PATH",
		"sqlite://relative.db":             "write sqlite:PATH or sqlite:///PATH",
		"sqlite::memory:":                  "write sqlite:PATH",
		"sqlite:folder/":                   "write sqlite:PATH",
		"postgres:db":                      "write postgres://USER@HOST/DATABASE",
		"mysql://root:hunter2@db/svc":      `scheme "mysql" is not known`,
		"postgres://root:hunter2@db:x/svc": "",
		"postgres://root:hunter2@[::1]/%%": "",
		"sqlite:" + t.TempDir():            "",
	} {
		t.Run(address, func(t *testing.T) {
			_, err := sqldb.Open(t.Context(), address, sqldb.Options{})
			if err == nil || !strings.HasPrefix(err.Error(), "open database: ") || !strings.Contains(err.Error(), hint) {
				t.Fatalf("got %v, want hint %q", err, hint)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error tells the password: %v", err)
			}
		})
	}
	if left, _ := filepath.Glob("*"); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
