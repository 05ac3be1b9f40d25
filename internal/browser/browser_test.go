// Package browser drives a real browser through the product as it is shipped: cmd/svc as a process, with a GitHub and a mail
// server of the test beside it. What a person sees and what a browser complains of is all that counts here.
//
// Each test starts a service of its own and hands its addresses to the script of the same name, which drives Chromium. The
// script asks the test for what no browser can do, such as reading mail. One browser serves all tests but those that measure.
package browser

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"svc.dev/svc/service/mcp/mcptest"
)

func TestMain(m *testing.M) {
	if mcptest.Speak() {
		return
	}
	// A script waits about as long as it works. A flag that is given goes before this.
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	code := m.Run()
	if err := studio.close(); err != nil {
		fmt.Fprintln(os.Stderr, "browser:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// studio is what all tests share: the service's binary and a browser.
var studio workshop

// workshop is opened by the first test that needs it.
type workshop struct {
	once     sync.Once
	err      error
	folder   string
	binary   string // of the service
	chromium string // the program of the browser
	endpoint string // of the browser
	node     *exec.Cmd
	hold     io.Closer // the browser lives until this is closed
}

// enter opens the studio, and lets other tests run beside this one.
func enter(t *testing.T) {
	t.Helper()
	enterAlone(t)
	t.Parallel()
}

// enterAlone opens the studio, or skips the test where there is no browser and that does not go unseen.
func enterAlone(t *testing.T) {
	t.Helper()
	chromium, missing := needs()
	if missing != nil && os.Getenv("CI") == "true" {
		t.Fatal(missing)
	}
	if missing != nil {
		t.Skipf("%v: the pages were not tried in a browser; see scripts/setup", missing)
	}
	studio.once.Do(func() { studio.err = studio.open(chromium) })
	if studio.err != nil {
		t.Fatal(studio.err)
	}
}

// needs finds the browser and what drives it. One that is made to be driven does no more than that, and takes half the time.
func needs() (chromium string, missing error) {
	if err := needNode(); err != nil {
		return "", err
	}
	for _, name := range []string{"playwright-core", "axe-core"} {
		if _, err := os.Stat(filepath.Join("node_modules", name)); err != nil {
			return "", fmt.Errorf("%s is not installed", name)
		}
	}
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("there is no Chromium")
}

// needNode refuses a Node that is older than its packages want.
func needNode() error {
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

// open builds the service and starts the browser.
func (w *workshop) open(chromium string) (err error) {
	if w.folder, err = os.MkdirTemp("", "browser"); err != nil {
		return err
	}
	w.chromium, w.binary = chromium, filepath.Join(w.folder, "svc")
	// The service carries the web application as its sources are now.
	if out, err := exec.Command("../../scripts/web").CombinedOutput(); err != nil {
		return fmt.Errorf("build the web application: %w\n%s", err, out)
	}
	if out, err := exec.Command("go", "build", "-o", w.binary, "svc.dev/svc/cmd/svc").CombinedOutput(); err != nil {
		return fmt.Errorf("build the service: %w\n%s", err, out)
	}
	w.node = exec.Command("node", "launch.mjs", chromium)
	w.node.Stderr = os.Stderr
	if w.hold, err = w.node.StdinPipe(); err != nil {
		return err
	}
	out, err := w.node.StdoutPipe()
	if err != nil {
		return err
	}
	if err := w.node.Start(); err != nil {
		return fmt.Errorf("launch the browser: %w", err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return fmt.Errorf("launch the browser: %w", err)
	}
	w.endpoint = strings.TrimSpace(line)
	return nil
}

// close ends the browser, if a test opened one.
func (w *workshop) close() error {
	var err error
	if w.hold != nil {
		err = w.hold.Close()
	}
	if w.node != nil && w.node.Process != nil {
		err = errors.Join(err, w.node.Wait())
	}
	if w.folder != "" {
		err = errors.Join(err, os.RemoveAll(w.folder))
	}
	return err
}
