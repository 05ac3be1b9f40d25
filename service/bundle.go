package service

import (
	"fmt"
	"os"
	"path/filepath"

	"svc.dev/svc/internal/bundle"
)

// Bundled is a project that was made one file.
type Bundled struct {
	File  string `json:"file"`
	Bytes int    `json:"bytes"`
	Hash  string `json:"hash"` // of the script: the same sources have the same
}

// Bundle makes a project's folder one file, which runs where there are neither its sources nor their packages. The file is whole or not there.
func Bundle(folder, file string) (Bundled, error) {
	p, err := bundle.Find(folder)
	if err != nil {
		return Bundled{}, err
	}
	made, err := p.Make()
	if err != nil {
		return Bundled{}, fmt.Errorf("the project cannot be bundled:\n\n%w", err)
	}
	data, err := made.Encode()
	if err != nil {
		return Bundled{}, err
	}
	if err := replaceFile(file, data); err != nil {
		return Bundled{}, fmt.Errorf("write the bundle: %w", err)
	}
	return Bundled{File: file, Bytes: len(data), Hash: made.Hash()}, nil
}

// replaceFile writes a file beside its place and moves it there.
func replaceFile(name string, data []byte) error {
	aside, err := os.CreateTemp(filepath.Dir(name), ".bundle-*")
	if err != nil {
		return err
	}
	defer os.Remove(aside.Name()) // it is gone when it was moved
	_, err = aside.Write(data)
	if closing := aside.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Chmod(aside.Name(), 0o644)
	}
	if err != nil {
		return err
	}
	return os.Rename(aside.Name(), name)
}
