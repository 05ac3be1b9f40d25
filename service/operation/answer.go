package operation

import (
	"net/http"
	"reflect"
	"strconv"
)

// Answer is how an outcome goes out.
type Answer struct {
	Status int
	Tag    string // the ETag; empty: there is none
	At     string // where what was made is, below the path that was asked
	Body   any    // nil: there is none
	List   bool   // its ETag is that of all of it
}

// Answer says it of an outcome of the operation. What has a version has it for its ETag, and what was made is found by its id.
func (r Row) Answer(out any) Answer {
	switch r.kind {
	case lists:
		return Answer{Status: http.StatusOK, Body: listed(out), List: true}
	case drops:
		return Answer{Status: http.StatusNoContent}
	}
	a := Answer{Status: http.StatusOK, Body: out}
	version := field(out, "Version")
	if version.IsValid() {
		a.Tag = `"` + strconv.FormatInt(version.Int(), 10) + `"`
	}
	switch {
	case r.kind == creates:
		a.Status, a.At = http.StatusCreated, called(out)
	case r.kind == replaces:
		a.Status, a.At = http.StatusCreated, "../../"+called(out)
	case r.kind == begins:
		a.Status = http.StatusAccepted
	case r.kind == keeps && version.Int() <= 1:
		a.Status = http.StatusCreated
	}
	return a
}

// called is what an item that was made is called in paths: by its slug, or else by its id.
func called(out any) string {
	if slug := field(out, "Slug"); slug.IsValid() {
		return slug.String()
	}
	return field(out, "ID").String()
}

func field(of any, name string) reflect.Value { return reflect.ValueOf(of).FieldByName(name) }

// listed is a page as clients get it.
func listed(page any) any {
	items, next := field(page, "Items"), field(page, "Next").String()
	if items.IsNil() {
		items = reflect.MakeSlice(items.Type(), 0, 0)
	}
	return struct {
		Items any    `json:"items"`
		Next  string `json:"nextCursor,omitempty"`
	}{items.Interface(), next}
}
