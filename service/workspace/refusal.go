package workspace

import (
	"time"

	"svc.dev/svc/fault"
)

// The types of refusals that this room raises.
const (
	InvitationInvalid       = "invitation_invalid"
	InvitationEmailMismatch = "invitation_email_mismatch"
)

func notFound() error { return fault.New(fault.WorkspaceNotFound, "There is no such workspace.", "") }

func suspended() error {
	return fault.New(fault.WorkspaceSuspended, "This workspace is suspended.", "Ask the people who run this service.")
}

func forbidden(role string) error {
	return fault.New(fault.Forbidden, "Your role does not allow this.", "").With("role", role)
}

// noPerson refuses a key, a channel or anything else that is nobody's own hand.
func noPerson() error {
	return fault.New(fault.Forbidden, "No API key may do this.", "Sign in instead.").With("role", Admin)
}

func adminRequired() error { return fault.New(fault.AdminRequired, "Only staff may do this.", "") }

func itemNotFound() error { return fault.New(fault.ItemNotFound, "There is no such item.", "") }

func nameTaken(details string) error {
	return fault.New(fault.NameTaken, "This name is taken.", details)
}

func lastOwner(address, details string) error {
	return fault.New(fault.LastOwner, "A workspace cannot be without its owner.", details).With("workspaces", []string{address})
}

// inUse keeps the workspace that an account cannot be without.
func inUse(w Workspace) error {
	return fault.New(fault.InUse, "The personal workspace stays as it is as long as its account.", "").With("usedBy", []string{w.Owner})
}

// refuseStale is nil for the present version, and for 0, which is any.
func refuseStale(given, now int64) error {
	if given == 0 || given == now {
		return nil
	}
	return fault.New(fault.VersionConflict, "Somebody changed this in the meantime.", "Read it again.").With("version", now)
}

func invitationInvalid() error {
	return fault.New(InvitationInvalid, "This invitation is not valid any more.",
		"It was used or revoked, it has expired, or who sent it may not invite any more. Ask for another one.")
}

func emailMismatch() error {
	return fault.New(InvitationEmailMismatch, "This invitation is for another e-mail address.",
		"Sign in with the account that has the invited address, and confirm that address.")
}

func limited(limit string, after time.Duration) error {
	return fault.New(fault.RateLimited, "Too many requests.", "Wait a while and try again.").With("limit", limit).After(after)
}

func tooMany(what string, most int) error {
	return fault.Invalid("There are at most %d %s.", most, what)
}
