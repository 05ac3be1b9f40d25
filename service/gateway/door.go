package gateway

import (
	"net/http"
	"slices"

	"svc.dev/svc/service/account"
	"svc.dev/svc/service/page"
)

// signInPage is for whoever is not signed in; others go on.
func (x *exchange) signInPage() error {
	form, err := x.entryForm()
	if err != nil {
		return err
	}
	who, err := x.signedInQuietly()
	if err != nil {
		return err
	}
	if who != nil {
		to, err := x.g.returnTo(form.ReturnTo)
		if err != nil {
			return err
		}
		return x.see(http.StatusFound, to)
	}
	return x.show(http.StatusOK, page.SignIn{Form: form, GitHub: x.github(), MailOff: x.g.MailOff, Unclaimed: x.unclaimed()})
}

// signedInQuietly is who is signed in, for a page that a person needs most when their session is broken.
func (x *exchange) signedInQuietly() (*account.Who, error) {
	if len(x.r.CookiesNamed(sessionCookie)) > 1 {
		x.clearSession()
		return nil, nil
	}
	return x.session()
}

func (x *exchange) signInForm() error {
	var f struct {
		Email    string `json:"email"`
		Password string `json:"password" text:"any"`
		ReturnTo string `json:"returnTo"`
	}
	if err := x.form(&f, x.admitLogin); err != nil {
		return err
	}
	to, err := x.g.returnTo(f.ReturnTo)
	if err != nil {
		return err
	}
	if _, err := x.signIn(credentials{f.Email, f.Password}); err != nil {
		return x.again(err, func(form page.Form) page.View {
			form.ReturnTo = f.ReturnTo
			return page.SignIn{Form: form, Email: f.Email, GitHub: x.github(), MailOff: x.g.MailOff, Unclaimed: x.unclaimed()}
		})
	}
	return x.see(http.StatusSeeOther, to)
}

func (x *exchange) signUpPage() error {
	form, err := x.entryForm()
	if err != nil {
		return err
	}
	return x.show(http.StatusOK, page.SignUp{Form: form, GitHub: x.github(), MailOff: x.g.MailOff})
}

func (x *exchange) signUpForm() error {
	var f struct {
		Email       string `json:"email"`
		Password    string `json:"password" text:"any"`
		Username    string `json:"username"`
		DisplayName string `json:"displayName"`
		ReturnTo    string `json:"returnTo"`
	}
	if err := x.form(&f, x.g.Accounts.AdmitRegister); err != nil {
		return err
	}
	to, err := x.g.returnTo(f.ReturnTo)
	if err != nil {
		return err
	}
	made, err := x.g.Accounts.Register(x.ctx(), account.Registration{Email: f.Email, Password: f.Password, Username: f.Username, DisplayName: f.DisplayName})
	if err != nil {
		return x.again(err, func(form page.Form) page.View {
			form.ReturnTo = f.ReturnTo
			return page.SignUp{Form: form, Email: f.Email, Username: f.Username, DisplayName: f.DisplayName, GitHub: x.github(), MailOff: x.g.MailOff}
		})
	}
	if made.Pending {
		return x.show(http.StatusOK, page.SignUpSent{Email: f.Email})
	}
	if err := x.newSession(made.SignedIn); err != nil {
		return err
	}
	return x.see(http.StatusSeeOther, to)
}

// signOutForm is the button; it ends where one can sign in again.
func (x *exchange) signOutForm() error {
	if err := x.signOut(); err != nil {
		return err
	}
	return x.see(http.StatusSeeOther, withNotice(x.g.Surfaces.origin(Platform)+page.SignInPath, string(page.NoticeSignedOut)))
}

func (x *exchange) forgotPage() error {
	return x.show(http.StatusOK, page.Forgot{MailOff: x.g.MailOff})
}

func (x *exchange) forgotForm() error {
	var f struct {
		Email string `json:"email"`
	}
	if err := x.form(&f, x.g.Accounts.AdmitForgot); err != nil {
		return err
	}
	if err := x.g.Accounts.Forgot(x.ctx(), f.Email); err != nil {
		return x.again(err, func(form page.Form) page.View { return page.Forgot{Form: form, Email: f.Email, MailOff: x.g.MailOff} })
	}
	return x.show(http.StatusOK, page.ForgotSent{Email: f.Email, MailOff: x.g.MailOff})
}

func (x *exchange) resetPage() error { return x.show(http.StatusOK, page.Reset{}) }

func (x *exchange) resetForm() error {
	var f struct {
		Token  string   `json:"token"`
		New    string   `json:"newPassword" text:"any"`
		Unlink []string `json:"unlink"`
		Shown  bool     `json:"shown"`
	}
	if err := x.form(&f); err != nil {
		return err
	}
	token := page.TokenOf(f.Token)
	linked, err := x.g.Accounts.ResetIdentities(x.ctx(), token)
	view := page.Reset{Token: f.Token, Items: showIdentities(linked, f.Unlink)}
	if err == nil && len(linked) > 0 && !f.Shown {
		return x.show(http.StatusOK, view)
	}
	device := ""
	if err == nil {
		device, err = x.g.Accounts.Reset(x.ctx(), token, f.New, f.Unlink...)
	}
	if err != nil {
		return x.again(err, func(form page.Form) page.View {
			view.Form, view.Token = form, kept(form, f.Token)
			return view
		})
	}
	x.knowDevice(device)
	return x.toSignIn(page.NoticePasswordReset)
}

// showIdentities are identities as a page shows them, those that were ticked ticked again.
func showIdentities(all []account.Identity, ticked []string) (shown []page.Identity) {
	for _, i := range all {
		shown = append(shown, page.Identity{
			ID: i.ID, Provider: i.Provider, Login: i.Login, Issuer: i.Issuer, LinkedAt: i.LinkedAt.Time, Ticked: slices.Contains(ticked, i.ID),
		})
	}
	return shown
}

// kept is the token of a link that a refusal of a field did not use up.
func kept(form page.Form, token string) string {
	if len(form.Fields) == 0 {
		return ""
	}
	return token
}

// mailedForm is what the page of a link in a mail sends.
type mailedForm struct {
	Token string `json:"token"`
}

// toSignIn ends what a link in a mail began.
func (x *exchange) toSignIn(n page.Notice) error {
	return x.see(http.StatusSeeOther, withNotice(page.SignInPath, string(n)))
}

func (x *exchange) verifyPage() error { return x.show(http.StatusOK, page.Verify{}) }

func (x *exchange) verifyForm() error {
	var f mailedForm
	if err := x.form(&f); err != nil {
		return err
	}
	who, _ := x.session()
	if err := x.g.Accounts.Verify(x.ctx(), page.TokenOf(f.Token), who); err != nil {
		return x.again(err, func(form page.Form) page.View { return page.Verify{Form: form} })
	}
	return x.toSignIn(page.NoticeEmailVerified)
}

func (x *exchange) undoPage() error { return x.show(http.StatusOK, page.Undo{}) }

func (x *exchange) undoForm() error {
	var f mailedForm
	if err := x.form(&f); err != nil {
		return err
	}
	if err := x.g.Accounts.UndoEmail(x.ctx(), page.TokenOf(f.Token)); err != nil {
		return x.again(err, func(form page.Form) page.View { return page.Undo{Form: form} })
	}
	return x.toSignIn(page.NoticeEmailRestored)
}

func (x *exchange) undeletePage() error { return x.show(http.StatusOK, page.Undelete{}) }

func (x *exchange) undeleteForm() error {
	var f mailedForm
	if err := x.form(&f); err != nil {
		return err
	}
	if err := x.g.Accounts.Undelete(x.ctx(), page.TokenOf(f.Token)); err != nil {
		return x.again(err, func(form page.Form) page.View { return page.Undelete{Form: form} })
	}
	return x.toSignIn(page.NoticeAccountRestored)
}

// setupPage is where the first administrator begins.
func (x *exchange) setupPage() error {
	view, err := x.setupView(page.Form{})
	if err != nil {
		return err
	}
	return x.show(http.StatusOK, view)
}

func (x *exchange) setupView(form page.Form) (page.Setup, error) {
	open, err := x.g.Accounts.SetupOpen(x.ctx())
	if err != nil {
		return page.Setup{}, err
	}
	view := page.Setup{Form: form, Closed: !open}
	if who, err := x.signedInQuietly(); err == nil && who != nil {
		view.SignedInAs = who.Account.Username
	}
	return view, nil
}

func (x *exchange) setupForm() error {
	var f struct {
		Token    string `json:"token"`
		Email    string `json:"email"`
		Password string `json:"password" text:"any"`
		Username string `json:"username"`
	}
	if err := x.form(&f); err != nil {
		return err
	}
	err := x.setUp(page.TokenOf(f.Token), account.Registration{Email: f.Email, Password: f.Password, Username: f.Username})
	if err != nil {
		return x.again(err, func(form page.Form) page.View {
			view, _ := x.setupView(form)
			view.Email, view.Username, view.Token = f.Email, f.Username, kept(form, f.Token)
			return view
		})
	}
	return x.see(http.StatusSeeOther, x.g.Surfaces.origin(Admin)+page.ProvidersPath)
}

// setUp makes an administrator of whoever is signed in, or else of somebody new.
func (x *exchange) setUp(token string, r account.Registration) error {
	who, err := x.signedInQuietly()
	if err != nil {
		return err
	}
	if who != nil {
		return x.g.Accounts.SetupExisting(x.ctx(), token, *who)
	}
	made, err := x.g.Accounts.Setup(x.ctx(), token, r)
	if err != nil {
		return err
	}
	return x.newSession(made.SignedIn)
}

// unclaimed reports whether the first administrator is still to come. A database that cannot say so is no reason to have no
// page.
func (x *exchange) unclaimed() bool {
	open, err := x.g.Accounts.SetupOpen(x.ctx())
	return err == nil && open
}
