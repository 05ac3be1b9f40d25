// Package bundle makes one script of a project: a folder of TypeScript or JavaScript modules that declare agents, workflows,
// channels and an application. It knows how they are found and built, and nothing of what they mean.
package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Kind is what a module declares, and the folder in which it lies.
type Kind string

// The kinds of modules.
const (
	Agents    Kind = "agents"
	Workflows Kind = "workflows"
	Channels  Kind = "channels"
)

var kinds = []Kind{Agents, Workflows, Channels}

// Module is a file that declares something. Its name is that of the file, once in its kind.
type Module struct {
	Kind Kind
	Name string
	File string // below the project's root, with slashes
}

// Project is what was found in a folder.
type Project struct {
	Root     string // the folder, absolute and behind all links: its files are called alike wherever it is linked from
	Modules  []Module
	App      string // the file of the application, below Root; empty if there is none
	Settings Settings

	mu   sync.Mutex
	seen map[string]bool // what builds have looked at
}

// Settings are a project's own, under "svc" in its package.json.
type Settings struct {
	// Alias maps packages that are known by another name to ours, their parts too.
	Alias map[string]string `json:"alias"`
	// Factory is a further name of the routing factory.
	Factory string `json:"factory"`
}

// runtimePackage is the package that projects import from us.
const runtimePackage = "@svc/runtime"

var (
	moduleFile = regexp.MustCompile(`^(.+)\.(ts|mts|js|mjs)$`)
	typesFile  = regexp.MustCompile(`\.d\.m?ts$`)
	identifier = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*$`)
)

// Find looks for the modules of a project: in its folder src, or in the root where there is none. Files that are not directly in
// the folder of a kind are support code, and come into the bundle only when they are imported.
func Find(root string) (*Project, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return nil, err
	}
	p := &Project{Root: root, seen: map[string]bool{}}
	if p.Settings, err = readSettings(root); err != nil {
		return nil, err
	}
	source := "."
	if isFolder(filepath.Join(root, "src")) {
		source = "src"
	}
	for _, kind := range kinds {
		found, err := p.modules(path.Join(source, string(kind)))
		if err != nil {
			return nil, err
		}
		for name, file := range sorted(found) {
			p.Modules = append(p.Modules, Module{Kind: kind, Name: name, File: file})
		}
	}
	top, err := p.modules(source)
	if err != nil {
		return nil, err
	}
	if p.App = top["app"]; p.App == "" && len(p.Modules) == 0 {
		return nil, fmt.Errorf("no agents, workflows, channels or app in %s", filepath.Join(filepath.Base(root), source))
	}
	return p, nil
}

// InRoot reports whether modules stand in a project's root, or are to: a folder of a kind is there, or an app. A folder src would hide them.
func InRoot(root string) bool {
	for _, kind := range kinds {
		if isFolder(filepath.Join(root, string(kind))) {
			return true
		}
	}
	top, err := (&Project{Root: root}).modules(".")
	return err != nil || top["app"] != ""
}

// modules are the files of a folder that may be modules, by their names. Only those that are used must be valid: of the top
// folder that is app.
func (p *Project) modules(folder string) (map[string]string, error) {
	entries, err := os.ReadDir(filepath.Join(p.Root, filepath.FromSlash(folder)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, e := range entries {
		m := moduleFile.FindStringSubmatch(e.Name())
		file := path.Join(folder, e.Name())
		if m == nil || typesFile.MatchString(e.Name()) || isFolder(filepath.Join(p.Root, filepath.FromSlash(file))) {
			continue
		}
		name, isTop := m[1], !slices.Contains(kinds, Kind(path.Base(folder)))
		if isTop && name != "app" {
			continue
		}
		if strings.TrimSpace(name) == "" || strings.Contains(name, ":") {
			return nil, fmt.Errorf("%s: a module's name is not blank and has no colon", file)
		}
		if other := found[name]; other != "" {
			return nil, fmt.Errorf("%s and %s are two modules of one name", other, file)
		}
		found[name] = file
	}
	return found, nil
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

func sorted(m map[string]string) func(yield func(name, file string) bool) {
	return func(yield func(name, file string) bool) {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if !yield(name, m[name]) {
				return
			}
		}
	}
}

func readSettings(root string) (Settings, error) {
	data, err := os.ReadFile(filepath.Join(root, "package.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return Settings{}, nil
	}
	if err != nil {
		return Settings{}, err
	}
	s, err := parseSettings(data)
	if err != nil {
		return Settings{}, fmt.Errorf("package.json: %w", err)
	}
	return s, nil
}

func parseSettings(data []byte) (s Settings, err error) {
	var file struct{ Svc json.RawMessage }
	if err := json.Unmarshal(data, &file); err != nil || file.Svc == nil {
		return s, err
	}
	dec := json.NewDecoder(bytes.NewReader(file.Svc))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return s, fmt.Errorf("svc: %w", err)
	}
	for from, to := range s.Alias {
		if from == "" || strings.HasPrefix(from, ".") || to != runtimePackage {
			return s, fmt.Errorf("svc.alias: %q is %q, and only %s can stand for a package", from, to, runtimePackage)
		}
	}
	if s.Factory != "" && !identifier.MatchString(s.Factory) {
		return s, fmt.Errorf("svc.factory: %q is no name of a function", s.Factory)
	}
	return s, nil
}
