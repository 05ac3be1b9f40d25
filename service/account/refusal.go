package account

import (
	"time"

	"svc.dev/svc/fault"
)

// The types of refusals that this room alone raises; those of the providers' protocol stand in package github.
const (
	InvalidToken              = "invalid_token"
	InvalidState              = "invalid_state"
	InvalidCredentials        = "invalid_credentials"
	ReauthRequired            = "reauth_required"
	Suspended                 = "account_suspended"
	UsernameTaken             = "username_taken"
	LastCredential            = "last_credential"
	IdentityAlreadyLinked     = "identity_already_linked"
	EmailVerificationRequired = "email_verification_required"
	SetupClosed               = "setup_closed"
	MailNotConfigured         = "mail_not_configured"
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
	return fault.New(fault.ItemNotFound, "There is no such item.", "")
}

// limited refuses whoever has to wait, and is nil where there is nothing to wait for.
func limited(limit string, after time.Duration) error {
	if after <= 0 {
		return nil
	}
	return fault.New(fault.RateLimited, "Too many requests.", "Wait a while and try again.").With("limit", limit).After(after)
}

func reauthRequired(methods []string) error {
	return fault.New(ReauthRequired, "Confirm that it is you.", "Sign in again, then repeat this.").With("methods", methods)
}
