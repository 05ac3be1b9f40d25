package profile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"svc.dev/svc/internal/cli/hold"
)

// Save writes a profile, whole or not at all, and makes it the current one. It returns the profile that it replaced: of two
// that are saved at once one replaces the other, so that no key is left behind that nobody knows of.
func (s Store) Save(name string, p Profile) (replaced Profile, err error) {
	if err := CheckName(name); err != nil {
		return replaced, err
	}
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return replaced, fmt.Errorf("save profile: %w", err)
	}
	release, err := s.lock()
	if err != nil {
		return replaced, fmt.Errorf("save profile: %w", err)
	}
	defer release()
	replaced, _ = s.stored(name) // what is no profile has no key to end
	// The profile last: until it is there, the one before is in use.
	if err = put(s.currentPath(), []byte(name+"\n")); err == nil {
		err = put(s.path(name), append(text, '\n'))
	}
	if err != nil {
		return Profile{}, fmt.Errorf("save profile: %w", err)
	}
	return replaced, nil
}

// Use makes a profile the current one.
func (s Store) Use(name string) error {
	if _, err := s.Load(name); err != nil {
		return err
	}
	release, err := s.lock()
	if err == nil {
		defer release()
		err = put(s.currentPath(), []byte(name+"\n"))
	}
	if err != nil {
		return fmt.Errorf("use profile: %w", err)
	}
	return nil
}

// Remove deletes a profile and returns what it was, whoever can read it. Of several that remove one, one gets it. That it is no profile is
// an error, and deletes it all the same: nobody knows which key it had.
func (s Store) Remove(name string) (was Profile, err error) {
	if err := CheckName(name); err != nil {
		return was, err
	}
	release, err := s.lock()
	if err != nil {
		return was, fmt.Errorf("remove profile: %w", err)
	}
	defer release()
	was, unreadable := s.stored(name)
	if errors.Is(unreadable, ErrNone) {
		return was, unreadable
	}
	if err := os.Remove(s.path(name)); err != nil {
		return Profile{}, fmt.Errorf("remove profile: %w", err)
	}
	if s.Current() == name {
		err = os.Remove(s.currentPath())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return was, fmt.Errorf("remove profile: %w", err)
	}
	if unreadable != nil {
		return was, fmt.Errorf("forgotten here, and no key is revoked there: %w", unreadable)
	}
	return was, nil
}

// lock keeps other processes from changing profiles. It makes the folder where there is none.
func (s Store) lock() (release func(), err error) {
	if err := os.MkdirAll(filepath.Dir(s.path("x")), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(s.Folder, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := hold.Wait(f); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

// put replaces a file in one step: a reader finds the old text or the new one. No other person can read it at any time.
func put(path string, text []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // made with 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
