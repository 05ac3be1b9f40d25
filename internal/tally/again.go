package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// failures is what failed in a stage, by package.
type failures map[string]*failure

// failure is what failed of a package: some of its tests, or all of it, as when one of them ended the process or left
// something running.
type failure struct {
	whole bool
	tests []string
}

func (f failures) of(pkg string) *failure {
	if f[pkg] == nil {
		f[pkg] = &failure{}
	}
	return f[pkg]
}

// add counts a test as the function that it is part of.
func (f *failure) add(test string) {
	function, _, _ := strings.Cut(test, "/")
	if !slices.Contains(f.tests, function) {
		f.tests = append(f.tests, function)
	}
}

// pattern is what go test is asked to run of it.
func (f *failure) pattern() string {
	if f.whole || len(f.tests) == 0 {
		return "."
	}
	return "^(" + strings.Join(f.tests, "|") + ")$"
}

// tries is how often what failed on a machine that was taken from is run again. More than fewPackages have a fault.
const tries, fewPackages = 2, 8

// runAgain runs what failed in a stage once more, package after package with nothing beside it, and returns why it failed
// before unless all of it passes.
func (t *tally) runAgain(args []string, why error) error {
	for range tries {
		failed := t.failures
		if len(failed) == 0 || len(failed) > fewPackages {
			break
		}
		t.failures = failures{}
		for _, pkg := range slices.Sorted(maps.Keys(failed)) {
			pattern := failed[pkg].pattern()
			fmt.Fprintf(t.out, "again, alone: %s %s\n", pkg, pattern)
			if err := t.run(append(flags(args), "-p", "1", "-count", "1", "-run", pattern, pkg)); err != nil {
				why = err
				t.failures.of(pkg) // also when it said nothing
				continue
			}
			t.pardoned = append(t.pardoned, pkg+" "+pattern)
		}
		if len(t.failures) == 0 {
			return nil
		}
	}
	return why
}

// flags are the arguments of a stage without its packages, which stand last.
func flags(args []string) []string {
	end := len(args)
	for end > 0 && !strings.HasPrefix(args[end-1], "-") && strings.ContainsAny(args[end-1], "./") && (end < 2 || args[end-2] != "-C") {
		end--
	}
	return slices.Clone(args[:end])
}
