// Command tally runs go test, once or in stages, and ends with how many tests ran, which were skipped and why, and the figures that
// tests told as attributes (testing.T.Attr). A package is one line; what a failed test printed is shown whole, and nothing else of the
// others.
//
//	tally ./a ./b -- -race ./c              is two stages: go test ./a ./b, then go test -race ./c
//	tally -beside 'make x' ./a -- ./b       runs make x while ./a waits for disks and clocks, and before ./b
//
// Each stage may have a command beside it. What failed while other machines of the host took more than a tenth of the
// processors is tried again alone, and named at the end: a deadline of a test says little there.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"svc.dev/svc/internal/processors"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	t := newTally(ctx, os.Stdout)
	began, before := time.Now(), processors.Now()
	err := t.runAll(stages(os.Args[1:]))
	t.close(time.Since(began), processors.Now().Since(before).String())
	if err != nil {
		fmt.Fprintln(os.Stderr, "tally:", err)
		os.Exit(1)
	}
}

// stages are the arguments between the dashes.
func stages(args []string) (all [][]string) {
	for len(args) > 0 {
		end := slices.Index(args, "--")
		if end < 0 {
			end = len(args)
		}
		if end > 0 {
			all = append(all, args[:end])
		}
		args = args[min(len(args), end+1):]
	}
	return all
}

// event is a line of go test -json.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64
	Key     string // of an attribute
	Value   string
}

// tally counts what tests say.
type tally struct {
	ctx            context.Context // ends what runs beside
	out            io.Writer
	robbed         func(since processors.Share) bool
	passed, failed int
	failures       failures
	pardoned       []string            // failed among others on a machine that was taken from, and passed alone
	skips          map[string][]string // tests by the reason
	figures        map[string]string   // what tests told, by the test and its name
	printed        map[string]*bytes.Buffer
}

func newTally(ctx context.Context, out io.Writer) *tally {
	robbed := func(since processors.Share) bool { return processors.Now().Since(since).Robbed() }
	return &tally{ctx: ctx, out: out, robbed: robbed, failures: failures{}, skips: map[string][]string{}, figures: map[string]string{}, printed: map[string]*bytes.Buffer{}}
}

// runAll runs stage after stage until one fails.
func (t *tally) runAll(all [][]string) error {
	for n, args := range all {
		began := time.Now()
		wait := func() error { return nil }
		if len(args) > 1 && args[0] == "-beside" {
			wait, args = t.startBeside(args[1]), args[2:]
		}
		before := processors.Now()
		err := t.run(args)
		tested, robbed := time.Since(began), t.robbed(before)
		aside := wait()
		if err != nil && robbed {
			err = t.runAgain(args, err)
		}
		if err = errors.Join(err, aside); err != nil {
			return fmt.Errorf("go test %s: %w", strings.Join(args, " "), err)
		}
		if len(all) > 1 {
			fmt.Fprintf(t.out, "stage %d of %d took %s, with what ran beside it %s\n", n+1, len(all), tested.Round(time.Second), time.Since(began).Round(time.Second))
		}
	}
	return nil
}

// startBeside begins a command that runs beside a stage, of the lowest priority: it takes what the tests leave. Where Linux shares a
// processor among sessions first, a session of its own has that priority too, or what the tests start would have to share
// with it evenly. What it printed is shown when it has ended.
func (t *tally) startBeside(command string) (wait func() error) {
	const lowest = `{ echo 19 >/proc/self/autogroup; } 2>/dev/null; exec nice -n 19 sh -c "$0"`
	cmd := exec.CommandContext(t.ctx, "sh", "-c", lowest, command)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &printed
	if err := cmd.Start(); err != nil {
		return func() error { return err }
	}
	return func() error {
		err := cmd.Wait()
		_, _ = t.out.Write(printed.Bytes())
		if err != nil {
			err = fmt.Errorf("%s: %w", command, err)
		}
		return err
	}
}

// run is one go test. Its folder, -C, has to stand first.
func (t *tally) run(args []string) error {
	line := []string{"test"}
	if len(args) > 1 && args[0] == "-C" {
		line, args = append(line, args[:2]...), args[2:]
	}
	cmd := exec.Command("go", append(append(line, "-json"), args...)...)
	cmd.Stderr = os.Stderr
	said, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := t.listen(said); err != nil {
		return errors.Join(err, cmd.Wait())
	}
	return cmd.Wait()
}

// listen reads to the end what go test says. A line that is not one of its events is shown as it is.
func (t *tally) listen(said io.Reader) error {
	for lines := bufio.NewReader(said); ; {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil || e.Action == "" {
				fmt.Fprintf(t.out, "%s", line)
			} else {
				t.hear(e)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (t *tally) hear(e event) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output", "build-output":
		if e.Package == "" { // of a build
			fmt.Fprint(t.out, e.Output)
			return
		}
		if t.printed[key] == nil {
			t.printed[key] = new(bytes.Buffer)
		}
		t.printed[key].WriteString(e.Output)
		return
	case "attr":
		t.figures[nameOf(e)+" "+e.Key] = e.Value
		return
	case "pass", "fail", "skip":
	default:
		return
	}
	printed := t.printed[key]
	delete(t.printed, key)
	if e.Test == "" {
		t.hearPackage(e, printed)
		return
	}
	switch e.Action {
	case "pass":
		t.passed++
	case "skip":
		why := reason(printed)
		t.skips[why] = append(t.skips[why], nameOf(e))
	case "fail":
		t.failed++
		t.failures.of(e.Package).add(e.Test)
		fmt.Fprintf(t.out, "\n%s\n%s\n", e.Package, printed)
	}
}

// nameOf is the test that an event is of, as people say it.
func nameOf(e event) string { return strings.TrimPrefix(e.Package, "svc.dev/svc/") + "." + e.Test }

// hearPackage shows the line of a package, and all that it said outside of its tests when it failed.
func (t *tally) hearPackage(e event, printed *bytes.Buffer) {
	switch {
	case e.Action == "fail":
		t.hearUnfinished(e.Package)
		t.failures.of(e.Package)
		fmt.Fprintf(t.out, "FAIL  %s  %.1fs\n%s", e.Package, e.Elapsed, text(printed))
	case e.Action == "skip": // it has no tests
	default:
		line := fmt.Sprintf("ok    %s  %.1fs", e.Package, e.Elapsed)
		if strings.Contains(text(printed), "(cached)") {
			line += "  (cached)"
		}
		fmt.Fprintln(t.out, line)
	}
}

// hearUnfinished shows what tests said that were never heard to end: their process did before. Each of them has failed.
func (t *tally) hearUnfinished(pkg string) {
	for _, key := range slices.Sorted(maps.Keys(t.printed)) {
		if !strings.HasPrefix(key, pkg+" ") {
			continue
		}
		t.failed++
		t.failures.of(pkg).whole = true
		fmt.Fprintf(t.out, "\n%s did not end\n%s\n", key, t.printed[key])
		delete(t.printed, key)
	}
}

func text(b *bytes.Buffer) string {
	if b == nil {
		return ""
	}
	return b.String()
}

// reason is what a test said when it skipped itself: the last line that is not go test's own.
func reason(printed *bytes.Buffer) string {
	why := "no reason given"
	for line := range strings.Lines(text(printed)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "--- ") {
			continue
		}
		why = line
		if file, said, found := strings.Cut(line, ": "); found && strings.Contains(file, "_test.go:") {
			why = said
		}
	}
	return why
}

// close says what came of it.
func (t *tally) close(took time.Duration, quiet string) {
	skipped := 0
	for _, tests := range t.skips {
		skipped += len(tests)
	}
	fmt.Fprintf(t.out, "\n%d tests passed, %d failed, %d skipped, in %s; %s\n", t.passed, t.failed, skipped, took.Round(time.Second), quiet)
	for _, name := range slices.Sorted(maps.Keys(t.figures)) {
		fmt.Fprintf(t.out, "  %s: %s\n", name, t.figures[name])
	}
	for _, name := range t.pardoned {
		fmt.Fprintf(t.out, "  failed while other machines took the processors, and passed alone: %s\n", name)
	}
	for _, why := range slices.Sorted(maps.Keys(t.skips)) {
		tests := t.skips[why]
		slices.Sort(tests)
		fmt.Fprintf(t.out, "  skipped %d: %s\n          %s\n", len(tests), why, few(tests))
	}
}

// few names some of many.
func few(tests []string) string {
	const most = 4
	if len(tests) <= most {
		return strings.Join(tests, " ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(tests[:most], " "), len(tests)-most)
}
