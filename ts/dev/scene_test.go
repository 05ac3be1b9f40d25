package dev_test

import (
	"html"
	"os"
	"path/filepath"
	"testing"
	"time"
)

const (
	visitPause = 5 * time.Millisecond
	readySoon  = 500 * time.Millisecond
	someLooks  = 500 * time.Millisecond // at the files
)

// takes is what takes its time in a scene. Nothing is waited for.
func takes(d time.Duration) { time.Sleep(d) }

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for until := time.Now().Add(60 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("never: %s", what)
		}
	}
}

func write(t *testing.T, w *workshop, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(w.folder, filepath.FromSlash(name)), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, w *workshop, name string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(w.folder, filepath.FromSlash(name))); err != nil {
		t.Fatal(err)
	}
}

// unescaped is a page's text as a person reads it.
func unescaped(page string) string { return html.UnescapeString(page) }
