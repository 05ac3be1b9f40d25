package operation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
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
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/apikey"
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
	components := tree["components"].(object)
	d := &description{paths: tree["paths"].(object), schemas: components["schemas"].(object), surfaces: tree["x-surfaces"].(object), named: map[string]reflect.Type{}}
	rows := append(Rows(), Passed()...)
	if err := d.refuse(rows, components["responses"].(object)); err != nil {
		return nil, err
	}
	for _, r := range rows {
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
	servers := d.servers(r.On)
	if item == nil {
		item = object{"servers": servers, "parameters": pathParameters(path)}
		d.paths[path] = item
	}
	if path != r.Path {
		item["x-path-tail"] = true // its last parameter has slashes
	}
	summary, more, _ := strings.Cut(r.Says, ". ")
	summary = strings.TrimSuffix(summary, ".")
	op := object{
		"operationId": r.ID, "tags": []string{r.Noun}, "summary": summary, "security": security(r),
		"x-error-types": r.faults(), "x-need": r.Need.String(),
	}
	if !reflect.DeepEqual(item["servers"], servers) {
		op["servers"] = servers // another method of the path is elsewhere too
	}
	if scope := r.Need.Scope(); scope != "" {
		op["x-key-scope"] = scope
	}
	if r.Need.IsFresh() {
		op["x-fresh"] = true
	}
	if more != "" {
		op["description"] = more
	}
	if all := headParameters(r); len(all) > 0 {
		op["parameters"] = all
	}
	body, err := d.requestBody(r)
	if err != nil {
		return err
	}
	if body != nil {
		op["requestBody"] = body
	}
	responses, err := d.responses(r)
	if err != nil {
		return err
	}
	op["responses"] = responses
	item[strings.ToLower(r.Method)] = op
	return nil
}

// requestBody is what the body holds; nil: there is none.
func (d *description) requestBody(r Row) (object, error) {
	if r.passed {
		return object{"content": content(object{})}, nil
	}
	for i := range r.in.NumField() {
		switch f := r.in.Field(i); {
		case f.Type == uploadType:
			return object{"content": anything}, nil
		case f.Type == deliveryType:
			return object{"required": true, "content": content(ref("schemas", "Delivery"))}, nil
		case f.Name == bodyField:
			schema, err := d.schema(f.Type)
			return object{"required": true, "content": content(schema)}, err
		}
	}
	return nil, nil
}

func (d *description) servers(on []access.Surface) (all []any) {
	for _, surface := range on {
		all = append(all, d.surfaces[string(surface)])
	}
	return all
}

func ref(kind, name string) object { return object{"$ref": "#/components/" + kind + "/" + name} }

func content(schema any) object { return object{"application/json": object{"schema": schema}} }

// anything is content of any type.
var anything = object{"*/*": object{}}

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

// parts are how the parts of a request are given, and what can be wrong with each.
var parts = map[reflect.Type]struct{ parameters, faults []string }{
	matchType:     {[]string{"If-Match"}, []string{fault.InvalidHeader, fault.VersionConflict}},
	pageType:      {[]string{"Filter", "Cursor", "Limit"}, []string{fault.InvalidRequest}},
	stretchType:   {[]string{"Cursor", "Limit"}, []string{fault.InvalidRequest}},
	deliveryType:  {[]string{"Delivery-Event", "Delivery-Id", "Delivery-Signature"}, nil},
	conditionType: {[]string{"File-If-Match", "If-None-Match"}, []string{fault.VersionConflict}},
	uploadType: {[]string{"File-If-Match", "If-None-Match"},
		[]string{fault.InvalidHeader, fault.InvalidRequest, fault.VersionConflict, fault.BodyTooLarge, fault.UnsupportedMediaType, fault.RuntimeTimeout}},
}

// headParameters are what else is said before the body.
func headParameters(r Row) (all []any) {
	if r.Method != http.MethodGet && !r.AnyOrigin {
		all = append(all, ref("parameters", "Origin"))
	}
	if r.keeps() || r.passed || r.keyed {
		all = append(all, ref("parameters", "Idempotency-Key"))
	}
	for i := range r.in.NumField() {
		f := r.in.Field(i)
		for _, name := range parts[f.Type].parameters {
			all = append(all, ref("parameters", name))
		}
		if f.Tag.Get("query") != "" {
			schema := object{"type": "string"}
			if values := strings.Fields(f.Tag.Get("enum")); len(values) > 0 {
				schema["enum"] = values
			}
			all = append(all, object{"name": f.Tag.Get("query"), "in": "query", "schema": schema})
		}
	}
	if r.out == downloadType {
		all = append(all, ref("parameters", "Range"))
	}
	return all
}

// elevated reports whether it takes the authority of the staff somewhere.
func (r Row) elevated() bool { return slices.ContainsFunc(r.On, r.Need.Elevated) }

// security are the ways to say who it is.
func security(r Row) []object {
	if r.Need.IsPublic() {
		return []object{}
	}
	var ways []object
	if !slices.Equal(r.On, []access.Surface{access.Admin}) || !r.elevated() {
		ways = append(ways, object{"session": []any{}})
	}
	if r.Need.Scope() != "" {
		ways = append(ways, object{"key": []any{}})
	}
	if r.elevated() {
		ways = append(ways, object{"staff": []any{}, "session": []any{}})
	}
	return ways
}

// faults are the types of refusals of an operation: those that follow from what it needs and takes, and its own.
func (r Row) faults() []string {
	var all []string
	if !r.Need.IsPublic() {
		all = append(all, fault.AmbiguousSession, account.Unauthenticated, fault.CrossOrigin, fault.RateLimited)
	} else if !r.AnyOrigin {
		all = append(all, fault.CrossOrigin)
	}
	if r.Need.LooksAtKeys() {
		all = append(all, fault.InvalidHeader, apikey.Invalid, fault.Forbidden)
	}
	if _, inside := r.Need.Inside(); inside {
		all = append(all, fault.WorkspaceNotFound, fault.WorkspaceSuspended)
	}
	if r.Need.Scope() != "" {
		all = append(all, access.InsufficientScope)
	}
	if r.elevated() {
		all = append(all, fault.AdminRequired, account.ReauthRequired)
	}
	if r.elevated() && r.Method != http.MethodGet {
		all = append(all, fault.Forbidden) // support only reads
	}
	if r.keeps() || r.keyed {
		all = append(all, fault.InvalidRequest, fault.IdempotencyConflict)
	}
	if r.asked {
		all = append(all, fault.BadGateway, fault.RuntimeTimeout)
	}
	if r.passed {
		all = append(all, fault.InvalidJSON, fault.InvalidRequest, fault.BodyTooLarge, fault.UnsupportedMediaType, fault.IdempotencyConflict)
	}
	for i := range r.in.NumField() {
		f := r.in.Field(i)
		all = append(all, parts[f.Type].faults...)
		if f.Name == bodyField {
			all = append(all, fault.InvalidJSON, fault.InvalidRequest, fault.BodyTooLarge, fault.UnsupportedMediaType)
		}
	}
	all = append(all, r.Faults...)
	slices.Sort(all)
	return slices.Compact(all)
}

func (d *description) responses(r Row) (object, error) {
	headers := object{"X-Request-Id": ref("headers", "X-Request-Id")}
	done := object{"description": "Done.", "headers": headers}
	all := object{"default": ref("responses", "Otherwise")}
	a := r.outline()
	all[fmt.Sprint(a.Status)] = done
	if tag := tagOf(r); tag != "" {
		headers["ETag"] = ref("headers", tag)
	}
	switch {
	case a.List:
		all["304"] = ref("responses", "NotModified")
	case r.out == downloadType:
		all["206"], all["304"] = done, object{"description": "It is as the client has it.", "headers": headers}
	}
	for name, component := range r.headers {
		headers[name] = ref("headers", component)
	}
	switch r.kind {
	case creates, replaces:
		headers["Location"] = ref("headers", "Location")
	case keeps:
		all["200"], all["201"] = done, done
	}
	if r.kind == keeps && has(r.out, "Created") {
		made := maps.Clone(headers)
		made["Location"] = ref("headers", "Location")
		all["201"] = object{"description": "It was made.", "headers": made}
	}
	if a.Body != nil {
		shown, err := d.shown(r)
		if err != nil {
			return nil, err
		}
		done["content"] = shown
		if made, is := all["201"].(object); is {
			made["content"] = shown
		}
	}
	if err := d.several(r, all, headers); err != nil {
		return nil, err
	}
	leads := slices.ContainsFunc(r.faults(), func(typ string) bool { return typ == account.Unauthenticated || typ == account.ReauthRequired })
	if r.Method == http.MethodGet && leads && all["302"] == nil && !strings.HasPrefix(r.Path, "/v1/") {
		all["302"] = ref("responses", "ToSignIn")
	}
	for _, typ := range r.faults() {
		status, _ := StatusOf(typ)
		f, found := refusals[status]
		if !found {
			return nil, fmt.Errorf("the fault %s has no answer", typ)
		}
		if r.others[status] == nil {
			all[fmt.Sprint(status)] = ref("responses", f.name)
		}
	}
	return all, nil
}

// several are the answers of an operation that has more than one.
func (d *description) several(r Row, all, headers object) error {
	delete(all, "0") // it has none of its own
	for _, status := range r.onward {
		told := object{"description": "A page.", "headers": headers, "content": object{"text/html": object{}}}
		if status >= 300 {
			headers = maps.Clone(headers)
			headers["Location"], headers["WWW-Authenticate"] = ref("headers", "Location"), ref("headers", "WWW-Authenticate")
			told = object{"description": "Leads on.", "headers": headers}
		}
		all[fmt.Sprint(status)] = told
	}
	for status, body := range r.others {
		told := object{"description": "Done.", "headers": headers}
		if status >= 400 {
			told = refusals[status].described(r.typesOf(status))
		}
		if body != nil {
			schema, err := d.schema(body)
			if err != nil {
				return err
			}
			told["content"] = besides(told["content"], schema)
		}
		all[fmt.Sprint(status)] = told
	}
	return nil
}

// What is not answered with as JSON.
var (
	downloadType = reflect.TypeFor[Download]()
	exportType   = reflect.TypeFor[Export]()
	markdownType = reflect.TypeFor[Markdown]()
	documentType = reflect.TypeFor[Document]()
	probingType  = reflect.TypeFor[Probing]()
	onwardType   = reflect.TypeFor[Onward]()
)

// outline is an answer with nothing in it.
func (r Row) outline() Answer {
	switch r.out {
	case downloadType, exportType, markdownType, documentType, probingType:
		return Answer{Status: http.StatusOK, Body: struct{}{}}
	case onwardType:
		return Answer{}
	}
	return r.Answer(reflect.Zero(r.out).Interface())
}

// tagOf is which ETag an answer has; empty: none.
func tagOf(r Row) string {
	switch {
	case r.kind == lists:
		return "List-ETag"
	case has(r.out, "Version"):
		return "ETag"
	case has(r.out, "ETag"):
		return "File-ETag"
	}
	return ""
}

// has reports whether a type is a struct with such a field.
func has(t reflect.Type, field string) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	_, found := t.FieldByName(field)
	return found
}

// shown is the content of an answer.
func (d *description) shown(r Row) (object, error) {
	switch r.out {
	case downloadType, reflect.TypeFor[attachment](), reflect.TypeFor[webhookTaken]():
		return anything, nil
	case exportType:
		return object{"application/x-ndjson": object{"schema": object{"type": "string"}}}, nil
	case markdownType:
		return object{"text/markdown": object{"schema": object{"type": "string"}}}, nil
	case probingType:
		return object{"text/event-stream": object{"schema": object{"type": "string"}}}, nil
	case documentType:
		return content(ref("schemas", "Description")), nil
	case reflect.TypeFor[rpcAnswer]():
		return object{"text/event-stream": object{"schema": object{"type": "string"}}, "application/json": object{}}, nil
	}
	schema, err := d.answer(r)
	if r.news == nil || err != nil {
		return content(schema), err
	}
	news, err := d.schema(r.news)
	shown := content(object{"anyOf": []any{schema, news}})
	shown["text/event-stream"] = object{"schema": object{"type": "string"}}
	return shown, err
}

// answer is the schema of what is shown: of a list its items, with where it goes on.
func (d *description) answer(r Row) (any, error) {
	if r.kind != lists || saysMore(r.out) {
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
	if t.Kind() == reflect.Slice && t.Elem().Name() != "" {
		items, err := d.schema(t.Elem())
		return object{"type": "array", "items": items}, err
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
