// Package typescript runs the tests of the TypeScript SDK, with the services that they need: the contract program on both
// databases, and a gateway.
package typescript

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/servicetest"
)

// needNode skips the test where there is no node, unless that would go unseen, and sees that the tools are installed.
func needNode(t *testing.T) {
	t.Helper()
	if err := node(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skipf("%v: the TypeScript SDK was not tested", err)
	}
	if _, err := os.Stat("node_modules/typescript"); err == nil {
		return
	}
	run(t, nil, "npm", "ci", "--no-audit", "--no-fund")
}

func node() error {
	if _, err := exec.LookPath("npm"); err != nil {
		return err
	}
	out, err := exec.Command("node", "--version").Output()
	if err != nil {
		return fmt.Errorf("node is missing: %w", err)
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(string(out), "v"), ".")
	if n, err := strconv.Atoi(major); err != nil || n < 20 {
		return fmt.Errorf("node is %s, and 20 is needed", strings.TrimSpace(string(out)))
	}
	return nil
}

// soak asks for the full counts.
var soak = os.Getenv("SVC_SOAK") == "1"

// workshop is what the tests share: the package and its tests, compiled, and the contract program.
var workshop struct {
	once     sync.Once
	ok       bool
	contract string
	torture  string // the proxy of internal/torture; empty where there is none
}

// enter compiles what the tests need, once.
func enter(t *testing.T) {
	t.Helper()
	needNode(t)
	workshop.once.Do(func() {
		run(t, nil, "npm", "run", "--silent", "compile")
		workshop.contract = filepath.Join(folder, "contract")
		run(t, nil, "go", "build", "-o", workshop.contract, "svc.dev/svc/examples/contract")
		if _, err := os.Stat("../../internal/torture/cmd"); err == nil {
			workshop.torture = filepath.Join(folder, "torture")
			run(t, nil, "go", "build", "-o", workshop.torture, "svc.dev/svc/internal/torture/cmd")
		}
		workshop.ok = true
	})
	if !workshop.ok {
		t.Fatal("the package does not compile")
	}
}

var folder string // of the contract program

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "svc-sdk"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// suite runs one file of tests.
func suite(t *testing.T, file string, settings ...string) {
	t.Helper()
	settings = append(settings, "SVC_CONTRACT="+workshop.contract, "SVC_TORTURE="+workshop.torture, "CHROMIUM="+chromium())
	out := run(t, settings, "node", "--expose-gc", "--test-reporter=spec", file)
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if told, isDiagnostic := strings.CutPrefix(line, "ℹ "); isDiagnostic {
			tell(t, told)
		} else if strings.Contains(line, "# SKIP") {
			t.Log(line)
		}
	}
}

// tell logs what a test says besides. A figure, such as "figure observe 11000 bytes", is told to those who read no logs too.
func tell(t *testing.T, told string) {
	t.Helper()
	t.Log(told)
	if figure, isFigure := strings.CutPrefix(told, "figure "); isFigure {
		name, value, _ := strings.Cut(figure, " ")
		t.Attr(name, value)
	}
}

// chromium is the browser of CHROMIUM, else one on the PATH, and nothing where there is none.
func chromium() string {
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// TestSDK runs every file of tests by itself, those that talk to the contract program on SQLite.
func TestSDK(t *testing.T) {
	enter(t)
	files, err := filepath.Glob("build/*.test.js")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests: %v", err)
	}
	if chromium() == "" && os.Getenv("CI") == "true" {
		t.Fatal("there is no Chromium")
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".test.js")
		if name == "product" || name == "nodes" { // those that need a gateway, or PostgreSQL
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			suite(t, file)
		})
	}
}

// TestSDKOnPostgres runs those that talk to the contract program. Cuts are the client's affair, whatever the database.
func TestSDKOnPostgres(t *testing.T) {
	enter(t)
	for _, name := range []string{"contract", "nodes"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			suite(t, "build/"+name+".test.js", "SVC_CONTRACT_DB="+sqldbtest.Postgres(t))
		})
	}
}

func TestSDKThroughTheGateway(t *testing.T) {
	enter(t)
	sqldbtest.Each(t, func(t *testing.T, address string) {
		c := servicetest.Config(t)
		c.Database = address
		ada := servicetest.Start(t, c).SignUp(t, "agents:read", "agents:write", "workflows:run", "runs:read", "projects:read", "projects:write")
		suite(t, "build/product.test.js", "SVC_PRODUCT="+ada.API, "SVC_PRODUCT_KEY="+ada.Key)
	})
}
