package operation_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"iter"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"svc.dev/svc/service/operation"
	"svc.dev/svc/service/operation/operationtest"
)

// read is the document as it is served, once for the library that knows OpenAPI and once as the tree that it is.
func read(t *testing.T) (*openapi3.T, map[string]any) {
	t.Helper()
	text, err := operation.JSON()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	return doc, tree
}

var update = flag.Bool("update", false, "write api/openapi.json")

// TestTheCopyInTheRepositoryIsWhatIsServed lets a change of the wire show in its review.
func TestTheCopyInTheRepositoryIsWhatIsServed(t *testing.T) {
	const path = "../../api/openapi.json"
	printed, err := operation.Printed()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, printed, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if kept, err := os.ReadFile(path); err != nil || !bytes.Equal(kept, printed) {
		t.Errorf("%v: %s is not what is served: go test ./service/operation -update writes it", err, path)
	}
}

// operations are all there are, by method and path.
func operations(doc *openapi3.T) iter.Seq2[string, *openapi3.Operation] {
	return func(yield func(string, *openapi3.Operation) bool) {
		for path, item := range doc.Paths.Map() {
			for method, op := range item.Operations() {
				if !yield(method+" "+path, op) {
					return
				}
			}
		}
	}
}

// walk visits every object of a tree with its place.
func walk(node any, place string, visit func(place string, object map[string]any)) {
	switch node := node.(type) {
	case map[string]any:
		visit(place, node)
		for name, child := range node {
			walk(child, place+"/"+name, visit)
		}
	case []any:
		for _, child := range node {
			walk(child, place, visit)
		}
	}
}

var statusKey = regexp.MustCompile(`^([2345]\d\d|default)$`)

// The library knows OpenAPI 3.1 and JSON Schema 2020-12, refuses unknown words and compiles every pattern. It lets pass
// what it does not look at: keys of answers that are no status, tags that nobody declared, and the word nullable, which
// 3.1 no longer has.
func TestTheDescriptionIsValid(t *testing.T) {
	doc, tree := read(t)
	if !doc.IsOpenAPI31OrLater() {
		t.Errorf("the document is OpenAPI %s", doc.OpenAPI)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Error(err)
	}
	for name, op := range operations(doc) {
		for status := range op.Responses.Map() {
			if !statusKey.MatchString(status) {
				t.Errorf("%s answers with %q", name, status)
			}
		}
		for _, tag := range op.Tags {
			if doc.Tags.Get(tag) == nil {
				t.Errorf("%s has the tag %q, which is not declared", name, tag)
			}
		}
	}
	walk(tree, "", func(place string, object map[string]any) {
		if _, found := object["nullable"]; found {
			t.Errorf("%s is nullable", place)
		}
	})
}

func TestEveryOperationSaysWhatItIs(t *testing.T) {
	doc, _ := read(t)
	seen := map[string]bool{}
	for name, op := range operations(doc) {
		if op.OperationID == "" || op.Summary == "" || len(op.Tags) != 1 || op.Security == nil || seen[op.OperationID] {
			t.Errorf("%s lacks an id of its own, a summary, a tag or its security", name)
		}
		seen[op.OperationID] = true
		if op.Responses.Default() == nil || len(operationtest.ErrorTypes(op)) == 0 {
			t.Errorf("%s never fails", name)
		}
		for status, r := range op.Responses.Map() {
			if r.Value.Headers["X-Request-Id"] == nil {
				t.Errorf("%s: %s has no X-Request-Id", name, status)
			}
		}
	}
}

// A type has one status, so the types of an operation and the statuses it describes say the same.
func TestTheErrorsOfAnOperationAreItsStatuses(t *testing.T) {
	doc, _ := read(t)
	named := map[string]bool{}
	for name, op := range operations(doc) {
		types := operationtest.ErrorTypes(op)
		described := map[string]bool{}
		for status, r := range op.Responses.Map() {
			own := operationtest.RefusalTypes(r)
			if status < "400" || status == "default" {
				continue
			}
			if !slices.ContainsFunc(own, func(typ string) bool { return slices.Contains(types, typ) }) {
				t.Errorf("%s: %s has none of its types", name, status)
			}
			for _, typ := range own {
				described[typ] = true
			}
		}
		for _, typ := range types {
			named[typ] = true
			if !described[typ] {
				t.Errorf("%s: no answer has the type %s", name, typ)
			}
		}
		leads := slices.Contains(types, "unauthenticated") || slices.Contains(types, "reauth_required")
		if strings.HasPrefix(name, "GET /api/") && leads != (op.Responses.Value("302") != nil) {
			t.Errorf("%s: a person who must sign in first is not led there", name)
		}
	}
	otherwise := operationtest.RefusalTypes(doc.Components.Responses["Otherwise"])
	if listed := doc.Components.Responses["Otherwise"].Value.Extensions["x-error-statuses"].(map[string]any); len(listed) != len(otherwise) {
		t.Errorf("statuses of %v, types %v", listed, otherwise)
	}
	for name, r := range doc.Components.Responses {
		for _, typ := range operationtest.RefusalTypes(r) {
			if !named[typ] && !slices.Contains(otherwise, typ) {
				t.Errorf("%s: no operation has the type %s", name, typ)
			}
		}
	}
}

// open are the objects whose form is not ours to fix, beside the facts of an error.
var open = []string{"/components/schemas/Delivery", "/components/schemas/Description", "/components/schemas/RunEvent", "/components/schemas/AuditEvent", "/components/schemas/Tool/properties/inputSchema",
	"/components/schemas/McpDetail/properties/tools/items/properties/inputSchema"}

func TestWhatIsDescribedIsAllThereIs(t *testing.T) {
	_, tree := read(t)
	walk(tree, "", func(place string, object map[string]any) {
		_, typed := object["additionalProperties"].(map[string]any) // a map
		if object["type"] == "object" && object["additionalProperties"] != false && !typed && !slices.Contains(open, place) && !strings.HasSuffix(place, "/error/properties/meta") {
			t.Errorf("%s may have more than it says", place)
		}
	})
}

func TestNoComponentIsUnused(t *testing.T) {
	doc, tree := read(t)
	used := map[string]bool{}
	walk(tree, "", func(_ string, object map[string]any) {
		if ref, ok := object["$ref"].(string); ok {
			used[ref] = true
		}
	})
	for _, op := range operations(doc) {
		for _, way := range *op.Security {
			for scheme := range way {
				used["#/components/securitySchemes/"+scheme] = true
			}
		}
	}
	for kind, all := range tree["components"].(map[string]any) {
		for name := range all.(map[string]any) {
			place := "#/components/" + kind + "/" + name
			if !used[place] {
				t.Errorf("%s is not used", place)
			}
		}
	}
	t.Logf("%d operations, %d schemas", len(maps.Collect(operations(doc))), len(doc.Components.Schemas))
}
