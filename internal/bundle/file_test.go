package bundle_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc.dev/svc/internal/bundle"
)

func encoded(t testing.TB, b *bundle.Bundle) []byte {
	t.Helper()
	data, err := b.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestABundleIsReadFromItsFile(t *testing.T) {
	b := bundled(t, "-- app.ts --\nexport default \"é\\u2028\";\n")
	name := filepath.Join(t.TempDir(), "project.svc")
	if err := os.WriteFile(name, encoded(t, b), 0o644); err != nil {
		t.Fatal(err)
	}
	read, err := bundle.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	if read.Hash() != b.Hash() || read.Code != b.Code {
		t.Errorf("read %q, not %q", read.Code, b.Code)
	}
	place, ok := read.Map.Find(lineOf(t, read.Code, "default"), 1)
	if !ok || place.Source != "app.ts" || place.Line != 1 {
		t.Errorf("found %v %v", place, ok)
	}
}

func TestAFileThatIsDamagedOrNewerIsRefused(t *testing.T) {
	good := encoded(t, bundled(t, "-- app.ts --\nexport default 1;\n"))
	swapped := bytes.Clone(good)
	swapped[len(swapped)-20] ^= 1
	for name, c := range map[string]struct {
		data []byte
		says string
	}{
		"newer":   {bytes.Replace(good, []byte("svc-bundle 1 "), []byte("svc-bundle 2 "), 1), "of format 2, newer than this svc, which reads 1"},
		"cut":     {good[:len(good)-1], "damaged"},
		"changed": {swapped, "damaged"},
		"longer":  {append(bytes.Clone(good), ' '), "damaged"},
		"hashed":  {bytes.Replace(good, []byte(" 1 "), []byte(" 1 0"), 1), "damaged"},
		"no hash": {[]byte("svc-bundle 1\n{}"), "damaged"},
		"empty":   {nil, "none of svc bundle"},
		"other":   {[]byte("#!/bin/sh\n"), "none of svc bundle"},
		"zero":    {[]byte("svc-bundle 0 x\n"), "none of svc bundle"},
		"huge":    {make([]byte, 64<<20+1), "longer than"},
	} {
		if _, err := bundle.Decode(c.data); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, and not %q", name, err, c.says)
		}
	}
}

// FuzzDecode holds that only what was encoded is read.
func FuzzDecode(f *testing.F) {
	m, err := bundle.ParseMap([]byte(`{"version":3,"sources":["a.ts"],"mappings":"AAAA"}`))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(encoded(f, &bundle.Bundle{Code: "1;", Map: m}))
	f.Add([]byte("svc-bundle 1 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n"))
	f.Add([]byte("svc-bundle 9999999999999999999999 x\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := bundle.Decode(data)
		if err != nil {
			return
		}
		if again, err := bundle.Decode(encoded(t, b)); err != nil || again.Hash() != b.Hash() {
			t.Errorf("what was read cannot be read again: %v", err)
		}
	})
}
