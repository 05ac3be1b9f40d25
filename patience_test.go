package svc_test

import (
	"go/ast"
	"path/filepath"
	"slices"
	"testing"
)

// toAwait are rooms whose tests still sleep where they should wait for a condition. One whose tests do not leaves the list.
var toAwait = []string{
	"cmd/svc", "internal/crash", "internal/flood", "internal/front", "internal/outage", "internal/outbox", "internal/sqldb", "sqlstore",
	"service", "service/account", "service/app", "service/audit", "service/gateway", "service/installation", "service/mail", "service/operate", "service/project", "service/secret",
}

// mayNap are the functions of tests that call time.Sleep: one waits for a condition, one is what takes its time in a scene.
var mayNap = []string{"eventually", "takes"}

// TestTestsSleepOnlyUntilSomethingIsTrue keeps tests from hoping that a while is long enough.
func TestTestsSleepOnlyUntilSomethingIsTrue(t *testing.T) {
	left := map[string]bool{}
	for _, s := range sources(t) {
		room, _ := roomOf(module + "/" + filepath.ToSlash(filepath.Dir(s.path)))
		if !s.test && room != "storetest" {
			continue
		}
		for _, decl := range s.file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || slices.Contains(mayNap, fn.Name.Name) {
				continue
			}
			for nap := range naps(fn) {
				if slices.Contains(toAwait, room) {
					left[room] = true
				} else {
					t.Errorf("%s: %s sleeps: wait for a condition", s.set.Position(nap.Pos()), fn.Name.Name)
				}
			}
		}
	}
	for _, room := range toAwait {
		if !left[room] {
			t.Errorf("the tests of %s sleep no more: take it off toAwait", room)
		}
	}
}

// naps are the calls of time.Sleep in a function.
func naps(fn *ast.FuncDecl) func(yield func(ast.Node) bool) {
	return func(yield func(ast.Node) bool) {
		for n := range ast.Preorder(fn) {
			call, ok := n.(*ast.SelectorExpr)
			if !ok || call.Sel.Name != "Sleep" {
				continue
			}
			if from, ok := call.X.(*ast.Ident); ok && from.Name == "time" && !yield(call) {
				return
			}
		}
	}
}
