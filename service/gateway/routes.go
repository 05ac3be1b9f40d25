package gateway

import (
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/page"
)

var (
	everywhere = []Surface{Platform, Agents, Admin}
	platform   = []Surface{Platform}
	admin      = []Surface{Admin}
)

// routes are all there is.
var routes = append(operations(), pageRoutes...)

// pageRoutes are what a person can use without scripts. A form calls the verb of its JSON route, under the same checks.
var pageRoutes = []route{
	{everywhere, "GET", "/", access.Public, (*exchange).home, 0},
	{everywhere, "GET", "/assets/{file}", access.Public, (*exchange).asset, 0},

	{platform, "GET", page.SignInPath, access.Public, (*exchange).signInPage, 0},
	{platform, "POST", page.SignInPath, access.Public, (*exchange).signInForm, 0},
	{platform, "GET", page.LinkPath, access.Public, (*exchange).linkPage, 0},
	{platform, "POST", page.LinkPath, access.Public, (*exchange).linkForm, 0},
	{platform, "POST", page.LinkSeparatePath, access.Public, (*exchange).separateForm, 0},
	{platform, "GET", page.SignUpPath, access.Public, (*exchange).signUpPage, 0},
	{platform, "POST", page.SignUpPath, access.Public, (*exchange).signUpForm, 0},
	{platform, "POST", page.SignOutPath, access.Public, (*exchange).signOutForm, 0},
	{platform, "GET", page.ForgotPath, access.Public, (*exchange).forgotPage, 0},
	{platform, "POST", page.ForgotPath, access.Public, (*exchange).forgotForm, 0},
	{platform, "GET", page.ResetPath, access.Public, (*exchange).resetPage, 0},
	{platform, "POST", page.ResetPath, access.Public, (*exchange).resetForm, 0},
	{platform, "GET", page.VerifyPath, access.Public, (*exchange).verifyPage, 0},
	{platform, "POST", page.VerifyPath, access.Public, (*exchange).verifyForm, 0},
	{platform, "GET", page.UndoPath, access.Public, (*exchange).undoPage, 0},
	{platform, "POST", page.UndoPath, access.Public, (*exchange).undoForm, 0},
	{platform, "GET", page.UndeletePath, access.Public, (*exchange).undeletePage, 0},
	{platform, "POST", page.UndeletePath, access.Public, (*exchange).undeleteForm, 0},
	{platform, "GET", page.SetupPath, access.Public, (*exchange).setupPage, 0},
	{platform, "POST", page.SetupPath, access.Public, (*exchange).setupForm, 0},

	{platform, "GET", page.ProfilePath, access.SignedIn, (*exchange).profilePage, 0},
	{platform, "POST", page.ProfilePath, access.SignedIn, (*exchange).profileForm, 0},
	{platform, "POST", page.EmailPath, access.SignedIn, (*exchange).emailForm, 0},
	{platform, "POST", page.VerificationPath, access.SignedIn, (*exchange).verificationForm, 0},
	{platform, "GET", page.SecurityPath, access.SignedIn, (*exchange).securityPage, 0},
	{platform, "POST", page.ChangePasswordPath, access.SignedIn, (*exchange).changePasswordForm, 0},
	{platform, "POST", page.SetPasswordPath, access.SignedIn, (*exchange).setPasswordForm, 0},
	{platform, "GET", page.ConnectionsPath, access.SignedIn, (*exchange).connectionsPage, 0},
	{platform, "POST", page.UnlinkPath, access.SignedIn, (*exchange).unlinkForm, 0},
	{platform, "GET", page.SessionsPath, access.SignedIn, (*exchange).sessionsPage, 0},
	{platform, "POST", page.EndSessionPath, access.SignedIn, (*exchange).endSessionForm, 0},
	{platform, "POST", page.EndSessionsPath, access.SignedIn, (*exchange).endOthersForm, 0},
	{platform, "GET", page.KeysPath, access.SignedIn, (*exchange).keysPage, 0},
	{platform, "POST", page.KeysPath, access.SignedIn, (*exchange).keyForm, 0},
	{platform, "POST", page.RotateKeyPath, access.SignedIn, (*exchange).rotateKeyForm, 0},
	{platform, "POST", page.RevokeKeyPath, access.SignedIn, (*exchange).revokeKeyForm, 0},
	{platform, "GET", page.DangerPath, access.SignedIn, (*exchange).dangerPage, 0},
	{platform, "POST", page.DangerPath, access.SignedIn, (*exchange).dangerForm, 0},
	{platform, "GET", page.ReauthPath, access.SignedIn, (*exchange).reauthPage, 0},
	{platform, "POST", page.ReauthPath, access.SignedIn, (*exchange).reauthForm, 0},
	{platform, "GET", page.WorkspacesPath, access.SignedIn, (*exchange).workspacesPage, 0},
	{platform, "GET", page.NewPath, access.SignedIn, (*exchange).newWorkspacePage, 0},
	{platform, "POST", page.NewPath, access.SignedIn, (*exchange).newWorkspaceForm, 0},
	{platform, "GET", page.InvitationPath, access.Public, (*exchange).invitationPage, 0},
	{platform, "POST", page.InvitationPath, access.SignedIn, (*exchange).invitationForm, 0},

	{admin, "GET", page.ElevatePath, access.SignedIn, (*exchange).elevatePage, 0},
	{admin, "POST", page.ElevatePath, access.SignedIn, (*exchange).elevateForm, 0},
	{admin, "GET", page.ProvidersPath, access.Staff, (*exchange).providersPage, 0},
	{admin, "POST", page.ReplaceProviderPath, access.Staff, (*exchange).replaceProviderForm, 0},
}
