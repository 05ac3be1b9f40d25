package operation

import (
	"net/http"
	"reflect"
	"strconv"

	"svc.dev/svc/internal/listing"
)

// Answer is how an outcome goes out.
type Answer struct {
	Status int
	Tag    string // the ETag; empty: there is none
	At     string // where what was made is, below the path that was asked or at an address of its own
	Body   any    // nil: there is none
	List   bool   // its ETag is that of all of it
}

// outcome is what comes of an operation that has several answers.
type outcome struct {
	Status int
	Body   any
}

// GoesOn reports whether an outcome is that something goes on by a mail.
func GoesOn(out any) bool {
	o, is := out.(outcome)
	return is && o.Status == http.StatusAccepted
}

// Answer says it of an outcome of the operation. What has a version has it for its ETag, as a file has that of its content, and what was
// made is found by its id.
func (r Row) Answer(out any) Answer {
	if o, is := out.(outcome); is {
		return Answer{Status: o.Status, Body: o.Body}
	}
	switch r.kind {
	case lists:
		return Answer{Status: http.StatusOK, Body: listed(r.ID, out), List: true}
	case drops:
		return Answer{Status: http.StatusNoContent}
	}
	a := Answer{Status: http.StatusOK, Body: out}
	version, etag, created := field(out, "Version"), field(out, "ETag"), field(out, "Created")
	switch {
	case version.IsValid():
		a.Tag = `"` + strconv.FormatInt(version.Int(), 10) + `"`
	case etag.IsValid():
		a.Tag = etag.String()
	}
	switch {
	case r.kind == creates:
		a.Status, a.At = http.StatusCreated, called(out)
	case r.kind == replaces:
		a.Status, a.At = http.StatusCreated, "../../"+called(out)
	case r.kind == begins:
		a.Status = http.StatusAccepted
	case r.kind == keeps && created.IsValid():
		if created.Bool() {
			a.Status, a.At = http.StatusCreated, "."
		}
	case r.kind == keeps && version.Int() <= 1:
		a.Status = http.StatusCreated
	}
	return a
}

// called is what an item that was made is called in paths: by its slug, or else by its id or its name; or where it is, if that is
// elsewhere.
func called(out any) string {
	if elsewhere, is := out.(interface{ where() string }); is {
		return elsewhere.where()
	}
	if slug := field(out, "Slug"); slug.IsValid() {
		return slug.String()
	}
	if id := field(out, "ID"); id.IsValid() {
		return id.String()
	}
	return field(out, "Name").String()
}

// field is that of a struct; of anything else there is none.
func field(of any, name string) reflect.Value {
	if v := reflect.ValueOf(of); v.Kind() == reflect.Struct {
		return v.FieldByName(name)
	}
	return reflect.Value{}
}

// saysMore reports whether a page has anything beside its items: then its type says how it is printed.
func saysMore(page reflect.Type) bool {
	items, _ := page.FieldByName("Items")
	return items.Tag.Get("json") != ""
}

// listed is a page of a list as clients get it.
func listed(list string, page any) any {
	items, next := field(page, "Items"), listing.Label(list, field(page, "Next").String())
	if items.IsNil() {
		items = reflect.MakeSlice(items.Type(), 0, 0)
	}
	if saysMore(reflect.TypeOf(page)) {
		whole := reflect.New(reflect.TypeOf(page)).Elem()
		whole.Set(reflect.ValueOf(page))
		whole.FieldByName("Items").Set(items)
		whole.FieldByName("Next").SetString(next)
		return whole.Interface()
	}
	return struct {
		Items any    `json:"items"`
		Next  string `json:"nextCursor,omitempty"`
	}{items.Interface(), next}
}
