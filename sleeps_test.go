package svc_test

import (
	"go/ast"
	"maps"
	"path/filepath"
	"slices"
	"testing"
)

// mayPause are the helpers of tests that sleep for others: eventually asks until something is true, and takes is what takes its
// time in a scene.
var mayPause = []string{"eventually", "takes"}

// pauses are the files of tests that still sleep elsewhere, and how often. One that sleeps less often lowers its number.
var pauses = map[string]int{
	"service/gateway/apart_test.go":   1,
	"service/gateway/midbody_test.go": 1,
}

// TestTestsWaitForWhatTheyNeed keeps tests from sleeping for as long as something probably takes.
func TestTestsWaitForWhatTheyNeed(t *testing.T) {
	found := map[string]int{}
	for _, s := range sources(t) {
		if n := sleeps(s.file); n > 0 && (s.test || folderOf(s) == "storetest") {
			found[filepath.ToSlash(s.path)] = n
		}
	}
	for _, path := range slices.Sorted(maps.Keys(found)) {
		if found[path] > pauses[path] {
			t.Errorf("%s sleeps %d times, known are %d: wait for what must be true with eventually, or use testing/synctest", path, found[path], pauses[path])
		}
	}
	for _, path := range slices.Sorted(maps.Keys(pauses)) {
		if found[path] < pauses[path] {
			t.Errorf("%s sleeps %d times: lower its number in pauses from %d, or take it off", path, found[path], pauses[path])
		}
	}
}

// sleeps is how often a file sleeps outside of the helpers that may.
func sleeps(f *ast.File) (n int) {
	ast.Inspect(f, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.FuncDecl:
			return !slices.Contains(mayPause, node.Name.Name)
		case *ast.SelectorExpr:
			if node.Sel.Name == "Sleep" && receiver(node.X) == "time" {
				n++
			}
		}
		return true
	})
	return n
}
