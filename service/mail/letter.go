package mail

import (
	"errors"
	"regexp"
	"time"
)

// Content is what a mail says. The types of this package are all there are; none carries a link, only the token of one, so
// that every link leads to Config.URL.
type Content interface {
	draft() draft
}

// The contents of mails. Life is how long the token works.
type (
	// SignUp completes a sign-up.
	SignUp struct {
		Token string
		Life  time.Duration
	}
	// VerifyEmail proves the address of an account that stands.
	VerifyEmail struct {
		Token string
		Life  time.Duration
	}
	// HaveAccount answers a sign-up, or a change of address, with an address that has an account.
	HaveAccount struct{}
	// ResetPassword lets its reader choose a new password.
	ResetPassword struct {
		Token string
		Life  time.Duration
	}
	// PasswordChanged tells that the password is another one.
	PasswordChanged struct{}
	// ChangeEmail proves the new address of an account; it goes there.
	ChangeEmail struct {
		Token string
		Life  time.Duration
	}
	// EmailChanged tells the old address, with a way back.
	EmailChanged struct {
		Token string
		Life  time.Duration
	}
	// EmailTakenBack tells an address that the account has another one again: its change was undone.
	EmailTakenBack struct{}
	// ProviderLinked tells of a new way into the account.
	ProviderLinked struct {
		Provider string // as people call it: GitHub
		Login    string // the person's name there
	}
	// ProviderUnlinked tells that a way into the account is gone.
	ProviderUnlinked struct {
		Provider string
		Login    string
	}
	// AccountDeleted tells that the account will be erased when Life is over, with a way back until then.
	AccountDeleted struct {
		Token string
		Life  time.Duration
	}
	// KeyExposed tells that an API key was sent in the address of a request.
	KeyExposed struct {
		Name string // of the key
	}
	// Invitation asks somebody, who may be a stranger, to work in a workspace. It says the same whether or not the address
	// has an account.
	Invitation struct {
		Workspace string // as its people call it
		Inviter   string
		Token     string
		Life      time.Duration
	}
	// Viewed tells that somebody of the staff looks at the service as the account does, and why.
	Viewed struct {
		Staff  string
		Reason string
	}
	// StorageWarning tells an owner of a workspace how full its storage is.
	StorageWarning struct {
		Workspace string // as its people call it
		Percent   int    // 100 is full
	}
)

// draft is a content as the templates need it.
type draft struct {
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

func (c SignUp) draft() draft {
	return draft{kind: "sign_up", subject: "Finish creating your account", path: verifyPath, token: c.Token, life: c.Life}
}

func (c VerifyEmail) draft() draft {
	return draft{kind: "verify_email", subject: "Confirm your e-mail address", path: verifyPath, token: c.Token, life: c.Life}
}

func (HaveAccount) draft() draft {
	return draft{kind: "have_account", subject: "You already have an account", path: signInPath}
}

func (c ResetPassword) draft() draft {
	return draft{kind: "reset_password", subject: "Choose a new password", path: resetPath, token: c.Token, life: c.Life}
}

func (PasswordChanged) draft() draft {
	return draft{kind: "password_changed", subject: "Your password was changed", path: forgotPath}
}

func (c ChangeEmail) draft() draft {
	return draft{kind: "change_email", subject: "Confirm your new e-mail address", path: verifyPath, token: c.Token, life: c.Life}
}

func (c EmailChanged) draft() draft {
	return draft{kind: "email_changed", subject: "Your e-mail address was changed", path: undoPath, token: c.Token, life: c.Life}
}

func (EmailTakenBack) draft() draft {
	return draft{kind: "email_taken_back", subject: "Your e-mail address was taken back", path: forgotPath}
}

func (c ProviderLinked) draft() draft {
	return draft{kind: "provider_linked", subject: "A new way to sign in was added", path: connectionsPath, provider: c.Provider, name: c.Login}
}

func (c ProviderUnlinked) draft() draft {
	return draft{kind: "provider_unlinked", subject: "A way to sign in was removed", path: connectionsPath, provider: c.Provider, name: c.Login}
}

func (c AccountDeleted) draft() draft {
	return draft{kind: "account_deleted", subject: "Your account will be erased", path: undeletePath, token: c.Token, life: c.Life}
}

func (c KeyExposed) draft() draft {
	return draft{kind: "key_exposed", subject: "Replace an API key", path: keysPath, name: c.Name}
}

func (c Invitation) draft() draft {
	return draft{
		kind: "invitation", subject: "You are invited to a workspace", path: invitationsPath, token: c.Token, life: c.Life,
		name: linkless(c.Workspace), inviter: linkless(c.Inviter),
	}
}

func (c Viewed) draft() draft {
	return draft{kind: "viewed", subject: "Our staff looked at your account", path: workspacesPath, name: c.Staff, reason: linkless(c.Reason)}
}

func (c StorageWarning) draft() draft {
	subject := "A workspace is running out of storage"
	if c.Percent >= 100 {
		subject = "The storage of a workspace is full"
	}
	return draft{kind: "storage_warning", subject: subject, path: workspacesPath, name: linkless(c.Workspace), percent: c.Percent}
}

// hasToken reports whether the page does nothing without a token.
func (d draft) hasToken() bool {
	switch d.path {
	case verifyPath, resetPath, undoPath, undeletePath, invitationsPath:
		return true
	}
	return false
}

var tokenForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,512}$`)

// check refuses what would make a link that is none. It never repeats a token.
func (d draft) check() error {
	switch {
	case d.hasToken() && !tokenForm.MatchString(d.token):
		return errors.New("the token has characters that no token has")
	case d.hasToken() && d.life < time.Minute:
		return errors.New("the token has no life")
	}
	return nil
}
