package project

import (
	"errors"
	"strconv"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/strictjson"
)

// NotFound refuses what is not there, or not to be seen.
func NotFound() error { return fault.New(fault.ItemNotFound, "There is no such item.", "") }

func nameTaken(details string) error {
	return fault.New(fault.NameTaken, "This name is taken.", details)
}

// staleFile tells the etag that the file has now, which is empty where there is none.
func staleFile(etag string) error {
	return fault.New(fault.VersionConflict, "Somebody changed this file in the meantime.", "Read it again.").With("version", quote(etag))
}

func quote(etag string) string {
	if etag == "" {
		return ""
	}
	return strconv.Quote(etag)
}

func invalidPath(details string) error {
	return fault.New(fault.InvalidPath, "This is not the path of a file.", details)
}

func notRegular() error { return invalidPath("What is there is not a regular file.") }

func tooLarge(most int64) error {
	return fault.New(fault.BodyTooLarge, "The file is too large.", "").With("limit", most)
}

func tooMany(what string, most int64) error {
	return fault.Invalid("There are at most %d %s.", most, what)
}

func busy() error {
	return fault.New(fault.Busy, "Somebody else is changing this.", "Try again shortly.").After(time.Second)
}

// problemOf is what is wrong with a name, as a refusal says it.
func problemOf(err error) string {
	switch {
	case errors.Is(err, scope.ErrTooShort):
		return strictjson.TooShort
	case errors.Is(err, scope.ErrTooLong):
		return strictjson.TooLong
	}
	return strictjson.Invalid
}
