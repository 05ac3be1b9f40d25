// Command dist packs what is released of svc: a static binary for each platform, what it is made of (CycloneDX), and the checksums of
// all. The same revision gives the same bytes, in whatever folder it is built.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

func main() {
	out := flag.String("o", filepath.Join("bin", "dist"), "folder that is made anew")
	named := flag.String("platforms", strings.Join(platforms, ","), "platforms, as linux/amd64,darwin/arm64")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *out, strings.Split(*named, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// run makes the folder with a package for each platform, and the sums over all of them.
func run(ctx context.Context, out string, named []string) error {
	if err := checkApplication("."); err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	for _, name := range named {
		p, err := parsePlatform(name)
		if err != nil {
			return err
		}
		made, err := release(ctx, ".", out, p)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Println(made)
	}
	return writeSums(out)
}

// release builds one platform's binary and packs it. It returns the package's path.
func release(ctx context.Context, source, out string, p platform) (string, error) {
	folder, err := os.MkdirTemp("", "svc-dist-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(folder)
	binary := filepath.Join(folder, p.binary())
	if err := compile(ctx, source, binary, p); err != nil {
		return "", err
	}
	b, err := readBinary(binary)
	if err != nil {
		return "", err
	}
	if b.Revision == "" {
		return "", errors.New("go does not find the revision: pack in a clone, not in a copy or a worktree; scripts/twice makes clones")
	}
	bill, err := b.bill(p.lock(source))
	if err != nil {
		return "", err
	}
	licenses, err := b.licenses(ctx, source, p.lock(source))
	if err != nil {
		return "", err
	}
	terms := filepath.Join(folder, "LICENSES")
	if err := writeFile(terms, licenses); err != nil {
		return "", err
	}
	if err := os.MkdirAll(out, 0o755); err != nil { //nolint:gosec // it is for everybody
		return "", err
	}
	name := filepath.Join(out, strings.Join([]string{"svc", b.Version, p.os, p.arch}, "_"))
	if err := writeFile(name+".cdx.json", bill); err != nil {
		return "", err
	}
	return p.pack(name, []member{
		{p.binary(), binary, 0o755},
		{"LICENSE", filepath.Join(source, "LICENSE"), 0o644},
		{"NOTICE", filepath.Join(source, "NOTICE"), 0o644},
		{"LICENSES", terms, 0o644},
	})
}
