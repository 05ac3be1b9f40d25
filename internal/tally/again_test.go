package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/internal/processors"
)

// failsOften is a test that fails so many times, as a file remembers, and stands beside one that is run with it or not.
func failsOften(t *testing.T, times int) (folder, ran string) {
	t.Helper()
	ran = filepath.Join(t.TempDir(), "ran")
	if err := os.WriteFile(ran, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return module(t, `
import "os"

func note(said string) string {
	text, _ := os.ReadFile("`+ran+`")
	os.WriteFile("`+ran+`", append(text, said...), 0o600)
	return string(text)
}

func TestOther(*testing.T) { note("o") }

func TestOften(t *testing.T) {
	t.Run("x", func(t *testing.T) {
		if len(note("x")) < `+string(rune('0'+times))+` { t.Error("too slow") }
	})
}
`), ran
}

func TestWhatFailsOnARobbedMachineIsTriedAlone(t *testing.T) {
	for name, c := range map[string]struct {
		times  int
		robbed bool
		ran    string
		passes bool
	}{
		"on a quiet machine a failure is one": {times: 2, ran: "ox"},
		"passes the second time":              {times: 2, robbed: true, ran: "oxx", passes: true},
		"passes the third time":               {times: 3, robbed: true, ran: "oxxx", passes: true},
		"fails too often":                     {times: 9, robbed: true, ran: "oxxx"},
	} {
		folder, ran := failsOften(t, c.times)
		var out bytes.Buffer
		tl := newTally(t.Context(), &out)
		tl.robbed = func(processors.Share) bool { return c.robbed }
		err := tl.runAll([][]string{{"-C", folder, "-count=1", "./..."}})
		tl.close(time.Second, "")
		said, _ := os.ReadFile(ran)
		if (err == nil) != c.passes || string(said) != c.ran {
			t.Errorf("%s: ran %q: %v %s", name, said, err, &out)
		}
		if told := strings.Contains(out.String(), "and passed alone: told ^(TestOften)$"); told != c.passes {
			t.Errorf("%s: says %s", name, &out)
		}
	}
}

func TestAPackageThatFailsAsAWholeIsTriedAsAWhole(t *testing.T) {
	f := failures{}
	f.of("a").add("TestA/x")
	f.of("a").add("TestA/y")
	f.of("a").add("TestB")
	f.of("b").add("TestA")
	f.of("b").whole = true
	f.of("c")
	for pkg, want := range map[string]string{"a": "^(TestA|TestB)$", "b": ".", "c": "."} {
		if got := f[pkg].pattern(); got != want {
			t.Errorf("%s: %s", pkg, got)
		}
	}
}

func TestFlagsAreWhatIsNoPackage(t *testing.T) {
	for _, c := range [][2][]string{
		{{"-C", "internal/peers", "./..."}, {"-C", "internal/peers"}},
		{{"-vet=off", "-toolexec=env A=b", "-p", "4", "-timeout", "20m", "./a", "svc.dev/svc", "svc.dev/svc/b"}, {"-vet=off", "-toolexec=env A=b", "-p", "4", "-timeout", "20m"}},
	} {
		if got := flags(c[0]); !slices.Equal(got, c[1]) {
			t.Errorf("%q", got)
		}
	}
}
