package site

import (
	"context"
	"net/http"
	"slices"

	"svc.dev/svc/service/access"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/operation"
	"svc.dev/svc/service/page"
)

// entries are the pages by which somebody comes in, and those that a link in a mail opens.
var entries = []Row{
	{On: []access.Surface{access.Platform, access.Agents}, Method: http.MethodGet, Path: "/", Need: access.Public, Do: home},
	{On: []access.Surface{access.Admin}, Method: http.MethodGet, Path: "/", Need: access.Staff, Do: staffHome},
	enters(page.SignInPath, access.Public, signIn).first(passBy),
	takes(page.SignInPath, "login", signIn, goesOn(""), "returnTo"),
	enters(page.SignUpPath, access.Public, signUp),
	takes(page.SignUpPath, "register", signUp, signedUp, "returnTo"),
	shows(page.SignUpSentPath, access.Public, signUpSent),
	takes(page.SignOutPath, "logout", nil, signedOut),
	shows(page.ForgotPath, access.Public, forgot),
	takes(page.ForgotPath, "forgotPassword", forgot, leads(page.ForgotSentPath, "")),
	shows(page.ForgotSentPath, access.Public, forgotSent),
	shows(page.ResetPath, access.Public, reset),
	takes(page.ResetPath, "resetPassword", reset, leads(page.SignInPath, page.NoticePasswordReset), "shown").first(showWays).first(pasted),
	shows(page.VerifyPath, access.Public, verify),
	takes(page.VerifyPath, "verifyEmail", verify, leads(page.SignInPath, page.NoticeEmailVerified)).first(pasted),
	shows(page.UndoPath, access.Public, undo),
	takes(page.UndoPath, "undoEmail", undo, leads(page.SignInPath, page.NoticeEmailRestored)).first(pasted),
	shows(page.UndeletePath, access.Public, undelete),
	takes(page.UndeletePath, "undeleteAccount", undelete, leads(page.SignInPath, page.NoticeAccountRestored)).first(pasted),
	shows(page.SetupPath, access.Public, setup),
	takes(page.SetupPath, "setUp", setup, isSetUp).first(pasted),
}

// home leads from a surface's root to where a person begins.
func home(_ context.Context, v *Visit) (Next, error) {
	who, _, err := v.Browser.Session()
	switch {
	case err != nil:
		return Next{}, err
	case who == nil:
		return Next{To: v.Address(access.Platform) + page.SignInPath}, nil
	case v.Application && v.Surface == access.Agents:
		return Next{Application: true}, nil
	}
	return Next{To: v.Address(access.Platform) + page.WorkspacesPath, Notice: v.notice()}, nil
}

// staffHome is where staff begin.
func staffHome(_ context.Context, v *Visit) (Next, error) {
	if v.Application {
		return Next{Application: true}, nil
	}
	return Next{To: page.ProvidersPath}, nil
}

// isSetUp leads the first administrator on: to their workspace, or else to what is to be set up next.
func isSetUp(_ context.Context, v *Visit, _ any) (Next, error) {
	if v.Application {
		return Next{To: v.Address(access.Agents) + "/"}, nil
	}
	return Next{To: v.Address(access.Admin) + page.ProvidersPath}, nil
}

// passBy leads somebody on who is signed in already.
func passBy(_ context.Context, v *Visit) (Next, error) {
	to, err := v.ReturnTo(v.Query.Get("returnTo"))
	if err != nil {
		return Next{}, err
	}
	who, _, err := v.Browser.Known()
	if who == nil {
		to = ""
	}
	return Next{To: to}, err
}

func signIn(ctx context.Context, v *Visit, form page.Form) (page.View, error) {
	return page.SignIn{Form: form, Email: v.typed("email"), GitHub: v.github(ctx), MailOff: v.MailOff, Unclaimed: v.unclaimed(ctx)}, nil
}

// unclaimed reports whether the first administrator is still to come. A database that cannot say so is no reason to have no
// page.
func (v *Visit) unclaimed(ctx context.Context) bool {
	open, err := v.Accounts.Staff.SetupOpen(ctx)
	return err == nil && open
}

func signUp(ctx context.Context, v *Visit, form page.Form) (page.View, error) {
	return page.SignUp{
		Form: form, Email: v.typed("email"), Username: v.typed("username"), DisplayName: v.typed("displayName"), GitHub: v.github(ctx), MailOff: v.MailOff,
	}, nil
}

// signedUp leads on, or to the page that tells of the mail by which it goes on.
func signedUp(ctx context.Context, v *Visit, out any) (Next, error) {
	if operation.GoesOn(out) {
		return Next{To: page.SignUpSentPath}, nil
	}
	return goesOn("")(ctx, v, out)
}

// signedOut ends where one can sign in again.
func signedOut(_ context.Context, v *Visit, _ any) (Next, error) {
	return Next{To: v.Address(access.Platform) + page.SignInPath, Notice: page.NoticeSignedOut}, nil
}

func forgot(_ context.Context, v *Visit, form page.Form) (page.View, error) {
	return page.Forgot{Form: form, Email: v.typed("email"), MailOff: v.MailOff}, nil
}

// forgotSent and signUpSent say that a mail was sent. No address stands there: that of a page is kept in histories.
func forgotSent(_ context.Context, v *Visit, _ page.Form) (page.View, error) {
	return page.ForgotSent{MailOff: v.MailOff}, nil
}

func signUpSent(context.Context, *Visit, page.Form) (page.View, error) { return page.SignUpSent{}, nil }

func reset(ctx context.Context, v *Visit, form page.Form) (page.View, error) {
	linked, _ := v.Accounts.Passwords.ResetIdentities(ctx, v.typed("token")) // a link that is good no more leads nowhere
	view := page.Reset{Form: form, Token: v.keptToken(form)}
	for _, i := range linked {
		view.Items = append(view.Items, identity(i, slices.Contains(v.ticked("unlink"), i.ID)))
	}
	return view, nil
}

// showWays asks which ways into the account are to stay, before its password is set.
func showWays(ctx context.Context, v *Visit) (Next, error) {
	linked, err := v.Accounts.Passwords.ResetIdentities(ctx, v.typed("token"))
	if err != nil || len(linked) == 0 || v.typed("shown") != "" {
		return Next{}, err
	}
	view, err := reset(ctx, v, page.Form{})
	return Next{Page: view}, err
}

// keptToken is the token of a link, unless a refusal has used it up.
func (v *Visit) keptToken(form page.Form) string {
	if form.Error != "" && len(form.Fields) == 0 {
		return ""
	}
	return v.typed("token")
}

func identity(i account.Identity, ticked bool) page.Identity {
	return page.Identity{ID: i.ID, Provider: i.Provider, Login: i.Login, Issuer: i.Issuer, LinkedAt: i.LinkedAt.Time, Ticked: ticked}
}

func verify(_ context.Context, _ *Visit, form page.Form) (page.View, error) {
	return page.Verify{Form: form}, nil
}

func undo(_ context.Context, _ *Visit, form page.Form) (page.View, error) {
	return page.Undo{Form: form}, nil
}

func undelete(_ context.Context, _ *Visit, form page.Form) (page.View, error) {
	return page.Undelete{Form: form}, nil
}

// setup is where the first administrator begins.
func setup(ctx context.Context, v *Visit, form page.Form) (page.View, error) {
	open, err := v.Accounts.Staff.SetupOpen(ctx)
	if err != nil {
		return nil, err
	}
	view := page.Setup{Form: form, Closed: !open, Email: v.typed("email"), Username: v.typed("username"), Token: v.keptToken(form)}
	if who, _, err := v.Browser.Known(); err == nil && who != nil {
		view.SignedInAs = who.Account.Username
	}
	return view, nil
}
