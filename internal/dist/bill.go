package main

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"svc.dev/svc/internal/build"
)

// binary is a built one, and what it says of itself.
type binary struct {
	build.Info
	sum  [sha256.Size]byte
	main string
	deps []*debug.Module
}

func readBinary(name string) (binary, error) {
	info, err := buildinfo.ReadFile(name)
	if err != nil {
		return binary{}, fmt.Errorf("read build info: %w", err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return binary{}, err
	}
	return binary{build.Of(info), sha256.Sum256(text), info.Main.Path, info.Deps}, nil
}

// The bill of materials, as CycloneDX 1.6 writes it: https://cyclonedx.org/docs/1.6/json/.
type (
	bill struct {
		Format     string      `json:"bomFormat"`
		Spec       string      `json:"specVersion"`
		Serial     string      `json:"serialNumber"`
		Version    int         `json:"version"`
		Metadata   metadata    `json:"metadata"`
		Components []component `json:"components"`
	}
	metadata struct {
		Timestamp string    `json:"timestamp,omitempty"`
		Component component `json:"component"`
	}
	component struct {
		Type     string     `json:"type"`
		Ref      string     `json:"bom-ref"`
		Name     string     `json:"name"`
		Version  string     `json:"version"`
		Scope    string     `json:"scope,omitempty"`
		Hashes   []hash     `json:"hashes,omitempty"`
		Licenses []license  `json:"licenses,omitempty"`
		PURL     string     `json:"purl"`
		Facts    []property `json:"properties,omitempty"`
	}
	hash struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"`
	}
	license struct {
		Expression string `json:"expression"`
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
)

// bill lists what is in the binary: the modules that it was linked of, Go itself, and the packages of the web application that it carries.
// Its time is the revision's and its number the binary's, so that the same binary has the same bill.
func (b binary) bill(lock string) ([]byte, error) {
	self := goModule("application", b.main, b.Version)
	self.Hashes = []hash{{"SHA-256", hex.EncodeToString(b.sum[:])}}
	self.Facts = []property{{"platform", b.OS + "/" + b.Arch}, {"revision", b.Revision}}
	all := []component{goModule("library", "std", strings.TrimPrefix(b.Go, "go"))}
	for _, m := range b.deps {
		m = cmp.Or(m.Replace, m)
		c := goModule("library", m.Path, m.Version)
		c.Facts = []property{{"go:sum", m.Sum}}
		all = append(all, c)
	}
	packages, err := readPackages(lock)
	if err != nil {
		return nil, fmt.Errorf("read packages: %w", err)
	}
	all = append(all, packages...)
	slices.SortFunc(all, func(a, b component) int { return strings.Compare(a.Ref, b.Ref) })
	text, err := json.MarshalIndent(bill{
		Format: "CycloneDX", Spec: "1.6", Serial: serial(b.sum), Version: 1,
		Metadata: metadata{b.Time, self}, Components: all,
	}, "", "  ")
	return append(text, '\n'), err
}

func goModule(kind, name, version string) component {
	purl := "pkg:golang/" + name + "@" + url.PathEscape(version)
	return component{Type: kind, Ref: purl, Name: name, Version: version, Scope: "required", PURL: purl}
}

// readPackages lists what a lock file names for use, and not for the build.
func readPackages(lock string) (all []component, err error) {
	if lock == "" {
		return nil, nil
	}
	text, err := os.ReadFile(lock)
	if err != nil {
		return nil, err
	}
	var locked struct {
		Packages map[string]struct {
			Version, License string
			Dev, Link        bool
		}
	}
	if err := json.Unmarshal(text, &locked); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for at, p := range locked.Packages {
		_, name, found := cutLast(at, "node_modules/")
		if !found || p.Dev || p.Link || p.Version == "" {
			continue
		}
		purl := "pkg:npm/" + strings.Replace(name, "@", "%40", 1) + "@" + p.Version
		if seen[purl] {
			continue
		}
		seen[purl] = true
		c := component{Type: "library", Ref: purl, Name: name, Version: p.Version, Scope: "required", PURL: purl}
		if p.License != "" {
			c.Licenses = []license{{p.License}}
		}
		all = append(all, c)
	}
	return all, nil
}

func cutLast(text, sep string) (before, after string, found bool) {
	i := strings.LastIndex(text, sep)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(sep):], true
}

// serial is a UUID (version 8) of the binary's own bytes.
func serial(sum [sha256.Size]byte) string {
	id := sum[:16]
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}
