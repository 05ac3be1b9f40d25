package main

import (
	"flag"
	"fmt"
	"go/constant"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/service/config"
)

var update = flag.Bool("update", false, "write docs/limits.md")

// The units in which a limit is told.
const (
	inBytes = "bytes"
	inTime  = "time"
	inCount = ""
)

// fixed are the limits that are no setting: where each stands in the code, and what it bounds. A name that begins with a dot is a field
// whose default is meant.
var fixed = []struct{ file, name, unit, about string }{
	{"conversation/message.go", "MaxImage", inBytes, "text of one image, as base64"},
	{"conversation/message.go", "MaxAttachments", inCount, "attachments of a message"},
	{"conversation/message.go", "MaxAttributes", inCount, "attributes of a message"},
	{"conversation/message.go", "MaxAttributeBytes", inBytes, "names and values of its attributes"},
	{"workflow/record.go", "MaxRecord", inBytes, "one record: the result of a step or a run"},
	{"stream/frame.go", "PageItems", inCount, "items of a page of a stream"},
	{"stream/frame.go", "PageBytes", inBytes, "bytes of a page of a stream, or one item"},
	{"httpapi/httpapi.go", ".LongPoll", inTime, "wait of a long-poll"},
	{"httpapi/httpapi.go", ".Heartbeat", inTime, "silence of a stream of server-sent events"},
	{"httpapi/httpapi.go", ".WriteTimeout", inTime, "patience with a reader that takes nothing"},
	{"httpapi/stop.go", "maxSpread", inTime, "time over which open streams end at a stop"},
	{"runtime.go", ".Lease", inTime, "lease of a stream on PostgreSQL"},
	{"runtime.go", ".Park", inTime, "longest wait of a run that stays on its node"},
	{"runtime.go", ".MaxAttempts", inCount, "interruptions of a prompt, or of a run without a finished step"},
	{"agent.go", "defaultTimeout", inTime, "time of one prompt"},
	{"agent.go", "defaultContext", inCount, "tokens of a context before it is compacted, where the model says nothing else"},
	{"agent.go", "maxDepth", inCount, "depth of agents that ask agents"},
	{"tool.go", "defaultToolTimeout", inTime, "time of one call of a tool"},
	{"toolcall.go", "maxCalls", inCount, "calls of tools in one reply"},
	{"toolcall.go", "atOnce", inCount, "of them at once"},
	{"toolcall.go", "maxPassed", inCount, "tasks that one answer hands to other agents"},
	{"internal/sqldb/writer.go", "maxQueue", inCount, "writes that wait on SQLite"},
	{"internal/listing/listing.go", "DefaultLimit", inCount, "items of a page of a list"},
	{"internal/listing/listing.go", "MaxLimit", inCount, "items of a page at most"},
	{"service/agent/check.go", "maxAgents", inCount, "agents of a workspace"},
	{"service/agent/check.go", "MaxInstructions", inBytes, "instructions of an agent"},
	{"service/agent/check.go", "maxList", inCount, "tools, hosts, MCP servers and projects of an agent, each"},
	{"service/apikey/key.go", "maxKeys", inCount, "API keys of a workspace"},
	{"service/account/password.go", "minPassword", inCount, "characters of a password at least"},
	{"service/workspace/workspaces.go", "maxBusinesses", inCount, "workspaces that one account owns"},
	{"service/workspace/workspaces.go", "maxPeople", inCount, "people of a workspace"},
	{"service/workspace/workspaces.go", "maxTeams", inCount, "teams of a workspace"},
	{"service/project/record.go", "maxProjects", inCount, "projects of a workspace"},
	{"service/project/path.go", "maxPath", inBytes, "path of a file"},
	{"service/mcp/draft.go", "maxServers", inCount, "MCP servers of a workspace"},
	{"service/mcp/offer.go", "maxGiven", inCount, "tools of MCP servers that one agent is given"},
	{"service/toolbox/fetch.go", "maxPage", inBytes, "answer that `http_fetch` reads"},
	{"service/toolbox/search.go", "maxFound", inCount, "places that `search_files` finds"},
	{"service/offer/call.go", "maxWait", inTime, "wait of an MCP client for one call"},
}

// TestLimitsPageSaysWhatTheCodeSays prints docs/limits.md from the settings and the constants, or compares it.
func TestLimitsPageSaysWhatTheCodeSays(t *testing.T) {
	var page strings.Builder
	page.WriteString("# Limits and defaults\n\nA test prints this page from the code.\n\n## Settings\n\n" +
		"A flag goes before the environment, that before `svc.toml`, and that before the default. A secret may also be given as a file, whose\n" +
		"name stands in its variable with `_FILE` appended. Durations are written `30s`, `15m`, `14d`, sizes `64KiB`, `64MiB`, `1GiB`, lists with commas.\n\n" +
		"| key | default | what it is | variable, flag |\n|---|---|---|---|\n")
	for _, s := range new(config.Config).Settings() {
		fmt.Fprintf(&page, "| `%s` | %s | %s | `%s`%s |\n", s.Key, defaultOf(s), escaped.Replace(s.About), s.Env, flagOf(s))
	}
	page.WriteString("\n## Limits\n\nThese are not settings.\n\n| limit | of |\n|---|---|\n")
	for _, f := range fixed {
		fmt.Fprintf(&page, "| %s | %s |\n", valueIn(t, f.file, f.name, f.unit), f.about)
	}
	path := filepath.Join("..", "..", "docs", "limits.md")
	if *update {
		if err := os.WriteFile(path, []byte(page.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if text(t, filepath.Dir(path), "limits.md") != page.String() {
		t.Errorf("docs/limits.md is not what the code says: go test ./cmd/svc -run %s -update", t.Name())
	}
}

// escaped keeps a page from taking a word in angles for a tag.
var escaped = strings.NewReplacer("<", "&lt;", ">", "&gt;")

func flagOf(s config.Setting) string {
	if s.Flag == "" {
		return ""
	}
	return ", `--" + s.Flag + "`"
}

func defaultOf(s config.Setting) string {
	if s.Default == "" {
		return escaped.Replace(s.Else)
	}
	return "`" + s.Default + "`"
}

// units are what durations of the code are written with, in nanoseconds.
var units = strings.NewReplacer("time.Hour", "3600000000000", "time.Minute", "60000000000", "time.Second", "1000000000", "time.Millisecond", "1000000")

// valueIn is a constant of the code, or the default of a field, as people say it.
func valueIn(t *testing.T, file, name, unit string) string {
	t.Helper()
	expression := regexp.MustCompile(`(?m)^\s*(?:const )?` + regexp.QuoteMeta(name) + `\s+= ([^/\n]+?)\s*(?://.*)?$`)
	if field, found := strings.CutPrefix(name, "."); found {
		expression = regexp.MustCompile(`c\.` + field + ` = cmp\.Or\(max\(c\.` + field + `, 0\), (.+)\)\n`)
	}
	found := expression.FindStringSubmatch(text(t, filepath.Join("..", ".."), file))
	if found == nil {
		t.Fatalf("%s has no %s any more", file, name)
	}
	value, err := types.Eval(token.NewFileSet(), nil, token.NoPos, units.Replace(found[1]))
	if err != nil {
		t.Fatalf("%s: %s: %v", file, name, err)
	}
	n, exact := constant.Int64Val(constant.ToInt(value.Value))
	if !exact {
		t.Fatalf("%s: %s is %s", file, name, value.Value)
	}
	return amountOf(n, unit)
}

// amountOf is a number as people say it.
func amountOf(n int64, unit string) string {
	switch {
	case unit == inTime:
		return strings.NewReplacer("h0m0s", " h", "m0s", " min", "s", " s").Replace(time.Duration(n).String())
	case unit == inBytes && n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case unit == inBytes && n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	case unit == inBytes:
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprint(n)
}
