package operation

import (
	"context"
	"reflect"

	"svc.dev/svc/internal/listing"
	"svc.dev/svc/service/project"
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
	// Condition is what If-Match and If-None-Match say of a file.
	Condition() project.Condition
	// Upload is the body as it is.
	Upload() (project.Upload, error)
	// Delivery is the body as a provider has signed it.
	Delivery() (Delivery, error)
	// Body reads the body into a struct, strictly, and counts it before it is looked at.
	Body(into any, count func(context.Context) error) error
}

// paged is a request for a list, whose cursors are of that list alone.
type paged struct {
	Source
	list string
}

func (p paged) Page() (listing.Query, error) {
	q, err := p.Source.Page()
	if err != nil {
		return q, err
	}
	return q.Of(p.list)
}

// Match is the version that a change is meant for; zero is any.
type Match int64

func (m Match) pointer() *int64 {
	if m == 0 {
		return nil
	}
	return (*int64)(&m)
}

// stretch is which part is wanted of a list that has no search.
type stretch listing.Query

// Parts of what a request says. A type of input is a struct: fields with the tag path or query hold a value of the address, one
// of type Match the header If-Match, one of type listing.Query or stretch which part of a list is wanted, one of type project.Condition which
// content of a file is meant, one of type project.Upload or Delivery the body as it is, and the field Body the body as JSON.
var (
	matchType     = reflect.TypeFor[Match]()
	pageType      = reflect.TypeFor[listing.Query]()
	stretchType   = reflect.TypeFor[stretch]()
	conditionType = reflect.TypeFor[project.Condition]()
	uploadType    = reflect.TypeFor[project.Upload]()
	deliveryType  = reflect.TypeFor[Delivery]()
)

const bodyField = "Body"

// read fills an input, its body last: what the head says wrong is refused before the body is waited for.
func read(from Source, into reflect.Value, count limit) (err error) {
	t := into.Type()
	for i := range t.NumField() {
		f, v := t.Field(i), into.Field(i)
		switch {
		case f.Type == matchType:
			var n int64
			n, err = from.Match()
			v.SetInt(n)
		case f.Type == pageType, f.Type == stretchType:
			var q listing.Query
			q, err = from.Page()
			v.Set(reflect.ValueOf(q).Convert(f.Type))
		case f.Type == conditionType:
			v.Set(reflect.ValueOf(from.Condition()))
		case f.Type == uploadType:
			var u project.Upload
			u, err = from.Upload()
			v.Set(reflect.ValueOf(u))
		case f.Type == deliveryType:
			var d Delivery
			d, err = from.Delivery()
			v.Set(reflect.ValueOf(d))
		case f.Tag.Get("path") != "":
			v.SetString(from.Param(f.Tag.Get("path")))
		case f.Tag.Get("query") != "":
			v.SetString(from.Query(f.Tag.Get("query")))
		}
		if err != nil {
			return err
		}
	}
	if body, found := t.FieldByName(bodyField); found && len(body.Index) == 1 {
		body := into.FieldByIndex(body.Index)
		return from.Body(body.Addr().Interface(), count)
	}
	return nil
}
