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
	Name   string // of what was made, below the path that it was sent to
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
	case creates:
		return Answer{Status: http.StatusCreated, Name: field(out, "ID").String(), Body: out}
	}
	a := Answer{Status: http.StatusOK, Body: out}
	if version := field(out, "Version"); version.IsValid() {
		a.Tag = `"` + strconv.FormatInt(version.Int(), 10) + `"`
	}
	return a
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
