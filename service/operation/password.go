package operation

import (
	"context"
	"net/http"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/account"
)

// passwords are how somebody signs up and in by one.
var passwords = about("password", access.Platform,
	verb("/api/auth/password/register", access.Public, register).admit(admitRegister).cookie(setSession).
		answers(http.StatusOK, registered{}).answers(http.StatusCreated, registered{}).answers(http.StatusAccepted, verificationSent{}).
		says("Sign up. The same address with the right password resumes, and is counted as a sign-in. Where the service sends mail nothing is made before the address is proven, and all others get the same answer.",
			account.InvalidCredentials, account.Suspended, account.UsernameTaken, fault.RateLimited, fault.Busy),
	verb("/api/auth/password/login", access.Public, login).admit(admitLogin).cookie(setSession).
		says("Sign in by password. Whatever is wrong is told in one sentence and costs the same time.", account.InvalidCredentials, account.Suspended, fault.RateLimited, fault.Busy),
	act("/api/auth/password/change", access.SignedIn, changePassword).cookie(setSession).
		says("Change one's password. The other sessions end, and this one gets a new value. Ten times a day.", account.InvalidCredentials, fault.Busy),
	act("/api/auth/password/set", access.SignedIn, setPassword).cookie(setSession).
		says("Give a password to an account that has none. The other sessions end, and this one gets a new value.", account.InvalidCredentials, account.ReauthRequired, account.EmailVerificationRequired, fault.Busy),
	start("/api/auth/password/forgot", access.Public, forgotPassword).admit(admitForgot).
		says("Ask for a link to reset a password. The answer is the same whether or not somebody has the address.", fault.RateLimited),
	act("/api/auth/password/reset", access.Public, resetPassword).cookie(knowBrowser).
		says("Set a password by a link. All sessions, API keys and pending changes of the account end, nobody is signed in, and the address is proven. Identities stay unless `unlink` names them.", account.InvalidToken, fault.Busy),
	verb("/api/auth/password/reset/identities", access.Public, resetIdentities).says("Show what leads into the account of a reset link, the oldest first. The link is not used up.", account.InvalidToken),
)

// addresses are how somebody proves and restores one.
var addresses = about("email", access.Platform,
	act("/api/auth/email/verify", access.Public, verifyEmail).cookie(forgetSession).
		says("Prove an address by a link. It completes a sign-up, proves the address of an account, or changes it. Nobody is signed in. What others began in the account before its address was proven ends.", account.InvalidToken),
	start("/api/auth/email/verification", access.SignedIn, sendVerification).says("Ask for another mail to prove one's address. The answer is the same when it is verified already.", account.MailNotConfigured),
	act("/api/auth/email/undo", access.Public, undoEmail).
		says("Take back a change of address. What was begun since the change ends, also in the workspaces of the account. The link is good for 72 hours.", account.InvalidToken),
	act("/api/auth/undelete", access.Public, undeleteAccount).says("Bring back a deleted account. The link is good until the account is erased.", account.InvalidToken),
)

// registration is the body of a sign-up.
type registration struct {
	Body struct {
		Email       string `json:"email" max:"254"`
		Password    string `json:"password" text:"any" min:"12" max:"256"`
		Username    string `json:"username,omitzero" min:"2" max:"39"`
		DisplayName string `json:"displayName,omitzero" max:"80"`
	}
}

// registered is a new account, or one that was resumed, and its session.
type registered struct {
	Account   account.Profile `json:"account"`
	Workspace newcomersPlace  `json:"workspace"`
	Session   sessionShown    `json:"session"`
}

// newcomersPlace is the workspace that every person has.
type newcomersPlace struct {
	ID       string `json:"id" id:"wsp"`
	Business string `json:"business"`
	Scope    string `json:"scope"`
}

func admitRegister(ctx context.Context, c Call) error { return c.Accounts.Registrations.Admit(ctx) }

func register(ctx context.Context, c Call, in registration) (outcome, error) {
	b := in.Body
	made, err := c.Accounts.Registrations.Register(ctx, account.Registration{Email: b.Email, Password: b.Password, Username: b.Username, DisplayName: b.DisplayName})
	if err == nil && made.Pending {
		return outcome{http.StatusAccepted, verificationSent{"verification_sent"}}, nil
	}
	return c.welcome(made, err)
}

// welcome answers with an account, and gives the browser its session.
func (c Call) welcome(made account.Registered, err error) (outcome, error) {
	if err == nil {
		err = c.Browser.Begin(made.SignedIn)
	}
	status := http.StatusOK
	if made.Created {
		status = http.StatusCreated
	}
	w := made.Workspace
	return outcome{status, registered{made.Account.Profile(), newcomersPlace{w.ID, w.Business, w.Scope}, sessionOf(made.Session)}}, err
}

// credentials is the body of a sign-in.
type credentials struct {
	Body struct {
		Email    string `json:"email"`
		Password string `json:"password" text:"any"`
	}
}

// signedIn is who they are.
type signedIn struct {
	Account account.Profile `json:"account"`
	Session sessionShown    `json:"session"`
}

// admitLogin counts a sign-in by where it comes from.
func admitLogin(ctx context.Context, c Call) error {
	return c.Accounts.Passwords.AdmitLogin(ctx, c.Browser.Device())
}

func login(ctx context.Context, c Call, in credentials) (signedIn, error) {
	s, err := c.Accounts.Passwords.Login(ctx, in.Body.Email, in.Body.Password, c.Browser.Device())
	if err == nil {
		err = c.Browser.Begin(s)
	}
	return signedIn{s.Account.Profile(), sessionOf(s.Session)}, err
}

type passwordChange struct {
	Body struct {
		Current string `json:"currentPassword" text:"any"`
		New     string `json:"newPassword" text:"any" min:"12" max:"256"`
	}
}

func changePassword(ctx context.Context, c Call, in passwordChange) error {
	return c.renew(c.Accounts.Passwords.Change(ctx, c.Who, in.Body.Current, in.Body.New))
}

type passwordSet struct {
	Body struct {
		New string `json:"newPassword" text:"any" min:"12" max:"256"`
	}
}

func setPassword(ctx context.Context, c Call, in passwordSet) error {
	return c.renew(c.Accounts.Passwords.Set(ctx, c.Who, in.Body.New))
}

func admitForgot(ctx context.Context, c Call) error { return c.Accounts.Passwords.AdmitForgot(ctx) }

func forgotPassword(ctx context.Context, c Call, in newEmail) (resetSent, error) {
	return resetSent{"reset_sent"}, c.Accounts.Passwords.Forgot(ctx, in.Body.Email)
}

type passwordReset struct {
	Body struct {
		Token  string   `json:"token"`
		New    string   `json:"newPassword" text:"any" min:"12" max:"256"`
		Unlink []string `json:"unlink,omitzero"` // identities that are no way into the account any more
	}
}

func resetPassword(ctx context.Context, c Call, in passwordReset) error {
	mark, err := c.Accounts.Passwords.Reset(ctx, in.Body.Token, in.Body.New, in.Body.Unlink...)
	if err == nil {
		c.Browser.Know(mark)
	}
	return err
}

// token is what stands in the link of a mail.
type token struct {
	Body struct {
		Token string `json:"token"`
	}
}

// identities are those that lead into an account.
type identities struct {
	Items []account.Identity `json:"items"`
}

func resetIdentities(ctx context.Context, c Call, in token) (identities, error) {
	all, err := c.Accounts.Passwords.ResetIdentities(ctx, in.Body.Token)
	return identities{append([]account.Identity{}, all...)}, err
}

func verifyEmail(_ context.Context, c Call, in token) error {
	who, ctx, _ := c.Browser.Session() // one that does not stand is no obstacle: the token is the credential
	return c.Accounts.Emails.Verify(ctx, in.Body.Token, who)
}

func sendVerification(ctx context.Context, c Call, _ struct{}) (verificationSent, error) {
	return verificationSent{"verification_sent"}, c.Accounts.Emails.SendVerification(ctx, c.Who)
}

func undoEmail(ctx context.Context, c Call, in token) error {
	return c.Accounts.Emails.Undo(ctx, in.Body.Token)
}

func undeleteAccount(ctx context.Context, c Call, in token) error {
	return c.Accounts.Undelete(ctx, in.Body.Token)
}
