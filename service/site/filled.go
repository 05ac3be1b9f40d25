package site

import (
	"cmp"
	"context"
	"strconv"

	"svc.dev/svc/service/operation"
	"svc.dev/svc/service/strictjson"
)

// filled is a form as an operation reads it. No operation that a form does reads more.
type filled struct {
	operation.Source
	ctx context.Context
	v   *Visit
}

// Param is that of the page, which calls the id of an item always the same.
func (f filled) Param(name string) string { return cmp.Or(f.v.Params[name], f.v.Params["id"]) }

func (f filled) Query(name string) string { return f.v.typed(name) }

// Match is the version that the page showed.
func (f filled) Match() (int64, error) {
	version := f.v.typed("version")
	if version == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(version, 10, 64)
	if err != nil {
		return 0, strictjson.Wrong("version", strictjson.Invalid)
	}
	return n, nil
}

func (f filled) Body(into any, count func(context.Context) error) error {
	if err := count(f.ctx); err != nil {
		return err
	}
	return f.v.fill(into)
}
