package svc_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "svc.dev/svc"

// rooms are the packages of the map in ARCHITECTURE.md, and what each may import of this module. A package that stands
// below a room belongs to it unless it has a line of its own.
var rooms = map[string][]string{
	"fault":              {},
	"stream":             {},
	"memory":             {},
	"iso":                {},
	"workflow":           {"stream", "iso", "fault"},
	"model":              {"stream"},
	"conversation":       {"model", "stream", "iso", "fault"},
	"":                   {"conversation", "workflow", "model", "memory", "stream", "fault"},
	"channel":            {"", "conversation", "memory", "iso", "fault"},
	"tool":               {"", "fault"},
	"sqlstore":           {"", "internal/sqldb", "workflow", "stream", "fault"},
	"storetest":          {"", "workflow", "stream", "fault"},
	"httpapi":            {"", "conversation", "workflow", "memory", "stream", "iso", "fault"},
	"internal/sqldb":     {},
	"internal/front":     {"memory"},
	"internal/bench":     {"*"},
	"internal/tally":     {},
	"internal/child":     {},
	"internal/critic":    {"", "conversation", "workflow", "stream"},
	"internal/crash":     {"*"},
	"internal/outage":    {"internal/child"},
	"internal/contract":  {"", "conversation", "model", "fault"},
	"internal/outside":   {"*"},
	"internal/flood":     {"internal/sqldb"},
	"internal/browser":   {"*"},
	"api":                {},
	"service/scope":      {"fault"},
	"service/strictjson": {"fault"},
	"service/page":       {},
	"service/secret":     {"internal/sqldb", "fault"},
	"service/audit":      {"internal/sqldb", "iso", "fault"},
	"service/throttle":   {"internal/sqldb", "internal/front"},
	"service/mail":       {"internal/sqldb"},
	"service/workspace":  {"internal/sqldb", "service/scope", "service/strictjson", "service/audit", "service/mail", "service/throttle", "fault"},
	"service/account": {"internal/sqldb", "service/scope", "service/strictjson", "service/secret", "service/audit", "service/throttle",
		"service/mail", "service/workspace", "memory", "fault"},
	"service/vault":   {"internal/sqldb", "service/secret", "service/audit", "fault"},
	"service/project": {"internal/sqldb", "service/scope", "service/strictjson", "service/audit", "memory", "fault"},
	"service/engine":  {"", "httpapi", "channel", "model", "workflow", "memory", "service/scope", "iso", "fault"},
	"service/gateway": {"internal/sqldb", "service/account", "service/audit", "service/page", "service/scope", "service/strictjson",
		"service/throttle", "service/workspace", "service/project", "service/secret", "service/vault", "memory", "api", "iso", "fault"},
	"service":  {"*"},
	"cmd/svc":  {"service", "fault"},
	"examples": {"*"},
}

// onlyFor are rooms that nobody else may import.
var onlyFor = map[string][]string{
	"service":          {"cmd/svc"},
	"internal/bench":   {},
	"internal/child":   {"internal/outage"},
	"internal/critic":  {},
	"internal/crash":   {},
	"internal/outage":  {},
	"internal/flood":   {},
	"internal/browser": {},
	"cmd/svc":          {},
	"examples":         {},
}

// TestImportsOnlyGoDown executes the map: a room imports what its line names, and a new room needs a line.
func TestImportsOnlyGoDown(t *testing.T) {
	for _, p := range packages(t) {
		from, ok := roomOf(p.ImportPath)
		if !ok {
			t.Errorf("%s is not on the map", p.ImportPath)
			continue
		}
		for _, path := range p.Imports {
			if path != module && !strings.HasPrefix(path, module+"/") {
				continue
			}
			to, _ := roomOf(path)
			if !mayImport(from, to) {
				t.Errorf("%s imports %s, which the map does not allow", p.ImportPath, path)
			}
		}
	}
}

func mayImport(from, to string) bool {
	if from == to {
		return true
	}
	if owners, restricted := onlyFor[to]; restricted && !slices.Contains(owners, from) {
		return false
	}
	return slices.Contains(rooms[from], to) || slices.Contains(rooms[from], "*")
}

// roomOf is the longest line of the map that the path stands below.
func roomOf(path string) (string, bool) {
	rest := strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
	for rest != "" {
		if _, ok := rooms[rest]; ok {
			return rest, true
		}
		i := strings.LastIndex(rest, "/")
		if i < 0 {
			return "", false
		}
		rest = rest[:i]
	}
	return "", true
}

type listed struct {
	ImportPath string
	Imports    []string
}

func packages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// TestMapNamesEveryRoom holds ARCHITECTURE.md to the same list.
func TestMapNamesEveryRoom(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	for room := range rooms {
		if room == "" {
			continue
		}
		if !bytes.Contains(text, []byte("\n"+room+"/ ")) {
			t.Errorf("ARCHITECTURE.md has no line for %s/", room)
		}
	}
}
