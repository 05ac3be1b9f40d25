package operation

import (
	"reflect"

	"svc.dev/svc/internal/listing"
)

// Source is a request as operations see it.
type Source interface {
	// Param is a parameter of the path.
	Param(name string) string
	// Query is a value of the query.
	Query(name string) string
	// Page is which part of a list is wanted.
	Page() (listing.Query, error)
	// Match is the version that If-Match names; zero is any.
	Match() (int64, error)
	// Body reads the body into a struct, strictly.
	Body(into any) error
}

// Match is the version that a change is meant for; zero is any.
type Match int64

func (m Match) pointer() *int64 {
	if m == 0 {
		return nil
	}
	return (*int64)(&m)
}

// Parts of what a request says. A type of input is a struct: fields with the tag path or query hold a value of the address, one
// of type Match the header If-Match, one of type listing.Query which part of a list is wanted, and the field Body the body.
var (
	matchType = reflect.TypeFor[Match]()
	pageType  = reflect.TypeFor[listing.Query]()
)

const bodyField = "Body"

// read fills an input, its body last: what the head says wrong is refused before the body is waited for.
func read(from Source, into reflect.Value) (err error) {
	t := into.Type()
	for i := range t.NumField() {
		f, v := t.Field(i), into.Field(i)
		switch {
		case f.Type == matchType:
			var n int64
			n, err = from.Match()
			v.SetInt(n)
		case f.Type == pageType:
			var q listing.Query
			q, err = from.Page()
			v.Set(reflect.ValueOf(q))
		case f.Tag.Get("path") != "":
			v.SetString(from.Param(f.Tag.Get("path")))
		case f.Tag.Get("query") != "":
			v.SetString(from.Query(f.Tag.Get("query")))
		}
		if err != nil {
			return err
		}
	}
	if body := into.FieldByName(bodyField); body.IsValid() {
		return from.Body(body.Addr().Interface())
	}
	return nil
}
