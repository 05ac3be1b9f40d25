package account

import (
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/strictjson"
)

// The types of refusals that this room raises.
const (
	InvalidToken              = "invalid_token"
	InvalidState              = "invalid_state"
	InvalidCredentials        = "invalid_credentials"
	InvalidAPIKey             = "invalid_api_key"
	ReauthRequired            = "reauth_required"
	Suspended                 = "account_suspended"
	ItemNotFound              = "item_not_found"
	UsernameTaken             = "username_taken"
	LastCredential            = "last_credential"
	LastOwner                 = "last_owner"
	IdentityAlreadyLinked     = "identity_already_linked"
	EmailVerificationRequired = "email_verification_required"
	SetupClosed               = "setup_closed"
	RateLimited               = "rate_limited"
	Busy                      = "busy"
	MailNotConfigured         = "mail_not_configured"
)

// What can be wrong with a field.
const (
	invalid   = strictjson.Invalid
	tooShort  = strictjson.TooShort
	tooLong   = strictjson.TooLong
	tooCommon = strictjson.TooCommon
)

// fields gathers what is wrong with a request.
type fields []strictjson.Field

func (f *fields) add(name, problem string) {
	if problem != "" {
		*f = append(*f, strictjson.Field{Field: name, Type: problem})
	}
}

func (f fields) refusal() error {
	if len(f) == 0 {
		return nil
	}
	return strictjson.Refuse(f...)
}

func invalidCredentials() error {
	return fault.New(InvalidCredentials, "Email or password is incorrect.", "")
}

// wrongPassword refuses somebody who is signed in and gave no e-mail.
func wrongPassword() error {
	return fault.New(InvalidCredentials, "The password is incorrect.", "")
}

func invalidToken() error {
	return fault.New(InvalidToken, "This link is not valid any more.", "It was used before, it has expired, or it was replaced. Ask for another one.")
}

func suspended() error {
	return fault.New(Suspended, "This account is suspended.", "Ask the people who run this service.")
}

func usernameTaken() error {
	return fault.New(UsernameTaken, "This username is taken.", "Choose another one.")
}

func notFound() error {
	return fault.New(ItemNotFound, "There is no such item.", "")
}

func limited(limit string, after time.Duration) error {
	return fault.New(RateLimited, "Too many requests.", "Wait a while and try again.").With("limit", limit).After(after)
}

func reauthRequired(methods []string) error {
	return fault.New(ReauthRequired, "Confirm that it is you.", "Sign in again, then repeat this.").With("methods", methods)
}

func versionConflict(now int64) error {
	return fault.New(fault.VersionConflict, "Somebody changed this in the meantime.", "Read it again.").With("version", now)
}
