package house

import (
	"go/ast"
	"path"
	"path/filepath"
	"testing"
)

// given is what the sources say of a package that is given a Config.
type given struct {
	fields  map[string]bool   // of Config
	embeds  map[string]string // a type, and what it embeds last
	methods map[string]bool   // of any type
}

// holds reports whether a type embeds Config, or what does.
func (g *given) holds(name string) bool {
	return g != nil && (g.embeds[name] == "Config" || g.embeds[name] != "" && g.holds(g.embeds[name]))
}

// TestNoRoomReachesThroughAnothersConfig keeps what a room was given its own: others ask the room.
func TestNoRoomReachesThroughAnothersConfig(t *testing.T) {
	all := sources(t)
	rooms := configured(all)
	fields := map[string]string{} // the name of a field, and the room that it leads to
	structs(all, func(_, _ string, f *ast.Field) {
		if at, name := named(f.Type); rooms[at].holds(name) {
			for _, n := range f.Names {
				fields[n.Name] = at
			}
		}
	})
	if fields["Accounts"] != "account" {
		t.Error("no field Accounts leads to account: this test looks at the wrong thing")
	}
	for _, s := range all {
		if s.test {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			to, through := selectors(n)
			if through == nil {
				return true
			}
			at := fields[through.Sel.Name]
			if g := rooms[at]; g != nil && at != folderOf(s) && (to.Sel.Name == "Config" || g.fields[to.Sel.Name] && !g.methods[to.Sel.Name]) {
				t.Errorf("%s: .%s.%s reaches through the Config of %s: give %s a verb for it, or take the value in a Config of one's own",
					s.set.Position(n.Pos()), through.Sel.Name, to.Sel.Name, at, at)
			}
			return true
		})
	}
}

// configured are the packages by their folders.
func configured(all []source) map[string]*given {
	rooms := map[string]*given{}
	for _, s := range all {
		g := rooms[folderOf(s)]
		if g == nil {
			g = &given{map[string]bool{}, map[string]string{}, map[string]bool{}}
			rooms[folderOf(s)] = g
		}
		for _, d := range s.file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
				g.methods[fn.Name.Name] = true
			}
		}
	}
	structs(all, func(folder, name string, f *ast.Field) {
		if len(f.Names) == 0 {
			rooms[folder].embeds[name] = receiver(f.Type)
		}
		for _, n := range f.Names {
			if name == "Config" {
				rooms[folder].fields[n.Name] = true
			}
		}
	})
	return rooms
}

func folderOf(s source) string { return path.Base(filepath.ToSlash(filepath.Dir(s.path))) }

// structs tells the fields of all structs, tests aside, with the folder and the name of each.
func structs(all []source, tell func(folder, name string, f *ast.Field)) {
	for _, s := range all {
		if s.test {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if of, ok := spec.Type.(*ast.StructType); ok {
					for _, f := range of.Fields.List {
						tell(folderOf(s), spec.Name.Name, f)
					}
				}
			}
			return true
		})
	}
}

// selectors are x.through.to; through is nil for everything else.
func selectors(n ast.Node) (to, through *ast.SelectorExpr) {
	to, ok := n.(*ast.SelectorExpr)
	if ok {
		through, _ = to.X.(*ast.SelectorExpr)
	}
	return to, through
}

// named is the package and the name of a type that another package has.
func named(e ast.Expr) (at, name string) {
	if p, ok := e.(*ast.StarExpr); ok {
		e = p.X
	}
	of, ok := e.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	return receiver(of.X), of.Sel.Name
}
