package house

import (
	"go/ast"
	"go/token"
	"testing"
)

// TestWhatAnOverdueCallStillWritesIsNotReturned keeps functions from returning what a closure of a transaction sets beside the error of
// the call: a closure whose call was given up may be setting it still.
func TestWhatAnOverdueCallStillWritesIsNotReturned(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, d := range s.file.Decls {
			f, is := d.(*ast.FuncDecl)
			if !is || f.Body == nil {
				continue
			}
			for _, at := range returnedWithError(f.Body) {
				t.Errorf("%s: return it only where there is no error, or have sqldb.Read, Write or Snapshot give it", s.set.Position(at))
			}
		}
	}
}

// returnedWithError are the returns of a function that name an error and what a closure of a transaction before them has set.
func returnedWithError(body *ast.BlockStmt) (all []token.Pos) {
	closures := map[*ast.FuncLit]map[string]bool{}
	ast.Inspect(body, func(n ast.Node) bool {
		if lit, is := n.(*ast.FuncLit); is && takesTx(lit.Type) {
			closures[lit] = outerSet(lit)
		}
		return true
	})
	ast.Inspect(body, func(n ast.Node) bool {
		r, is := n.(*ast.ReturnStmt)
		if _, inner := n.(*ast.FuncLit); inner {
			return false
		}
		if !is || len(r.Results) == 0 || !names(r.Results[len(r.Results)-1])["err"] {
			return true
		}
		for lit, set := range closures {
			for _, result := range r.Results {
				for name := range names(result) {
					if set[name] && lit.End() < r.Pos() {
						all = append(all, r.Pos())
						return true
					}
				}
			}
		}
		return true
	})
	return all
}

// takesTx reports whether a function is one of a transaction.
func takesTx(f *ast.FuncType) bool {
	for _, p := range f.Params.List {
		star, is := p.Type.(*ast.StarExpr)
		if !is {
			continue
		}
		if id, is := star.X.(*ast.Ident); is && id.Name == "Tx" {
			return true
		}
		if sel, is := star.X.(*ast.SelectorExpr); is && sel.Sel.Name == "Tx" {
			return true
		}
	}
	return false
}

// outerSet are the names that a closure sets and does not declare.
func outerSet(lit *ast.FuncLit) map[string]bool {
	set, own := map[string]bool{}, map[string]bool{}
	declare := func(list *ast.FieldList) {
		if list == nil {
			return
		}
		for _, field := range list.List {
			for _, name := range field.Names {
				own[name.Name] = true
			}
		}
	}
	declare(lit.Type.Params)
	declare(lit.Type.Results)
	ast.Inspect(lit.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				if name := rootOf(left); name != "" && n.Tok == token.DEFINE {
					own[name] = true
				} else if name != "" {
					set[name] = true
				}
			}
		case *ast.ValueSpec:
			for _, name := range n.Names {
				own[name.Name] = true
			}
		case *ast.UnaryExpr:
			if name := rootOf(n.X); n.Op == token.AND && name != "" {
				set[name] = true
			}
		case *ast.FuncLit:
			declare(n.Type.Params)
			declare(n.Type.Results)
		}
		return true
	})
	for name := range own {
		delete(set, name)
	}
	return set
}

// rootOf is the variable that an expression is a part of; empty: none.
func rootOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return rootOf(e.X)
	case *ast.IndexExpr:
		return rootOf(e.X)
	case *ast.StarExpr:
		return rootOf(e.X)
	}
	return ""
}

// names are the variables and functions that an expression names.
func names(e ast.Expr) map[string]bool {
	all := map[string]bool{}
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			all[rootOf(n.X)] = true
			return false
		case *ast.Ident:
			all[n.Name] = true
		}
		return true
	})
	return all
}
