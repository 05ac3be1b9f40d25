package gateway

import (
	"context"
	"net/http"

	"svc.dev/svc/service/access"
	"svc.dev/svc/service/account"
)

// registration is the body of a sign-up.
type registration struct {
	Email       string `json:"email"`
	Password    string `json:"password" text:"any"`
	Username    string `json:"username,omitzero"`
	DisplayName string `json:"displayName,omitzero"`
}

func (r registration) value() account.Registration {
	return account.Registration{Email: r.Email, Password: r.Password, Username: r.Username, DisplayName: r.DisplayName}
}

func (x *exchange) register() error {
	var body registration
	if err := x.decode(&body, x.g.Accounts.AdmitRegister); err != nil {
		return err
	}
	made, err := x.g.Accounts.Register(x.ctx(), body.value())
	if err != nil {
		return err
	}
	if made.Pending {
		return x.json(http.StatusAccepted, map[string]string{"status": "verification_sent"})
	}
	return x.welcome(made)
}

// welcome answers with a new account, or one that was resumed, and its session.
func (x *exchange) welcome(made account.Registered) error {
	if err := x.newSession(made.SignedIn); err != nil {
		return err
	}
	status := http.StatusOK
	if made.Created {
		status = http.StatusCreated
	}
	return x.json(status, map[string]any{
		"account":   made.Account.Profile(),
		"workspace": map[string]string{"id": made.Workspace.ID, "business": made.Workspace.Business, "scope": made.Workspace.Scope},
		"session":   viewSession(made.Session),
	})
}

// credentials is the body of a sign-in.
type credentials struct {
	Email    string `json:"email"`
	Password string `json:"password" text:"any"`
}

func (x *exchange) login() error {
	var body credentials
	if err := x.decode(&body, x.admitLogin); err != nil {
		return err
	}
	in, err := x.signIn(body)
	if err != nil {
		return err
	}
	return x.json(http.StatusOK, map[string]any{"account": in.Account.Profile(), "session": viewSession(in.Session)})
}

// admitLogin counts a sign-in by where it comes from.
func (x *exchange) admitLogin(ctx context.Context) error {
	return x.g.Accounts.AdmitLogin(ctx, x.host("svc_device"))
}

// signIn opens a session by password and gives it to the browser.
func (x *exchange) signIn(c credentials) (account.SignedIn, error) {
	in, err := x.g.Accounts.Login(x.ctx(), c.Email, c.Password, x.host("svc_device"))
	if err != nil {
		return in, err
	}
	return in, x.newSession(in)
}

// newSession gives a session to the browser that was just opened; the one it had before ends.
func (x *exchange) newSession(in account.SignedIn) error {
	if before, err := x.sessionValue(); err == nil {
		if err := x.g.Accounts.Logout(x.ctx(), before); err != nil {
			return err
		}
	}
	x.setSession(in)
	return nil
}

func (x *exchange) changePassword() error {
	var body struct {
		Current string `json:"currentPassword" text:"any"`
		New     string `json:"newPassword" text:"any"`
	}
	if err := x.decode(&body); err != nil {
		return err
	}
	in, err := x.g.Accounts.ChangePassword(x.ctx(), *x.who, body.Current, body.New)
	if err != nil {
		return err
	}
	x.setSession(in)
	return x.none()
}

func (x *exchange) setPassword() error {
	var body struct {
		New string `json:"newPassword" text:"any"`
	}
	if err := x.decode(&body); err != nil {
		return err
	}
	in, err := x.g.Accounts.SetPassword(x.ctx(), *x.who, body.New)
	if err != nil {
		return err
	}
	x.setSession(in)
	return x.none()
}

func (x *exchange) forgot() error {
	var body struct {
		Email string `json:"email"`
	}
	if err := x.decode(&body, x.g.Accounts.AdmitForgot); err != nil {
		return err
	}
	if err := x.g.Accounts.Forgot(x.ctx(), body.Email); err != nil {
		return err
	}
	return x.json(http.StatusAccepted, map[string]string{"status": "reset_sent"})
}

func (x *exchange) reset() error {
	var body struct {
		Token  string   `json:"token"`
		New    string   `json:"newPassword" text:"any"`
		Unlink []string `json:"unlink,omitzero"`
	}
	if err := x.decode(&body); err != nil {
		return err
	}
	device, err := x.g.Accounts.Reset(x.ctx(), body.Token, body.New, body.Unlink...)
	if err != nil {
		return err
	}
	x.knowDevice(device)
	return x.none()
}

// resetIdentities shows what leads into the account of a reset link, so that the reset can end some of it.
func (x *exchange) resetIdentities() error {
	var body tokenBody
	if err := x.decode(&body); err != nil {
		return err
	}
	all, err := x.g.Accounts.ResetIdentities(x.ctx(), body.Token)
	if err != nil {
		return err
	}
	return x.json(http.StatusOK, list[account.Identity]{Items: append([]account.Identity{}, all...)})
}

// tokenBody is the body of what a link in a mail is for.
type tokenBody struct {
	Token string `json:"token"`
}

func (x *exchange) verify() error {
	var body tokenBody
	if err := x.decode(&body); err != nil {
		return err
	}
	// A session that does not stand is no obstacle: the token is the credential.
	who, _ := x.session()
	if err := x.g.Accounts.Verify(x.ctx(), body.Token, who); err != nil {
		return err
	}
	return x.none()
}

func (x *exchange) sendVerification() error {
	if err := x.g.Accounts.SendVerification(x.ctx(), *x.who); err != nil {
		return err
	}
	return x.json(http.StatusAccepted, map[string]string{"status": "verification_sent"})
}

func (x *exchange) undoEmail() error {
	var body tokenBody
	if err := x.decode(&body); err != nil {
		return err
	}
	if err := x.g.Accounts.UndoEmail(x.ctx(), body.Token); err != nil {
		return err
	}
	return x.none()
}

func (x *exchange) undelete() error {
	var body tokenBody
	if err := x.decode(&body); err != nil {
		return err
	}
	if err := x.g.Accounts.Undelete(x.ctx(), body.Token); err != nil {
		return err
	}
	return x.none()
}

// setup makes the first administrator: somebody new, or whoever is signed in.
func (x *exchange) setup() error {
	var body struct {
		Token    string `json:"token"`
		Email    string `json:"email,omitzero"`
		Password string `json:"password,omitzero" text:"any"`
		Username string `json:"username,omitzero"`
	}
	if err := x.decode(&body); err != nil {
		return err
	}
	if body.Email == "" && body.Password == "" && body.Username == "" {
		return x.setupSelf(body.Token)
	}
	r := account.Registration{Email: body.Email, Password: body.Password, Username: body.Username}
	made, err := x.g.Accounts.Setup(x.ctx(), body.Token, r)
	if err != nil {
		return err
	}
	return x.welcome(made)
}

// setupSelf raises the person who is signed in.
func (x *exchange) setupSelf(token string) error {
	who, err := x.session()
	if err != nil {
		return err
	}
	if who == nil {
		return access.Unauthenticated()
	}
	if err := x.g.Accounts.SetupExisting(x.ctx(), token, *who); err != nil {
		return err
	}
	return x.none()
}
