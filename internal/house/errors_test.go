package house

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the pages that are printed from the code")

// errorsPage is printed from the types that the code raises, their statuses, and the table below.
const errorsPage = "docs/errors.md"

// explanation is why a type is met, and what to do then.
type explanation struct{ cause, cure string }

// TestErrorsPageSaysAll holds the page to the code: every type that is raised has a cause and a cure, and no other has.
func TestErrorsPageSaysAll(t *testing.T) {
	types := raised(t)
	for typ := range explained {
		if _, is := types[typ]; !is {
			t.Errorf("no code raises %s: take it out of the table", typ)
		}
	}
	for typ := range types {
		if explained[typ].cause == "" || explained[typ].cure == "" {
			t.Errorf("the table does not say why %s is met, and what to do then", typ)
		}
	}
	printed(t, errorsPage, errorsText(types))
}

// printed compares a page with what the code says, or writes it.
func printed(t *testing.T, page, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if read(t, page) != want {
		t.Errorf("%s is not what the code says: go test ./internal/house -run %s -update", page, t.Name())
	}
}

// raised are the types of all faults that the code makes, with the status of an answer; 0: no answer refuses with it.
func raised(t *testing.T) map[string]int {
	t.Helper()
	w := written{map[string][]string{}, map[string]string{}, map[string]bool{}, map[string][]string{}}
	for _, s := range sources(t) {
		path := filepath.ToSlash(s.path)
		if !s.test && !strings.HasPrefix(path, "model/") && !strings.Contains(path, "test/") && !strings.HasPrefix(path, "examples/") {
			w.read(s)
		}
	}
	types, isType := map[string]int{}, regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	for name := range w.isFault {
		if typ := w.valueOf(name); isType.MatchString(typ) {
			types[typ] = 0
		}
	}
	for name, status := range statusesOf(t) {
		if _, is := types[w.valueOf(name)]; is {
			types[w.valueOf(name)] = status
		}
	}
	return types
}

// statusesOf are the two tables of statuses, by the names of their constants.
func statusesOf(t *testing.T) map[string]int {
	t.Helper()
	all := map[string]int{}
	for _, path := range []string{"fault/type.go", "service/operation/fault.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if pair, ok := n.(*ast.KeyValueExpr); ok {
				if value, ok := pair.Value.(*ast.BasicLit); ok && value.Kind == token.INT {
					all[saidAs(filepath.Base(filepath.Dir(path)), pair.Key)], err = strconv.Atoi(value.Value)
				}
			}
			return err == nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func errorsText(types map[string]int) string {
	var answers, outcomes strings.Builder
	for _, typ := range slices.Sorted(maps.Keys(types)) {
		e := explained[typ]
		if status := types[typ]; status != 0 {
			fmt.Fprintf(&answers, "| `%s` | %d | %s | %s |\n", typ, status, e.cause, e.cure)
		} else {
			fmt.Fprintf(&outcomes, "| `%s` | %s | %s |\n", typ, e.cause, e.cure)
		}
	}
	return `# Errors

Every refusal has one shape: ` + "`{\"error\": {\"type\", \"message\", \"details\", \"meta\"?}}`" + `. Programs branch on ` + "`type`" + `, people read ` + "`message`" + ` and
` + "`details`" + `; the header ` + "`X-Request-Id`" + ` finds the line in the service's log. A test prints this page from the code.

Repeat an answer of 429, 502, 503 or 504 with the same ` + "`Idempotency-Key`" + `: after ` + "`Retry-After`" + ` where it is given, else after a second or more.
` + "`mail_not_configured`" + ` and ` + "`provider_not_configured`" + ` come again until an operator has acted, another 4xx until the request changes.

## Answers

| type | status | cause | cure |
|---|---|---|---|
` + answers.String() + `
## Outcomes

These are how work ended: in the settlement of a prompt, the end of a run, what a tool tells its model, or what a command says. A request
that waits for the result (` + "`wait=result`" + `) gets them with status 500.

| type | cause | cure |
|---|---|---|
` + outcomes.String()
}
