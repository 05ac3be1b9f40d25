// Package profile keeps where the services of a person are, and the keys that open them: one file for each, which nobody else can
// read, in the folder where that person's programs keep their settings.
package profile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"svc.dev/svc/internal/cli/hold"
)

// Default is the name of the profile that is meant where none is named.
const Default = "default"

// Profile is one service as one person uses it.
type Profile struct {
	// BaseURL is what agents, workflows and runs stand below.
	BaseURL string `json:"baseUrl"`
	// Platform is where the key was asked for; empty where it was given.
	Platform string `json:"platform,omitempty"`
	// Key is sent with every request; empty where the service wants none.
	Key       string     `json:"key,omitempty"`
	KeyID     string     `json:"keyId,omitempty"`
	Workspace string     `json:"workspace,omitempty"`
	Scopes    []string   `json:"scopes,omitempty"`
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
	// Own says that the key was made for this profile, and ends with it.
	Own bool `json:"own,omitempty"`
}

// Last4 is how people tell one key from another.
func (p Profile) Last4() string { return p.Key[max(0, len(p.Key)-4):] }

// nameRule keeps a name within one file of the folder, on every file system.
var nameRule = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// CheckName says whether a profile can be called that.
func CheckName(name string) error {
	if !nameRule.MatchString(name) || strings.HasSuffix(name, ".json") {
		return fmt.Errorf("profile %q: a name has small letters, digits, '.', '_' and '-', at most 64, and begins with a letter or digit", name)
	}
	return nil
}

// ErrNone says that there is no such profile.
var ErrNone = errors.New("there is no such profile")

// Parse reads what a file says.
func Parse(text []byte) (p Profile, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	if err := dec.Decode(&p); err != nil {
		return Profile{}, errors.New("it is not JSON") // what the decoder quotes may be the key
	}
	if p.BaseURL == "" {
		return Profile{}, errors.New("it has no baseUrl")
	}
	if strings.ContainsFunc(p.Key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return Profile{}, errors.New("its key has characters that no key has")
	}
	return p, nil
}

// Store is the folder of all profiles of a person.
type Store struct{ Folder string }

// Home is the folder in which a person's programs keep their settings.
func Home() (Store, error) {
	folder, err := os.UserConfigDir()
	if err != nil {
		return Store{}, fmt.Errorf("find the folder for settings: %w", err)
	}
	return Store{filepath.Join(folder, "svc")}, nil
}

const suffix = ".json"

func (s Store) path(name string) string { return filepath.Join(s.Folder, "profiles", name+suffix) }

// Load reads a profile. One that others can read is refused: its key may be known to them.
func (s Store) Load(name string) (Profile, error) { return s.load(name, hold.IsPrivate) }

// stored is a profile whoever can read it, for those who end its key.
func (s Store) stored(name string) (Profile, error) {
	return s.load(name, func(fs.FileInfo) bool { return true })
}

func (s Store) load(name string, allowed func(fs.FileInfo) bool) (Profile, error) {
	if err := CheckName(name); err != nil {
		return Profile{}, err
	}
	f, err := os.Open(s.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return Profile{}, fmt.Errorf("profile %q: %w", name, ErrNone)
	}
	if err != nil {
		return Profile{}, fmt.Errorf("profile %q: %w", name, err)
	}
	defer f.Close()
	p, err := read(f, allowed)
	if err != nil {
		return p, fmt.Errorf("profile %q: %s: %w", name, f.Name(), err)
	}
	return p, nil
}

// longest is more than any profile has.
const longest = 64 << 10

func read(f *os.File, allowed func(fs.FileInfo) bool) (Profile, error) {
	info, err := f.Stat()
	if err != nil {
		return Profile{}, err
	}
	switch {
	case !allowed(info):
		return Profile{}, fmt.Errorf("others can read it (mode %#o): run chmod 600 on it, and make a new key if others may have", info.Mode().Perm())
	case info.Size() > longest:
		return Profile{}, errors.New("it is too long")
	}
	text := make([]byte, info.Size())
	if _, err := f.ReadAt(text, 0); err != nil {
		return Profile{}, err
	}
	return Parse(text)
}

// List is the names of all profiles.
func (s Store) List() (names []string, err error) {
	all, err := os.ReadDir(filepath.Dir(s.path("x")))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list profiles: %w", err)
	}
	for _, file := range all {
		if name, ok := strings.CutSuffix(file.Name(), suffix); ok && CheckName(name) == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Current is the name of the profile that is meant where none is named.
func (s Store) Current() string {
	text, err := os.ReadFile(s.currentPath())
	if name := strings.TrimSpace(string(text)); err == nil && CheckName(name) == nil {
		return name
	}
	return Default
}

func (s Store) currentPath() string { return filepath.Join(s.Folder, "profile") }
