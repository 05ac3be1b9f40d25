package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// platforms are those that are released.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

// platform is a system and its processor, as Go calls them.
type platform struct{ os, arch string }

func parsePlatform(name string) (platform, error) {
	if !slices.Contains(platforms, name) {
		return platform{}, fmt.Errorf("%q is none of %s", name, strings.Join(platforms, ", "))
	}
	system, arch, _ := strings.Cut(name, "/")
	return platform{system, arch}, nil
}

// serves reports whether the service runs there; elsewhere the binary is for those who use one.
func (p platform) serves() bool { return p.os != "windows" }

func (p platform) binary() string {
	if p.os == "windows" {
		return "svc.exe"
	}
	return "svc"
}

func (p platform) command() string {
	if p.serves() {
		return "./cmd/svc"
	}
	return "./cmd/svc/client"
}

// lock is the file that names the packages of the web application; none where the binary does not carry it.
func (p platform) lock(source string) string {
	if p.serves() {
		return filepath.Join(source, "web", "package-lock.json")
	}
	return ""
}

// compile builds the binary of a source folder: no C, no path of this machine, and the revision that it is of.
func compile(ctx context.Context, source, binary string, p platform) error {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w", "-o", binary, p.command())
	cmd.Dir = source
	// GOFLAGS and the levels of processors are said, so that nobody's environment is in the result.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOFLAGS=-mod=readonly", "GOWORK=off")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go build: %w: %s", err, &said)
	}
	return nil
}

// checkApplication refuses to release a binary without its pages.
func checkApplication(source string) error {
	if _, err := os.Stat(filepath.Join(source, "web", "dist", "index.html")); err != nil {
		return fmt.Errorf("the web application is not built: make dist builds it, with Node: %w", err)
	}
	return nil
}
