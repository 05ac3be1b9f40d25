package house

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "svc.dev/svc"

// rooms are the packages of the map in ARCHITECTURE.md, and what each may import of this module. A package that stands
// below a room belongs to it unless it has a line of its own.
var rooms = map[string][]string{
	"fault":               {},
	"stream":              {},
	"client":              {"stream", "fault"},
	"memory":              {},
	"iso":                 {},
	"workflow":            {"stream", "iso", "fault"},
	"model":               {"stream"},
	"conversation":        {"model", "stream", "iso", "fault"},
	"internal/schema":     {"fault"},
	"internal/skew":       {},
	"internal/amount":     {},
	"internal/build":      {},
	"internal/command":    {},
	"internal/dist":       {"internal/build"},
	"internal/cli":        {"client", "internal/command", "fault"},
	"":                    {"conversation", "workflow", "model", "memory", "stream", "fault", "internal/schema", "internal/skew"},
	"channel":             {"", "conversation", "memory", "iso", "fault"},
	"tool":                {"", "fault"},
	"sqlstore":            {"", "internal/jsonl", "internal/sqldb", "workflow", "stream", "fault"},
	"storetest":           {"", "workflow", "stream", "fault"},
	"httpapi":             {"", "conversation", "workflow", "memory", "stream", "iso", "fault"},
	"internal/sqldb":      {},
	"internal/archive":    {},
	"internal/outbox":     {"internal/sqldb"},
	"internal/listing":    {"internal/sqldb", "fault"},
	"internal/front":      {"memory"},
	"internal/outward":    {},
	"internal/script":     {"fault"},
	"internal/bundle":     {},
	"bench":               {"*"},
	"internal/processors": {},
	"internal/tally":      {"internal/processors"},
	"internal/notepad":    {},
	"internal/house":      {},
	"internal/jsonl":      {},
	"internal/child":      {"internal/notepad"},
	"internal/critic":     {"", "conversation", "workflow", "stream"},
	"internal/crash":      {"*"},
	"internal/outage":     {"internal/child"},
	"internal/contract":   {"", "conversation", "model", "fault"},
	"internal/outside":    {"*"},
	"internal/torture":    {"internal/contract/program"},
	"internal/flood":      {"internal/sqldb"},
	"internal/browser":    {"*"},
	"api":                 {},
	"service/scope":       {"fault"},
	"service/strictjson":  {"fault"},
	"service/page":        {"internal/amount"},
	"service/application": {},
	"service/redact":      {"fault"},
	"service/secret":      {"internal/sqldb", "service/strictjson", "service/redact", "iso", "fault"},
	"service/audit":       {"internal/sqldb", "internal/listing", "iso", "fault"},
	"service/throttle":    {"internal/sqldb", "internal/front"},
	"service/mail":        {"internal/sqldb", "internal/outbox"},
	"service/workspace":   {"internal/sqldb", "internal/listing", "service/scope", "service/strictjson", "service/secret", "service/audit", "service/mail", "service/throttle", "iso", "fault"},
	"service/account": {"internal/sqldb", "internal/listing", "service/scope", "service/strictjson", "service/secret", "service/audit", "service/throttle",
		"service/mail", "service/workspace", "memory", "iso", "fault"},
	"service/apikey": {"internal/sqldb", "internal/listing", "service/account", "service/strictjson", "service/secret", "service/audit", "service/throttle", "service/mail",
		"service/workspace", "iso", "fault"},
	"service/device": {"internal/sqldb", "service/account", "service/apikey", "service/scope", "service/strictjson", "service/secret", "service/audit", "service/throttle", "service/workspace",
		"iso", "fault"},
	"service/app": {"internal/sqldb", "service/account", "service/strictjson", "service/secret", "service/audit", "iso", "fault"},
	"service/installation": {"internal/sqldb", "internal/outbox", "service/app", "service/account", "service/strictjson", "service/secret", "service/audit", "service/workspace",
		"memory", "iso", "fault"},
	"service/account/accounttest": {"internal/sqldb", "internal/listing", "service/account", "service/apikey", "service/device", "service/app", "service/installation", "service/secret", "service/audit",
		"service/throttle", "service/mail", "service/workspace", "fault"},

	"internal/contract/program": {"", "httpapi", "sqlstore", "internal/contract"},

	"service/models":     {"model", "internal/sqldb", "internal/outward", "service/redact", "service/secret", "service/audit", "service/strictjson", "iso", "fault"},
	"service/agent":      {"", "internal/jsonl", "internal/sqldb", "internal/listing", "service/strictjson", "service/audit", "iso", "fault"},
	"service/vault":      {"internal/sqldb", "service/secret", "service/audit", "fault"},
	"service/mcp":        {"", "tool", "internal/sqldb", "internal/listing", "internal/outward", "service/account", "service/strictjson", "service/redact", "service/secret", "service/audit", "iso", "fault"},
	"service/storage":    {"internal/sqldb", "internal/listing", "service/scope", "service/audit", "iso", "memory", "fault"},
	"service/project":    {"internal/sqldb", "internal/listing", "service/scope", "service/strictjson", "service/audit", "service/storage", "iso", "fault"},
	"service/repository": {"internal/sqldb", "service/strictjson", "service/audit", "service/storage", "service/project", "memory", "fault"},
	"service/engine":     {"", "httpapi", "channel", "model", "workflow", "memory", "internal/listing", "service/agent", "service/scope", "iso", "fault"},
	"service/offer":      {"", "conversation", "workflow", "stream", "memory", "internal/sqldb", "internal/listing", "service/access", "service/agent", "service/scope", "service/workspace", "iso", "fault"},
	"service/toolbox":    {"", "workflow", "internal/outward", "internal/sqldb", "internal/listing", "service/access", "service/audit", "service/project", "service/scope", "service/workspace", "memory", "fault"},
	"service/receipt":    {"internal/sqldb", "service/secret", "fault"},
	"service/access":     {"internal/sqldb", "service/account", "service/apikey", "service/workspace", "service/audit", "service/scope", "fault"},
	"service/operation": {"conversation", "model", "internal/listing", "service/access", "service/account", "service/agent", "service/apikey", "service/device", "service/app", "service/installation", "service/audit", "service/workspace", "service/storage", "service/project", "service/repository", "service/secret", "service/vault", "service/models", "service/mcp",
		"service/engine", "service/page", "service/scope", "service/strictjson", "service/toolbox", "api", "iso", "fault"},
	"service/site":    {"internal/listing", "service/access", "service/account", "service/apikey", "service/device", "service/operation", "service/page", "service/scope", "service/strictjson", "service/workspace", "fault"},
	"service/surface": {"internal/sqldb", "internal/front", "internal/listing", "service/access", "service/audit", "service/page", "service/scope", "service/strictjson", "service/throttle", "memory", "fault"},
	"service/gateway": {"internal/sqldb", "internal/listing", "service/access", "service/application", "service/engine", "service/operation", "service/site", "service/account", "service/apikey", "service/device", "service/installation", "service/audit", "service/page", "service/scope", "service/strictjson",
		"service/surface", "service/workspace", "service/project", "service/receipt", "service/redact", "memory", "fault"},
	"service/database": {"internal/sqldb", "sqlstore", "service/secret", "service/audit", "service/throttle", "service/mail", "service/workspace",
		"service/account", "service/project", "service/receipt", "service/models", "service/agent", "service/mcp", "service/offer", "service/device"},
	"service/config":  {"internal/outward", "service/account", "service/database", "service/mail", "service/models", "service/scope", "service/secret"},
	"service/doctor":  {"internal/sqldb", "internal/amount", "internal/bundle", "service/agent", "service/config", "service/database", "service/engine", "service/gateway", "service/models", "service/scope", "service/secret", "service/toolbox", "fault"},
	"service/backup":  {"internal/archive", "internal/sqldb", "sqlstore", "service/database", "service/project"},
	"service/parcel":  {"", "internal/amount", "internal/archive", "internal/jsonl", "internal/listing", "internal/sqldb", "sqlstore", "service/agent", "service/audit", "service/backup", "service/project", "service/scope", "service/workspace", "fault"},
	"service/operate": {"internal/sqldb", "service/account", "service/audit", "service/backup", "service/database", "service/parcel", "service/redact", "service/secret", "fault"},
	"service":         {"*"},
	"ts":              {"", "httpapi", "conversation", "workflow", "iso", "internal/bundle", "internal/script", "fault"},
	"ts/dev":          {"", "httpapi", "model", "ts", "fault"},
	"cmd/svc":         {"service", "service/backup", "service/config", "service/doctor", "service/operate", "service/operation", "service/parcel", "internal/amount", "internal/archive", "internal/build", "internal/cli", "internal/command", "fault"},
	"examples":        {"*"},
	"sdk/typescript":  {},
	"web":             {},
}

// onlyFor are rooms that nobody else may import.
var onlyFor = map[string][]string{
	"service": {"cmd/svc", "bench"},
	// No room reaches through the operator's configuration: the assembly gives each what it needs, as values. Doctor judges it.
	"service/config":   {"service", "service/doctor", "cmd/svc", "bench"},
	"service/doctor":   {"service", "cmd/svc"},
	"service/operate":  {"service", "cmd/svc"},
	"internal/child":   {"internal/outage"},
	"internal/critic":  {},
	"internal/torture": {},
	"internal/crash":   {},
	"internal/outage":  {},
	"internal/flood":   {},
	"internal/dist":    {},
	"internal/browser": {},
	"web":              {"service"},
	"internal/cli":     {"cmd/svc"},
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

// mostFiles is how many files a package has at most, tests aside: more are more than one noun.
const mostFiles = 30

func TestMapHasNoCrowdedRooms(t *testing.T) {
	for _, p := range packages(t) {
		if len(p.GoFiles) > mostFiles {
			t.Errorf("%s has %d files, more than %d: which nouns are they?", p.ImportPath, len(p.GoFiles), mostFiles)
		}
	}
}

// TestOnlySQLRoomsAskForTheDialect keeps what the databases do differently in two rooms: others write what both understand.
func TestOnlySQLRoomsAskForTheDialect(t *testing.T) {
	for _, p := range packages(t) {
		if room, _ := roomOf(p.ImportPath); room == "internal/sqldb" || room == "sqlstore" {
			continue
		}
		for _, file := range p.GoFiles {
			text, err := os.ReadFile(filepath.Join(p.Dir, file))
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(text, []byte(".Dialect()")) {
				t.Errorf("%s/%s asks for the dialect: see sqldb.Tx.ForUpdate, Lock and sqldb.DB.Shared", p.ImportPath, file)
			}
		}
	}
}

type listed struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
}

func packages(t *testing.T) []listed {
	t.Helper()
	all, err := known()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	return all
}

var known = sync.OnceValues(func() (all []listed, err error) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,Imports", "./...").Output()
	if err != nil {
		return nil, err
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
})

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
