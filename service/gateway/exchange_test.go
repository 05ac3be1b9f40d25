package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// Exchange is a request and its answer, read whole.
type Exchange struct {
	Surface string // empty: the host is none
	Request *http.Request
	Status  int
	Header  http.Header
	Body    string
}

// Check says what of an exchange is not as described: the status, the headers, the body or the type of the error and, where
// the answer is a success, the request too.
func (d *Description) Check(x Exchange) error {
	found, params, methods := d.Find(x.Surface, x.Request.Method, x.Request.URL.Path)
	if found == nil {
		return d.checkNone(x, methods)
	}
	input, err := d.input(x, found, params)
	if err != nil {
		return err
	}
	if err := d.checkAnswer(x, input, found.ErrorTypes); err != nil {
		return err
	}
	if x.Status < 200 || x.Status > 299 {
		return nil
	}
	return openapi3filter.ValidateRequest(context.Background(), input)
}

// checkNone is Check where there is no operation.
func (d *Description) checkNone(x Exchange, methods []string) error {
	none := &Operation{item: &openapi3.PathItem{}, op: d.otherwise}
	input, err := d.input(x, none, nil)
	if err != nil {
		return err
	}
	if err := d.checkAnswer(x, input, nil); err != nil {
		return err
	}
	allow := strings.Join(methods, ", ")
	if x.Header.Get("Allow") != allow && (allow == "" || x.Status == http.StatusNotFound || x.Status == http.StatusMethodNotAllowed) {
		return fmt.Errorf("the methods are %q, and the answer is %d with %q", allow, x.Status, x.Header.Get("Allow"))
	}
	return nil
}

func (d *Description) input(x Exchange, o *Operation, params map[string]string) (*openapi3filter.RequestValidationInput, error) {
	r := x.Request.Clone(context.Background())
	r.Body = http.NoBody
	if x.Request.GetBody != nil {
		var err error
		if r.Body, err = x.Request.GetBody(); err != nil {
			return nil, err
		}
	}
	return &openapi3filter.RequestValidationInput{
		Request: r, PathParams: params,
		Route:   &routers.Route{Spec: d.doc, Path: o.Path, PathItem: o.item, Method: o.Method, Operation: o.op},
		Options: &openapi3filter.Options{IncludeResponseStatus: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
	}, nil
}

// describable are the headers that an answer has only if they are described.
var describable = []string{"Allow", "Clear-Site-Data", "ETag", "Location", "Retry-After", "Set-Cookie", "WWW-Authenticate"}

func (d *Description) checkAnswer(x Exchange, input *openapi3filter.RequestValidationInput, types []string) error {
	responses := input.Route.Operation.Responses
	r := responses.Status(x.Status)
	if r == nil && !slices.Contains(slices.Collect(maps.Values(d.anywhere)), x.Status) {
		return fmt.Errorf("%d is not described", x.Status)
	}
	if r == nil {
		r = responses.Default()
	}
	for _, name := range describable {
		if len(x.Header.Values(name)) > 0 && r.Value.Headers[name] == nil {
			return fmt.Errorf("%s of %d is not described", name, x.Status)
		}
	}
	if len(r.Value.Content) == 0 && x.Body != "" {
		return fmt.Errorf("the body of %d is not described", x.Status)
	}
	if x.Status < 400 {
		return validate(x, input)
	}
	if isPage(x) { // what a person gets is no part of what clients read
		return d.checkRefusal(x, types)
	}
	// Its schema is made anew for every answer, which takes longer than the answer; most refusals are like one before.
	same := sameAs(x, input.Route.Operation)
	if _, found := d.checked.Load(same); !found {
		if err := validate(x, input); err != nil {
			return err
		}
		d.checked.Store(same, true)
	}
	return d.checkRefusal(x, types)
}

func validate(x Exchange, input *openapi3filter.RequestValidationInput) error {
	return openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: x.Status, Header: x.Header, Body: io.NopCloser(strings.NewReader(x.Body)), Options: input.Options,
	})
}

// sameAs is all of an answer that its description looks at, but for the id of its request.
func sameAs(x Exchange, o *openapi3.Operation) string {
	h := x.Header.Clone()
	h.Set("X-Request-Id", strings.Map(func(rune) rune { return 'x' }, h.Get("X-Request-Id")))
	h.Del("Date")
	return fmt.Sprintf("%p %d %v %s", o, x.Status, h, x.Body)
}

// Lines of JSON and streams are checked as text.
func init() {
	openapi3filter.RegisterBodyDecoder("text/event-stream", openapi3filter.PlainBodyDecoder)
	openapi3filter.RegisterBodyDecoder("application/x-ndjson", openapi3filter.PlainBodyDecoder)
	openapi3filter.RegisterBodyDecoder("text/markdown", openapi3filter.PlainBodyDecoder)
}

func isPage(x Exchange) bool { return strings.HasPrefix(x.Header.Get("Content-Type"), "text/html") }

// checkRefusal looks for the type among those that the operation names. A page, which only a person gets, does not tell it.
func (d *Description) checkRefusal(x Exchange, types []string) error {
	page := isPage(x)
	// What the runtime refuses it refuses in the envelope, whoever asks.
	ofRuntime := strings.HasPrefix(x.Request.URL.Path, "/v1/") || strings.Contains(x.Body, `"run_not_found"`) || strings.Contains(x.Body, `"workflow_not_found"`)
	if page != navigation(x.Request) && !ofRuntime {
		return errors.New("a program got a page, or a person got none")
	}
	if page || x.Request.Method == http.MethodHead {
		return nil
	}
	if isWorded(x.Body) {
		return nil // its schema says which there are
	}
	if typ := typeOf(x.Body); !slices.Contains(types, typ) && d.anywhere[typ] != x.Status {
		return fmt.Errorf("%s is none of its types", typ)
	}
	return nil
}

// isWorded reports whether a refusal is not in the envelope, but worded as another standard has it.
func isWorded(body string) bool {
	var own struct {
		Error string `json:"error"`
	}
	return json.Unmarshal([]byte(body), &own) == nil && own.Error != ""
}

// navigation reports whether a person's browser sent a request.
func navigation(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	if mode := r.Header.Get("Sec-Fetch-Mode"); mode != "" {
		return mode == "navigate"
	}
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}
