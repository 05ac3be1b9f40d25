package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// difference is something that Node and the engine do not do alike, and why that stays.
type difference struct {
	script  string
	prefix  string // of the names of the checks
	because string
}

// TestWebInterfacesBehaveAsInNode runs the scripts of testdata/differential in Node and in the engine, and compares all that they record.
func TestWebInterfacesBehaveAsInNode(t *testing.T) {
	notUnderRace(t)
	node, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("there is no node on the PATH, which CI must have")
		}
		t.Skip("there is no node on the PATH to compare with")
	}
	folder := filepath.Join("testdata", "differential")
	names, err := filepath.Glob(filepath.Join(folder, "*.js"))
	if err != nil {
		t.Fatal(err)
	}
	harness, err := os.ReadFile(filepath.Join(folder, "harness.js"))
	if err != nil {
		t.Fatal(err)
	}
	total, ran, used := 0, 0, map[int]int{}
	for _, name := range names {
		script := strings.TrimSuffix(filepath.Base(name), ".js")
		if script == "harness" {
			continue
		}
		t.Run(script, func(t *testing.T) {
			source, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			code := string(harness) + "\n" + string(source)
			ran++
			total += compare(t, script, inNode(t, node, code), inEngine(t, code), used)
		})
	}
	if ran < len(names)-1 {
		return // not all were asked for
	}
	for i, d := range differences {
		if used[i] == 0 && !t.Failed() {
			t.Errorf("%s %q: no longer a difference: take it off the list", d.script, d.prefix)
		}
	}
	if total < 1500 {
		t.Errorf("%d assertions, want 1,500 at least", total)
	}
	t.Attr("node-assertions", fmt.Sprint(total))
}

func compare(t *testing.T, script string, node, engine [][2]string, used map[int]int) int {
	t.Helper()
	if len(node) != len(engine) {
		t.Errorf("Node recorded %d, the engine %d", len(node), len(engine))
	}
	for i := range min(len(node), len(engine)) {
		if node[i] == engine[i] || known(script, node[i][0], used) {
			continue
		}
		t.Errorf("%s\n  node:   %s\n  engine: %s", node[i][0], node[i][1], engine[i][1])
	}
	return len(node)
}

func known(script, name string, used map[int]int) bool {
	for i, d := range differences {
		if d.script == script && strings.HasPrefix(name, d.prefix) {
			used[i]++
			return true
		}
	}
	return false
}

func inNode(t *testing.T, node, code string) [][2]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), node, "--no-warnings", "--input-type=module", "-")
	cmd.Stdin = strings.NewReader(code + "\nprocess.stdout.write(JSON.stringify(records));\n")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node: %v\n%s", err, stderr.String())
	}
	return records(t, string(out))
}

func inEngine(t *testing.T, code string) [][2]string {
	t.Helper()
	// The whole script may be one turn.
	e := start(t, "", func(c *Config) { c.Limits.Turn = time.Minute })
	out, err := run(t, e, code+"\nreturn records;")
	if err != nil {
		t.Fatalf("engine: %v", err)
	}
	return records(t, out)
}

func records(t *testing.T, text string) (all [][2]string) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatalf("records: %v in %.200s", err, text)
	}
	return all
}
