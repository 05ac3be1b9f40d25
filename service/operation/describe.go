package operation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"svc.dev/svc/api"
	"svc.dev/svc/fault"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/audit"
)

// object is a part of the description.
type object = map[string]any

// JSON is the description of all there is, as it is served: the rows, printed into the frame that is written by hand.
var JSON = sync.OnceValues(func() ([]byte, error) {
	var tree object
	if err := yaml.Unmarshal(api.Document, &tree); err != nil {
		return nil, fmt.Errorf("read openapi.yaml: %w", err)
	}
	d := &description{paths: tree["paths"].(object), schemas: tree["components"].(object)["schemas"].(object), surfaces: tree["x-surfaces"].(object), named: map[string]reflect.Type{}}
	for _, r := range Rows() {
		if err := d.add(r); err != nil {
			return nil, fmt.Errorf("describe %s: %w", r.ID, err)
		}
	}
	return json.Marshal(tree)
})

// Printed is the description for people to read, a line for each value.
func Printed() ([]byte, error) {
	text, err := JSON()
	if err != nil {
		return nil, err
	}
	var lines bytes.Buffer
	if err := json.Indent(&lines, text, "", "  "); err != nil {
		return nil, err
	}
	return append(lines.Bytes(), '\n'), nil
}

// description is the document while it is printed.
type description struct {
	paths, schemas, surfaces object
	named                    map[string]reflect.Type // the schemas that rows have
}

func (d *description) add(r Row) error {
	path := strings.ReplaceAll(r.Path, "...}", "}")
	item, _ := d.paths[path].(object)
	if item == nil {
		item = object{"servers": d.servers(r.On), "parameters": pathParameters(path)}
		d.paths[path] = item
	}
	op := object{
		"operationId": r.ID, "tags": []string{r.Noun}, "summary": strings.TrimSuffix(r.Says, "."), "security": security(r),
		"x-error-types": r.faults(),
	}
	if all := headParameters(r); len(all) > 0 {
		op["parameters"] = all
	}
	if body, found := r.in.FieldByName(bodyField); found {
		schema, err := d.schema(body.Type)
		if err != nil {
			return err
		}
		op["requestBody"] = object{"required": true, "content": content(schema)}
	}
	responses, err := d.responses(r)
	if err != nil {
		return err
	}
	op["responses"] = responses
	item[strings.ToLower(r.Method)] = op
	return nil
}

func (d *description) servers(on []access.Surface) (all []any) {
	for _, surface := range on {
		all = append(all, d.surfaces[string(surface)])
	}
	return all
}

func ref(kind, name string) object { return object{"$ref": "#/components/" + kind + "/" + name} }

func content(schema any) object { return object{"application/json": object{"schema": schema}} }

var parameter = regexp.MustCompile(`\{(\w+)\}`)

// pathParameters are the names in braces.
func pathParameters(path string) (all []any) {
	for _, m := range parameter.FindAllStringSubmatch(path, -1) {
		switch name := m[1]; name {
		case "username", "business":
			all = append(all, ref("parameters", "Workspace-"+strings.ToUpper(name[:1])+name[1:]))
		default:
			all = append(all, object{"name": name, "in": "path", "required": true, "schema": object{"type": "string"}})
		}
	}
	return all
}

// headParameters are what else is said before the body.
func headParameters(r Row) (all []any) {
	if r.Method != http.MethodGet {
		all = append(all, ref("parameters", "Origin"))
	}
	if Keeps(r.Method, r.Path) {
		all = append(all, ref("parameters", "Idempotency-Key"))
	}
	for i := range r.in.NumField() {
		f := r.in.Field(i)
		switch {
		case f.Type == matchType:
			all = append(all, ref("parameters", "If-Match"))
		case f.Type == pageType:
			all = append(all, ref("parameters", "Filter"), ref("parameters", "Cursor"), ref("parameters", "Limit"))
		case f.Tag.Get("query") != "":
			all = append(all, object{"name": f.Tag.Get("query"), "in": "query", "schema": object{"type": "string"}})
		}
	}
	return all
}

// security are the ways to say who it is.
func security(r Row) []object {
	if r.Need.IsPublic() {
		return []object{}
	}
	var ways []object
	if !slices.Equal(r.On, []access.Surface{access.Admin}) {
		ways = append(ways, object{"session": []any{}})
	}
	if r.Need.Scope() != "" {
		ways = append(ways, object{"key": []any{}})
	}
	if slices.Contains(r.On, access.Admin) {
		ways = append(ways, object{"staff": []any{}, "session": []any{}})
	}
	return ways
}

// faults are the types of refusals of an operation: those that follow from what it needs and takes, and its own.
func (r Row) faults() []string {
	var all []string
	if !r.Need.IsPublic() {
		all = append(all, "ambiguous_session", "unauthenticated", "cross_origin_request", "rate_limited")
	}
	if r.Need.LooksAtKeys() {
		all = append(all, "invalid_header", "invalid_api_key", "forbidden")
	}
	if _, inside := r.Need.Inside(); inside {
		all = append(all, "workspace_not_found", "workspace_suspended")
	}
	if r.Need.Scope() != "" {
		all = append(all, "insufficient_scope")
	}
	if slices.Contains(r.On, access.Admin) {
		all = append(all, "admin_required", "reauth_required")
	}
	if slices.Contains(r.On, access.Admin) && r.Method != http.MethodGet {
		all = append(all, "forbidden") // support only reads
	}
	if Keeps(r.Method, r.Path) {
		all = append(all, "invalid_request", fault.IdempotencyConflict)
	}
	for i := range r.in.NumField() {
		switch f := r.in.Field(i); {
		case f.Name == bodyField:
			all = append(all, "invalid_json", "invalid_request", "body_too_large", "unsupported_media_type")
		case f.Type == matchType:
			all = append(all, "invalid_header", "version_conflict")
		case f.Type == pageType:
			all = append(all, "invalid_request")
		}
	}
	all = append(all, r.Faults...)
	slices.Sort(all)
	return slices.Compact(all)
}

// refusals are the answers of the frame, by their status.
var refusals = map[int]string{
	400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 409: "Conflict", 410: "Gone", 412: "PreconditionFailed", 413: "TooLarge",
	415: "UnsupportedMediaType", 429: "TooManyRequests", 500: "Failed", 502: "BadGateway", 503: "Unavailable", 507: "InsufficientStorage",
}

func (d *description) responses(r Row) (object, error) {
	headers := object{"X-Request-Id": ref("headers", "X-Request-Id")}
	done := object{"description": "Done.", "headers": headers}
	all := object{"default": ref("responses", "Otherwise")}
	a := r.Answer(reflect.Zero(r.out).Interface())
	all[fmt.Sprint(a.Status)] = done
	switch {
	case a.List:
		headers["ETag"] = ref("headers", "List-ETag")
		all["304"] = ref("responses", "NotModified")
	case a.Tag != "":
		headers["ETag"] = ref("headers", "ETag")
	}
	if r.ends {
		headers["Set-Cookie"] = ref("headers", "ForgetSession")
	}
	switch r.kind {
	case creates, replaces:
		headers["Location"] = ref("headers", "Location")
	case keeps:
		all["200"] = done
	}
	if a.Body != nil {
		schema, err := d.answer(r)
		if err != nil {
			return nil, err
		}
		done["content"] = content(schema)
	}
	if r.Method == http.MethodGet && !r.Need.IsPublic() {
		all["302"] = ref("responses", "ToSignIn")
	}
	for _, typ := range r.faults() {
		status, known := StatusOf(typ)
		if !known || refusals[status] == "" {
			return nil, fmt.Errorf("the fault %s has no answer", typ)
		}
		all[fmt.Sprint(status)] = ref("responses", refusals[status])
	}
	return all, nil
}

// answer is the schema of what is shown: of a list its items, with where it goes on.
func (d *description) answer(r Row) (any, error) {
	if r.kind != lists {
		return d.schema(r.out)
	}
	items, _ := r.out.FieldByName("Items")
	item, err := d.schema(items.Type.Elem())
	return object{
		"type": "object", "additionalProperties": false, "required": []string{"items"},
		"properties": object{"items": object{"type": "array", "items": item}, "nextCursor": object{"type": "string"}},
	}, err
}

// schema is that of a type: by its name where it has one, so that clients have one type for it too.
func (d *description) schema(t reflect.Type) (any, error) {
	if t == reflect.TypeFor[audit.Event]() {
		return ref("schemas", "AuditEvent"), nil // its text is what the chain is made of, and not ours to fix
	}
	s, err := schemaOf(t)
	if err != nil || t.Name() == "" {
		return s, err
	}
	name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
	if _, found := d.schemas[name]; found && d.named[name] != t {
		return nil, fmt.Errorf("two schemas have the name %s", name)
	}
	d.schemas[name], d.named[name] = s, t
	return ref("schemas", name), nil
}
