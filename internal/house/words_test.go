package house

import (
	"go/ast"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// toReword are rooms with comments that do not keep the rule yet. One that does leaves the list.
var toReword = []string{}

// toRename are names of types that still stand for different things in three packages or more. One that no longer does leaves
// the list.
var toRename = []string{}

var (
	// whoAsNoun has no noun where one belongs: a reader must look twice.
	whoAsNoun = regexp.MustCompile(`\b(for|to|of) who\b|(^|[.!?:]\s+)Who\b`)
	// glossaryWord is a row of the table in ARCHITECTURE.md.
	glossaryWord = regexp.MustCompile(`(?m)^\| \*([^*]+)\* \|`)
)

func TestWordsOfCommentsHaveANounForWho(t *testing.T) {
	left := map[string]bool{}
	for _, s := range sources(t) {
		room, _ := roomOf(module + "/" + filepath.ToSlash(filepath.Dir(s.path)))
		for _, c := range s.file.Comments {
			text := strings.ReplaceAll(c.Text(), "\n", " ")
			if documentsWho(s.file, c) {
				text = strings.TrimPrefix(text, "Who")
			}
			found := whoAsNoun.FindString(text)
			switch {
			case found == "":
			case slices.Contains(toReword, room):
				left[room] = true
			default:
				t.Errorf("%s: %q: say which noun it is", s.set.Position(c.Pos()), found)
			}
		}
	}
	for _, room := range toReword {
		if !left[room] {
			t.Errorf("the comments of %s keep the rule: take it off toReword", room)
		}
	}
}

// documentsWho reports whether a comment is that of something which is called Who, and so begins with it.
func documentsWho(f *ast.File, c *ast.CommentGroup) bool {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Doc == c {
				return d.Name.Name == "Who"
			}
		case *ast.GenDecl:
			if d.Doc == c && len(d.Specs) == 1 {
				spec, isType := d.Specs[0].(*ast.TypeSpec)
				return isType && spec.Name.Name == "Who"
			}
		}
	}
	return false
}

func TestGlossaryHasWhatThreePackagesCallTheirs(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	glossary := map[string]bool{}
	for _, row := range glossaryWord.FindAllStringSubmatch(string(text), -1) {
		glossary[row[1]] = true
	}
	shared := map[string]bool{}
	for name, folders := range unexportedTypes(sources(t)) {
		if len(folders) < 3 {
			continue
		}
		shared[name] = true
		if !glossary[name] && !slices.Contains(toRename, name) {
			t.Errorf("a type of %v is named %s: say in the glossary what it is, or give it another name",
				slices.Sorted(maps.Keys(folders)), name)
		}
	}
	for _, name := range toRename {
		if !shared[name] {
			t.Errorf("no three packages have a type %s: take it off toRename", name)
		}
	}
}

// unexportedTypes are the folders in which a name is an unexported type of the package.
func unexportedTypes(sources []source) map[string]map[string]bool {
	all := map[string]map[string]bool{}
	for _, s := range sources {
		if s.test {
			continue
		}
		for _, decl := range s.file.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Tok != token.TYPE {
				continue
			}
			for _, spec := range group.Specs {
				name := spec.(*ast.TypeSpec).Name.Name
				if ast.IsExported(name) {
					continue
				}
				if all[name] == nil {
					all[name] = map[string]bool{}
				}
				all[name][filepath.Dir(s.path)] = true
			}
		}
	}
	return all
}
