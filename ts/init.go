package ts

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"svc.dev/svc/internal/bundle"
)

//go:embed init
var initial embed.FS

// Init makes a folder a project: what npm and editors need unless it is there, a first workflow where there are no modules, and the types
// of @svc/runtime anew. It gives the files that it wrote.
func Init(folder string) (files []string, err error) {
	there := map[string]bool{}
	for _, name := range []string{"package.json", "tsconfig.json", "src"} {
		there[name] = exists(filepath.Join(folder, name))
	}
	there["src"] = there["src"] || bundle.InRoot(folder)
	err = fs.WalkDir(initial, "init", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name := filepath.FromSlash(strings.TrimPrefix(path, "init/"))
		if there[firstOf(name)] {
			return nil
		}
		data, err := initial.ReadFile(path)
		if err != nil {
			return err
		}
		files = append(files, name)
		return put(filepath.Join(folder, name), data)
	})
	if err != nil {
		return nil, fmt.Errorf("make a project: %w", err)
	}
	return files, nil
}

// typesFile holds the types of @svc/runtime, as they belong to this program.
const typesFile = "svc-env.d.ts"

// RenewTypes writes the types of @svc/runtime anew where they are those of another version. A folder that has none is left alone.
func RenewTypes(folder string) error {
	name := filepath.Join(folder, typesFile)
	old, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("renew types: %w", err)
	}
	data, err := initial.ReadFile("init/" + typesFile)
	if err != nil || bytes.Equal(old, data) {
		return err
	}
	if err := put(name, data); err != nil {
		return fmt.Errorf("renew types: %w", err)
	}
	return nil
}

// firstOf is the file or folder of a project that a file belongs to: modules come together or not at all.
func firstOf(name string) string {
	first, _, _ := strings.Cut(filepath.ToSlash(name), "/")
	return first
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

func put(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o644)
}
