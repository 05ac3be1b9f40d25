package house

import (
	"go/ast"
	"path/filepath"
	"slices"
	"testing"
)

// mayPause are the helpers of tests that sleep for others: eventually asks until something is true, and takes is what takes its
// time in a scene.
var mayPause = []string{"eventually", "takes"}

// TestTestsWaitForWhatTheyNeed keeps tests from sleeping for as long as something probably takes.
func TestTestsWaitForWhatTheyNeed(t *testing.T) {
	for _, s := range sources(t) {
		if n := sleeps(s.file); n > 0 && (s.test || folderOf(s) == "storetest") {
			t.Errorf("%s sleeps %d times: wait for what must be true with eventually, or use testing/synctest", filepath.ToSlash(s.path), n)
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
