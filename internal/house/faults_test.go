package house

import (
	"go/ast"
	"go/token"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// written are the strings of the module and where they stand: those with a type of their own, and those of providers, aside.
type written struct {
	texts    map[string][]string // where each stands
	names    map[string]string   // folder.Name of a constant, and its value
	isFault  map[string]bool     // those that a fault is made with, by value or by the name of the constant
	statuses map[string][]string // where the status of one is said, by the name of the constant
}

// TestFaultTypeIsDeclaredOnce holds the type of a fault to one constant, and its status to one table.
func TestFaultTypeIsDeclaredOnce(t *testing.T) {
	w := written{map[string][]string{}, map[string]string{}, map[string]bool{}, map[string][]string{}}
	for _, s := range sources(t) {
		if !s.test && !strings.HasPrefix(filepath.ToSlash(s.path), "model/") {
			w.read(s)
		}
	}
	types := map[string]bool{}
	for name := range w.isFault {
		types[w.valueOf(name)] = true
	}
	for _, typ := range slices.Sorted(maps.Keys(types)) {
		// A single word is said of other things too.
		if all := w.texts[typ]; len(all) > 1 && strings.Contains(typ, "_") {
			t.Errorf("the fault type %s is written %d times: name one constant, which package fault has if several rooms raise it:\n\t%s", typ, len(all), strings.Join(all, "\n\t"))
		}
	}
	said := map[string][]string{}
	for name, at := range w.statuses {
		if typ := w.valueOf(name); types[typ] {
			said[typ] = append(said[typ], at...)
		}
	}
	for _, typ := range slices.Sorted(maps.Keys(said)) {
		if at := said[typ]; len(at) > 1 {
			t.Errorf("the status of the fault type %s stands in %d tables: ask fault.Status:\n\t%s", typ, len(at), strings.Join(at, "\n\t"))
		}
	}
}

func (w written) valueOf(name string) string {
	if value, ok := w.names[name]; ok {
		return value
	}
	return name
}

// read adds what a file says.
func (w written) read(s source) {
	folder := path.Base(filepath.ToSlash(filepath.Dir(s.path)))
	at := func(n ast.Node) string { return s.set.Position(n.Pos()).String() }
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			return n.Tag == nil
		case *ast.ValueSpec:
			for i, v := range n.Values {
				if text, ok := textOf(v); ok && n.Type == nil {
					w.names[folder+"."+n.Names[i].Name] = text
					if folder == "fault" {
						w.isFault[text] = true
					}
				}
			}
			return n.Type == nil
		case *ast.CallExpr:
			if fn, ok := n.Fun.(*ast.SelectorExpr); ok && fn.Sel.Name == "New" && receiver(fn.X) == "fault" {
				w.isFault[saidAs(folder, n.Args[0])] = true
			}
		case *ast.CompositeLit:
			if of, ok := n.Type.(*ast.MapType); ok && receiver(of.Key) == "string" && receiver(of.Value) == "int" {
				for _, e := range n.Elts {
					name := saidAs(folder, e.(*ast.KeyValueExpr).Key)
					w.statuses[name] = append(w.statuses[name], at(e))
				}
			}
		case *ast.BasicLit:
			if text, ok := textOf(n); ok {
				w.texts[text] = append(w.texts[text], at(n))
			}
		}
		return true
	})
}

func textOf(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

// saidAs is a string as it is written, or the name of its constant with the package.
func saidAs(folder string, e ast.Expr) string {
	if of, ok := e.(*ast.SelectorExpr); ok {
		return receiver(of.X) + "." + of.Sel.Name
	}
	if text, ok := textOf(e); ok {
		return text
	}
	return folder + "." + receiver(e)
}
