package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// isLicense is how files are called that say under which terms something is given.
var isLicense = regexp.MustCompile(`(?i)^(licen[sc]e|copying|notice|patents)([.-].*)?$`)

// licenses is the text of every license that the binary's parts are given under, each below the name of its part.
func (b binary) licenses(ctx context.Context, source, lock string) ([]byte, error) {
	folders, err := b.folders(ctx, source)
	if err != nil {
		return nil, err
	}
	packages, err := readPackages(lock)
	if err != nil {
		return nil, err
	}
	for _, p := range packages {
		folders[p.Name+" "+p.Version] = filepath.Join(filepath.Dir(lock), "node_modules", filepath.FromSlash(p.Name))
	}
	var all bytes.Buffer
	fmt.Fprintln(&all, "svc is made of these, too. What each is given under stands below its name.")
	for _, name := range slices.Sorted(maps.Keys(folders)) {
		text, err := licenseIn(folders[name])
		if err != nil {
			return nil, fmt.Errorf("license of %s: %w", name, err)
		}
		fmt.Fprintf(&all, "\n%s\n%s\n\n%s", strings.Repeat("=", 80), name, text)
	}
	return all.Bytes(), nil
}

// folders are where the modules of the binary lie, and Go itself.
func (b binary) folders(ctx context.Context, source string) (map[string]string, error) {
	out, err := output(ctx, source, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	folders := map[string]string{"Go " + strings.TrimPrefix(b.Go, "go"): strings.TrimSpace(out)}
	args := []string{"list", "-m", "-f", "{{.Path}} {{.Version}}\t{{.Dir}}"}
	for _, m := range b.deps {
		args = append(args, m.Path)
	}
	if out, err = output(ctx, source, "go", args...); err != nil {
		return nil, err
	}
	for line := range strings.Lines(out) {
		name, folder, _ := strings.Cut(strings.TrimSpace(line), "\t")
		folders[name] = folder
	}
	return folders, nil
}

// licenseIn is what the files of a folder say, and an error if there is none.
func licenseIn(folder string) ([]byte, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var all []byte
	for _, e := range entries {
		if !isLicense.MatchString(e.Name()) || e.IsDir() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return nil, err
		}
		all = append(append(all, bytes.TrimRight(text, "\n")...), '\n')
	}
	if all == nil {
		return nil, fmt.Errorf("%s has none: %w", folder, fs.ErrNotExist)
	}
	return all, nil
}

// output is what a program says.
func output(ctx context.Context, folder, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = folder
	out, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%s %s: %w: %s", program, args[0], err, failed.Stderr)
	}
	return string(out), err
}
