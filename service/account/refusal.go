package account

import (
	"time"

	"svc.dev/svc/fault"
)

// The types of refusals that this room raises.
const (
	InvalidToken              = "invalid_token"
	InvalidState              = "invalid_state"
	InvalidCredentials        = "invalid_credentials"
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
	AdminRequired             = "admin_required"
	// Those that have to do with providers; of the protocol itself they stand in package github.
	UnknownProvider            = "unknown_provider"
	ProviderConnectionRequired = "provider_connection_required"
)

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
