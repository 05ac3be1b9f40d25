package project

import (
	"errors"
	"strconv"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/strictjson"
)

// The types of refusals that this room raises.
const (
	ItemNotFound               = "item_not_found"
	NameTaken                  = "name_taken"
	InvalidPath                = "invalid_path"
	InvalidScope               = "invalid_scope"
	StorageQuotaExceeded       = "storage_quota_exceeded"
	AlreadyRunning             = "already_running"
	Busy                       = "busy"
	RuntimeTimeout             = "runtime_timeout"
	ProviderConnectionRequired = "provider_connection_required"
	ProviderNotConfigured      = "provider_not_configured"
	ProviderUnavailable        = "provider_unavailable"
	UnknownProvider            = "unknown_provider"
)

func notFound() error { return fault.New(ItemNotFound, "There is no such item.", "") }

func nameTaken(details string) error { return fault.New(NameTaken, "This name is taken.", details) }

// refuseStale is nil for the present version, and for 0, which is any.
func refuseStale(given, now int64) error {
	if given == 0 || given == now {
		return nil
	}
	return fault.New(fault.VersionConflict, "Somebody changed this in the meantime.", "Read it again.").With("version", now)
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
	return fault.New(InvalidPath, "This is not the path of a file.", details)
}

func notRegular() error { return invalidPath("What is there is not a regular file.") }

func tooLarge(most int64) error {
	return fault.New(fault.BodyTooLarge, "The file is too large.", "").With("limit", most)
}

func overQuota(limit, used, asked int64) error {
	return fault.New(StorageQuotaExceeded, "The workspace has no room for this.", "Delete something, or ask for a higher limit.").
		With("limitBytes", limit).With("usedBytes", used).With("requestedBytes", asked)
}

func tooMany(what string, most int64) error {
	return fault.Invalid("There are at most %d %s.", most, what)
}

func busy() error {
	return fault.New(Busy, "Somebody else is changing this.", "Try again shortly.").After(time.Second)
}

// expired refuses an upload whose reservation somebody else took back.
func expired() error {
	return fault.New(RuntimeTimeout, "The upload took too long.", "Begin it again.")
}

// wrong refuses one field of a request.
func wrong(field, problem string) error {
	return strictjson.Refuse(strictjson.Field{Field: field, Type: problem})
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
