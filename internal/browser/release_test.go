package browser

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// releases are binaries of the service whose web application has other files, by their names. Each is built when a script first wants it.
var releases struct {
	sync.Mutex
	built map[string]string
}

// withReleases lets the script replace the service by another release, on the same data.
func (s *scene) withReleases(t *testing.T, service *service) {
	on(s, "release", func(of struct{ Name string }) (any, error) {
		binary, err := release(t, of.Name)
		if err != nil {
			return nil, err
		}
		return nil, service.release(binary)
	})
}

// release builds the service with the web application under other names, as a bundler names what has changed.
func release(t *testing.T, name string) (string, error) {
	releases.Lock()
	defer releases.Unlock()
	if binary, found := releases.built[name]; found {
		return binary, nil
	}
	folder := filepath.Join(studio.folder, name)
	overlay, err := renamed(folder, name)
	if err != nil {
		return "", err
	}
	binary := filepath.Join(studio.folder, "svc-"+name)
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "-o", binary, "svc.dev/svc/cmd/svc").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the release %s: %w\n%s", name, err, out)
	}
	if releases.built == nil {
		releases.built = map[string]string{}
	}
	releases.built[name] = binary
	return binary, nil
}

// renamed writes the web application with another name for each of its assets, and the overlay that puts it in the place of the one
// that was built.
func renamed(folder, name string) (overlay string, err error) {
	dist, err := filepath.Abs("../../web/dist")
	if err != nil {
		return "", err
	}
	files, names := map[string]string{}, []string{}
	err = fs.WalkDir(os.DirFS(dist), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") || filepath.Ext(path) == ".br" {
			return err // what is compressed holds the old names
		}
		text, err := os.ReadFile(filepath.Join(dist, path))
		files[path] = string(text)
		if strings.HasPrefix(path, "assets/") {
			names = append(names, d.Name(), name+"-"+d.Name())
		}
		return err
	})
	if err != nil {
		return "", err
	}
	replace, rename := map[string]string{}, strings.NewReplacer(names...)
	for path := range files {
		replace[filepath.Join(dist, path)] = "" // it is not in this release, unless it keeps its name
	}
	for path, text := range files {
		path = rename.Replace(path)
		replace[filepath.Join(dist, path)] = filepath.Join(folder, path)
		if err := write(filepath.Join(folder, path), rename.Replace(text)); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(folder, "overlay.json")
	return overlay, write(overlay, string(text))
}

func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}
