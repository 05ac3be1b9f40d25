package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

func TestBillNamesWhatABinaryIsMadeOf(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := readBinary(self)
	if err != nil {
		t.Fatal(err)
	}
	text, err := b.bill(filepath.Join("..", "..", "web", "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got bill
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if got.Format != "CycloneDX" || got.Spec != "1.6" || len(got.Serial) != len("urn:uuid:")+36 || got.Metadata.Component.Name != "svc.dev/svc" {
		t.Errorf("%s", text)
	}
	for _, name := range []string{"std", "react", "@lezer/common"} {
		if !slices.ContainsFunc(got.Components, func(c component) bool { return c.Name == name && c.Version != "" }) {
			t.Errorf("the bill does not name %s", name)
		}
	}
	seen := map[string]bool{}
	for _, c := range got.Components {
		if c.Name == "vite" || strings.HasPrefix(c.Name, "@svc/") {
			t.Errorf("%s is not in the binary, or is our own", c.Name)
		}
		if seen[c.Ref] {
			t.Errorf("%s stands there twice", c.Ref)
		}
		seen[c.Ref] = true
	}
	again, err := b.bill(filepath.Join("..", "..", "web", "package-lock.json"))
	if err != nil || !bytes.Equal(text, again) {
		t.Errorf("the same binary has another bill: %v", err)
	}
}

func TestPackageHasItsFilesAndNothingOfTheMachine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "svc")
	if err := os.WriteFile(file, []byte("binary"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range platforms {
		p, err := parsePlatform(name)
		if err != nil {
			t.Fatal(err)
		}
		var all [2][]byte
		for i := range all {
			made, err := p.pack(filepath.Join(t.TempDir(), "svc_v1"), []member{{p.binary(), file, 0o755}})
			if err != nil {
				t.Fatal(err)
			}
			if all[i], err = os.ReadFile(made); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(all[0], all[1]) {
			t.Errorf("%s: two packages of the same files differ", name)
		}
	}
}

func TestTarHasABinaryThatRuns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "svc")
	if err := os.WriteFile(file, []byte("binary"), 0o600); err != nil {
		t.Fatal(err)
	}
	made, err := platform{"linux", "amd64"}.pack(filepath.Join(t.TempDir(), "x"), []member{{"svc", file, 0o755}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(made)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	plain, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	entries := tar.NewReader(plain)
	head, err := entries.Next()
	if err != nil || head.Name != "svc" || head.Mode != 0o755 || head.Uid != 0 || !head.ModTime.Equal(epoch) {
		t.Fatalf("%+v %v", head, err)
	}
	if text, err := io.ReadAll(entries); err != nil || string(text) != "binary" {
		t.Errorf("%q %v", text, err)
	}
	if _, err := entries.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("there is more: %v", err)
	}
}

func TestSumsAreWhatSha256sumChecks(t *testing.T) {
	if _, err := exec.LookPath("sha256sum"); err != nil {
		t.Skip("there is no sha256sum")
	}
	folder := t.TempDir()
	for _, name := range []string{"b", "a"} {
		if err := writeFile(filepath.Join(folder, name), []byte(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeSums(folder); err != nil {
		t.Fatal(err)
	}
	check := func() error {
		cmd := exec.Command("sha256sum", "--strict", "--check", sumsFile)
		cmd.Dir = folder
		return cmd.Run()
	}
	if err := check(); err != nil {
		t.Errorf("the sums of a whole folder: %v", err)
	}
	if err := writeFile(filepath.Join(folder, "a"), []byte("changed")); err != nil {
		t.Fatal(err)
	}
	if check() == nil {
		t.Error("a file that was changed has the sum that it had")
	}
}

func TestOnlyPlatformsThatAreReleasedAreBuilt(t *testing.T) {
	if _, err := parsePlatform("plan9/amd64"); err == nil {
		t.Error("there is no such release")
	}
}

func TestLicensesHaveATextForEveryPart(t *testing.T) {
	b := binary{deps: []*debug.Module{{Path: "github.com/spf13/cobra"}, {Path: "golang.org/x/sync"}}}
	b.Go = "go1.2.3"
	text, err := b.licenses(t.Context(), filepath.Join("..", ".."), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nGo 1.2.3\n", "\ngithub.com/spf13/cobra v", "Apache License", "\ngolang.org/x/sync v", "Neither the name of Google"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("the licenses do not say %q", want)
		}
	}
	if _, err := licenseIn(t.TempDir()); err == nil {
		t.Error("a part without a license was taken")
	}
}

// TestSameRevisionGivesTheSameBytes packs two clones in folders of different names, the second with nothing built before.
func TestSameRevisionGivesTheSameBytes(t *testing.T) {
	if os.Getenv("SVC_SOAK") == "" {
		t.Skip("SVC_SOAK is not set: everything is compiled twice")
	}
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("there is no npm, and a package has the web application")
	}
	if out, err := exec.Command(filepath.Join("..", "..", "scripts", "twice"), "linux/amd64").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
