package mail

import (
	"errors"
	"regexp"
	"time"
)

// Content is what a mail says. The functions of this package make all there are; none takes a link, only the token of one, so that
// every link leads to Config.URL. The life of a token is how long it works.
type Content struct {
	kind     string // also the name of its templates
	subject  string
	path     string // of the page that its link opens
	token    string
	life     time.Duration // of the token
	provider string
	name     string
	inviter  string
	reason   string
	percent  int
}

// The pages that mails link to.
const (
	signInPath      = "/login"
	forgotPath      = "/forgot"
	verifyPath      = "/verify"
	resetPath       = "/reset"
	undoPath        = "/undo"
	undeletePath    = "/undelete"
	connectionsPath = "/account/connections"
	keysPath        = "/account/keys"
	workspacesPath  = "/workspaces"
	invitationsPath = "/invitations"
)

// SignUp completes a sign-up.
func SignUp(token string, life time.Duration) Content {
	return Content{kind: "sign_up", subject: "Finish creating your account", path: verifyPath, token: token, life: life}
}

// VerifyEmail proves the address of an account that stands.
func VerifyEmail(token string, life time.Duration) Content {
	return Content{kind: "verify_email", subject: "Confirm your e-mail address", path: verifyPath, token: token, life: life}
}

// HaveAccount answers a sign-up, or a change of address, with an address that has an account.
func HaveAccount() Content {
	return Content{kind: "have_account", subject: "You already have an account", path: signInPath}
}

// ResetPassword lets its reader choose a new password.
func ResetPassword(token string, life time.Duration) Content {
	return Content{kind: "reset_password", subject: "Choose a new password", path: resetPath, token: token, life: life}
}

// PasswordChanged tells that the password is another one.
func PasswordChanged() Content {
	return Content{kind: "password_changed", subject: "Your password was changed", path: forgotPath}
}

// ChangeEmail proves the new address of an account; it goes there.
func ChangeEmail(token string, life time.Duration) Content {
	return Content{kind: "change_email", subject: "Confirm your new e-mail address", path: verifyPath, token: token, life: life}
}

// EmailChanged tells the old address, with a way back.
func EmailChanged(token string, life time.Duration) Content {
	return Content{kind: "email_changed", subject: "Your e-mail address was changed", path: undoPath, token: token, life: life}
}

// EmailTakenBack tells an address that the account has another one again: its change was undone.
func EmailTakenBack() Content {
	return Content{kind: "email_taken_back", subject: "Your e-mail address was taken back", path: forgotPath}
}

// ProviderLinked tells of a new way into the account: the provider as people call it, such as GitHub, and the person's name there.
func ProviderLinked(provider, login string) Content {
	return Content{kind: "provider_linked", subject: "A new way to sign in was added", path: connectionsPath, provider: provider, name: login}
}

// ProviderUnlinked tells that a way into the account is gone.
func ProviderUnlinked(provider, login string) Content {
	return Content{kind: "provider_unlinked", subject: "A way to sign in was removed", path: connectionsPath, provider: provider, name: login}
}

// AccountDeleted tells that the account will be erased when the life is over, with a way back until then.
func AccountDeleted(token string, life time.Duration) Content {
	return Content{kind: "account_deleted", subject: "Your account will be erased", path: undeletePath, token: token, life: life}
}

// KeyExposed tells that an API key of a name was sent in the address of a request.
func KeyExposed(name string) Content {
	return Content{kind: "key_exposed", subject: "Replace an API key", path: keysPath, name: name}
}

// Invitation asks somebody, who may be a stranger, to work in a workspace, which is named as its people call it. It says the same
// whether or not the address has an account.
func Invitation(workspace, inviter, token string, life time.Duration) Content {
	return Content{
		kind: "invitation", subject: "You are invited to a workspace", path: invitationsPath, token: token, life: life,
		name: linkless(workspace), inviter: linkless(inviter),
	}
}

// Viewed tells that somebody of the staff looks at the service as the account does, and why.
func Viewed(staff, reason string) Content {
	return Content{kind: "viewed", subject: "Our staff looked at your account", path: workspacesPath, name: staff, reason: linkless(reason)}
}

// StorageWarning tells an owner of a workspace, which is named as its people call it, how full its storage is: 100 is full.
func StorageWarning(workspace string, percent int) Content {
	subject := "A workspace is running out of storage"
	if percent >= 100 {
		subject = "The storage of a workspace is full"
	}
	return Content{kind: "storage_warning", subject: subject, path: workspacesPath, name: linkless(workspace), percent: percent}
}

// hasToken reports whether the page does nothing without a token.
func (c Content) hasToken() bool {
	switch c.path {
	case verifyPath, resetPath, undoPath, undeletePath, invitationsPath:
		return true
	}
	return false
}

var tokenForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,512}$`)

// check refuses what would make a link that is none. It never repeats a token.
func (c Content) check() error {
	switch {
	case c.hasToken() && !tokenForm.MatchString(c.token):
		return errors.New("the token has characters that no token has")
	case c.hasToken() && c.life < time.Minute:
		return errors.New("the token has no life")
	}
	return nil
}
