package house

import (
	"go/ast"
	"path/filepath"
	"testing"
)

// mostMethods is how many methods a type may have. A store has a verb of the law and its parts for each.
const (
	mostMethods        = 60
	mostMethodsOfStore = 70
)

// TestNoTypeHasTooManyMethods keeps a type from becoming the place where everything is put.
func TestNoTypeHasTooManyMethods(t *testing.T) {
	methods := map[string]int{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, decl := range s.file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv != nil {
				methods[filepath.ToSlash(filepath.Dir(s.path))+"."+receiver(fn.Recv.List[0].Type)]++
			}
		}
	}
	for name, n := range methods {
		most := mostMethods
		if name == "sqlstore.Store" {
			most = mostMethodsOfStore
		}
		if n > most {
			t.Errorf("%s has %d methods, more than %d: which nouns are they about?", name, n, most)
		}
	}
}

// receiver is the name of a method's type.
func receiver(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return receiver(of.X)
	case *ast.IndexExpr:
		return receiver(of.X)
	case *ast.IndexListExpr:
		return receiver(of.X)
	case *ast.Ident:
		return of.Name
	}
	return ""
}
