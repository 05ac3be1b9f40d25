package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestStagesStandBetweenDashes(t *testing.T) {
	got := stages([]string{"./a", "./b", "--", "-race", "./c", "--"})
	if len(got) != 2 || !slices.Equal(got[0], []string{"./a", "./b"}) || !slices.Equal(got[1], []string{"-race", "./c"}) {
		t.Errorf("%q", got)
	}
}

// module makes a module of one package with these tests.
func module(t *testing.T, tests string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module told\n\ngo 1.26\n", "told_test.go": "package told\n\nimport \"testing\"\n\n" + tests} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestWhatTestsSayIsCountedAndSkipsAreSeen(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go")
	}
	good := module(t, `
func TestA(t *testing.T) { t.Log("unheard"); t.Attr("size", "11 bytes of 12") }
func TestB(t *testing.T) { t.Run("x", func(*testing.T) {}); t.Run("y", func(t *testing.T) { t.Skip("there is no y here") }) }
func TestC(t *testing.T) { t.Skip("there is no y here") }
func TestD(t *testing.T) { t.SkipNow() }
`)
	if err := os.Mkdir(filepath.Join(good, "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(good, "empty", "empty.go"), []byte("package empty\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	tl := newTally(t.Context(), &out)
	if err := tl.runAll([][]string{{"-C", good, "./..."}, {"-C", good, "-count=1", "-run", "A", "./..."}}); err != nil {
		t.Fatalf("%v: %s", err, &out)
	}
	tl.close(time.Second, "it was quiet")
	for _, want := range []string{"ok    told  ", "4 tests passed, 0 failed, 3 skipped, in 1s; it was quiet\n", "\n  told.TestA size: 11 bytes of 12\n", "  skipped 2: there is no y here\n          told.TestB/y told.TestC\n", "  skipped 1: no reason given\n          told.TestD\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("does not say %q: %s", want, &out)
		}
	}
	if strings.Contains(out.String(), "unheard") || strings.Contains(out.String(), "told/empty") {
		t.Errorf("says too much: %s", &out)
	}
}

func TestAFailureIsShownWholeAndEndsTheRun(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go")
	}
	for name, c := range map[string]struct{ tests, says string }{
		"a test":     {"func TestA(t *testing.T) { t.Log(\"before\"); t.Error(\"it is wrong\") }\nfunc TestB(*testing.T) {}\n", "it is wrong"},
		"a panic":    {"func TestA(t *testing.T) { panic(\"oh no\") }\n", "oh no"},
		"a hang":     {"func TestA(t *testing.T) { t.Log(\"before\"); select {} }\n", "select (no cases)"},
		"an exit":    {"import \"os\"\n\nfunc TestA(t *testing.T) { println(\"it leaves\"); os.Exit(3) }\n", "told TestA did not end"},
		"a build":    {"func TestA(t *testing.T) { nowhere() }\n", "undefined: nowhere"},
		"a TestMain": {"func TestMain(*testing.M) { panic(\"too early\") }\n", "too early"},
	} {
		var out bytes.Buffer
		tl := newTally(t.Context(), &out)
		bad := module(t, c.tests)
		if err := tl.runAll([][]string{{"-C", bad, "-timeout", "3s", "./..."}, {"-C", module(t, "func TestLater(*testing.T) {}\n"), "./..."}}); err == nil {
			t.Errorf("%s: does not fail: %s", name, &out)
		}
		if !strings.Contains(out.String(), c.says) || strings.Contains(out.String(), "ok    told") {
			t.Errorf("%s: says %s", name, &out)
		}
	}
}

func TestACommandRunsBesideAStage(t *testing.T) {
	folder := module(t, "func TestA(*testing.T) {}\n")
	for command, fails := range map[string]bool{"echo looked": false, "echo looked; exit 3": true} {
		var out bytes.Buffer
		tl := newTally(t.Context(), &out)
		err := tl.runAll([][]string{{"-C", folder, "./..."}, {"-beside", command, "-C", folder, "./..."}})
		if (err != nil) != fails || !strings.Contains(out.String(), "looked\n") {
			t.Errorf("%s: %v: %s", command, err, &out)
		}
	}
}

// TestWhatRunsBesideEndsWithTheRun breaks a run off whose command beside it has begun something of its own.
func TestWhatRunsBesideEndsWithTheRun(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	began := filepath.Join(t.TempDir(), "began")
	wait := newTally(ctx, io.Discard).startBeside("sleep 60 & echo $$ >" + began + "; wait")
	eventually(t, "it begins", func() bool {
		text, err := os.ReadFile(began)
		return err == nil && len(text) > 0
	})
	stopped := time.Now()
	stop()
	if err := wait(); err == nil || time.Since(stopped) > 30*time.Second {
		t.Errorf("it ended after %v: %v", time.Since(stopped), err)
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not yet: %s", what)
		}
	}
}
