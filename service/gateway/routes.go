package gateway

import (
	"slices"

	"svc.dev/svc/service/page"
)

var (
	everywhere = []Surface{Platform, Agents, Admin}
	platform   = []Surface{Platform}
	agents     = []Surface{Agents}
	admin      = []Surface{Admin}

	// spaces are where the routes of workspaces are: with the customers' authority, and with that of the staff.
	spaces = []Surface{Agents, Admin}
)

// routes are all there is.
var routes = slices.Concat(sessionRoutes, passwordRoutes, accountRoutes, providerRoutes, keyRoutes, runtimeRoutes, workspaceRoutes, projectRoutes, staffRoutes, ownRoutes, pageRoutes)

var sessionRoutes = []route{
	{on: everywhere, method: "GET", path: "/api/auth/session", do: (*exchange).getSession, needs: shared | unelevated},
	{on: everywhere, method: "POST", path: "/api/auth/logout", do: (*exchange).logout, needs: unelevated},
	{on: everywhere, method: "POST", path: "/api/auth/reauth", do: (*exchange).reauth, needs: signedIn | unelevated},
	{on: everywhere, method: "GET", path: "/api/openapi.json", do: (*exchange).openAPI, needs: unelevated},
	{on: everywhere, method: "GET", path: ProbePath, do: (*exchange).probe, needs: unelevated},
}

var passwordRoutes = []route{
	{on: platform, method: "POST", path: "/api/auth/password/register", do: (*exchange).register},
	{on: platform, method: "POST", path: "/api/auth/password/login", do: (*exchange).login},
	{on: platform, method: "POST", path: "/api/auth/password/change", do: (*exchange).changePassword, needs: signedIn},
	{on: platform, method: "POST", path: "/api/auth/password/set", do: (*exchange).setPassword, needs: signedIn},
	{on: platform, method: "POST", path: "/api/auth/password/forgot", do: (*exchange).forgot},
	{on: platform, method: "POST", path: "/api/auth/password/reset", do: (*exchange).reset},
	{on: platform, method: "POST", path: "/api/auth/password/reset/identities", do: (*exchange).resetIdentities},
	{on: platform, method: "POST", path: "/api/auth/email/verify", do: (*exchange).verify},
	{on: platform, method: "POST", path: "/api/auth/email/verification", do: (*exchange).sendVerification, needs: signedIn},
	{on: platform, method: "POST", path: "/api/auth/email/undo", do: (*exchange).undoEmail},
	{on: platform, method: "POST", path: "/api/auth/undelete", do: (*exchange).undelete},
	{on: platform, method: "POST", path: "/api/setup", do: (*exchange).setup},
}

var accountRoutes = []route{
	{on: platform, method: "GET", path: "/api/account", do: (*exchange).getAccount, needs: signedIn},
	{on: platform, method: "PATCH", path: "/api/account", do: (*exchange).patchAccount, needs: signedIn},
	{on: platform, method: "DELETE", path: "/api/account", do: (*exchange).deleteAccount, needs: signedIn},
	{on: platform, method: "POST", path: "/api/account/email", do: (*exchange).changeEmail, needs: signedIn},
	{on: platform, method: "GET", path: "/api/account/identities", do: (*exchange).listIdentities, needs: signedIn},
	{on: platform, method: "DELETE", path: "/api/account/identities/{id}", do: (*exchange).unlink, needs: signedIn},
	{on: platform, method: "GET", path: "/api/account/sessions", do: (*exchange).listSessions, needs: signedIn},
	{on: platform, method: "DELETE", path: "/api/account/sessions/{id}", do: (*exchange).endSession, needs: signedIn},
	{on: platform, method: "POST", path: "/api/account/sessions/revoke-others", do: (*exchange).endOthers, needs: signedIn},
}

var providerRoutes = []route{
	{on: platform, method: "GET", path: "/api/auth/oauth/{provider}/status", do: (*exchange).providerStatus},
	{on: platform, method: "GET", path: "/api/auth/oauth/{provider}/manifest", do: (*exchange).startManifest, needs: signedIn},
	{on: platform, method: "GET", path: "/api/auth/oauth/{provider}/manifest/callback", do: (*exchange).finishManifest, needs: signedIn},
	{on: platform, method: "GET", path: "/api/auth/oauth/{provider}/start", do: (*exchange).startSignIn},
	{on: platform, method: "GET", path: "/api/auth/oauth/{provider}/callback", do: (*exchange).finishSignIn},
	{on: platform, method: "GET", path: "/api/auth/oauth/{provider}/install", do: (*exchange).startInstall, needs: signedIn},
	{on: platform, method: "GET", path: "/api/auth/oauth/{provider}/setup", do: (*exchange).finishInstall, needs: signedIn},
	{on: platform, method: "POST", path: "/api/auth/oauth/{provider}/webhook", do: (*exchange).webhook, needs: anyOrigin},
	{on: platform, method: "POST", path: "/api/auth/link", do: (*exchange).link, needs: signedIn},
}

// keyRoutes are those of API keys. A key does what its maker may in the workspace. One that staff make says so, and lives a
// week at most.
var keyRoutes = []route{
	{on: everywhere, method: "POST", path: "/api/keys/revoke", do: (*exchange).revokeFound, needs: anyOrigin | unelevated},
	{on: spaces, method: "GET", path: "/api/workspaces/{username}/{business}/keys", do: (*exchange).listKeys, needs: anyOrigin},
	{on: spaces, method: "POST", path: "/api/workspaces/{username}/{business}/keys", do: (*exchange).createKey, needs: anyOrigin},
	{on: spaces, method: "POST", path: "/api/workspaces/{username}/{business}/keys/{key}/rotate", do: (*exchange).rotateKey, needs: anyOrigin},
	{on: spaces, method: "DELETE", path: "/api/workspaces/{username}/{business}/keys/{key}", do: (*exchange).revokeKey, needs: anyOrigin},
}

// runtimeRoutes are answered by the runtime, for who may.
var runtimeRoutes = []route{
	{on: agents, method: "GET", path: "/api/orchestration/workspace-verification", do: (*exchange).verifyWorkspace},
	{on: spaces, method: "GET", path: "/api/workspaces/{username}/{business}/agents", do: listed(agentsPath, "agents:read"), needs: anyOrigin},
	{on: spaces, method: "GET", path: "/api/workspaces/{username}/{business}/agents/{name}/conversations", do: (*exchange).listConversations, needs: anyOrigin},
	{on: spaces, method: "GET", path: "/api/workspaces/{username}/{business}/workflows", do: listed(workflowsPath, "runs:read"), needs: anyOrigin},
	{on: spaces, method: "GET", path: below + "/workflows/{name}", do: (*exchange).getWorkflow, needs: anyOrigin},
	{on: spaces, method: "POST", path: below + "/workflows/{name}/run", do: (*exchange).runWorkflow, needs: anyOrigin},
	{on: spaces, method: "GET", path: "/api/workspaces/{username}/{business}/runs", do: listed(runsPath, "runs:read"), needs: anyOrigin},
	{on: spaces, method: "GET", path: "/api/workspaces/{username}/{business}/runs/{run}", do: (*exchange).getRun, needs: anyOrigin},
	{on: spaces, method: "GET", path: "/api/workspaces/{username}/{business}/runs/{run}/events", do: (*exchange).runEvents, needs: anyOrigin},
	{on: spaces, method: "POST", path: below + "/runs/{run}/cancel", do: (*exchange).cancelRun, needs: anyOrigin},
	{on: spaces, method: "DELETE", path: below + "/runs/{run}", do: (*exchange).eraseRun, needs: anyOrigin},
	{on: spaces, method: "DELETE", path: below + "/agents/{name}/conversations/{instance...}", do: (*exchange).eraseConversation, needs: anyOrigin},
}

// pageRoutes are what a person can use without scripts. A form calls the verb of its JSON route, under the same checks.
var pageRoutes = []route{
	{on: everywhere, method: "GET", path: "/", do: (*exchange).home},
	{on: everywhere, method: "GET", path: "/assets/{file}", do: (*exchange).asset},

	{on: platform, method: "GET", path: page.SignInPath, do: (*exchange).signInPage},
	{on: platform, method: "POST", path: page.SignInPath, do: (*exchange).signInForm},
	{on: platform, method: "GET", path: page.LinkPath, do: (*exchange).linkPage},
	{on: platform, method: "POST", path: page.LinkPath, do: (*exchange).linkForm},
	{on: platform, method: "POST", path: page.LinkSeparatePath, do: (*exchange).separateForm},
	{on: platform, method: "GET", path: page.SignUpPath, do: (*exchange).signUpPage},
	{on: platform, method: "POST", path: page.SignUpPath, do: (*exchange).signUpForm},
	{on: platform, method: "POST", path: page.SignOutPath, do: (*exchange).signOutForm},
	{on: platform, method: "GET", path: page.ForgotPath, do: (*exchange).forgotPage},
	{on: platform, method: "POST", path: page.ForgotPath, do: (*exchange).forgotForm},
	{on: platform, method: "GET", path: page.ResetPath, do: (*exchange).resetPage},
	{on: platform, method: "POST", path: page.ResetPath, do: (*exchange).resetForm},
	{on: platform, method: "GET", path: page.VerifyPath, do: (*exchange).verifyPage},
	{on: platform, method: "POST", path: page.VerifyPath, do: (*exchange).verifyForm},
	{on: platform, method: "GET", path: page.UndoPath, do: (*exchange).undoPage},
	{on: platform, method: "POST", path: page.UndoPath, do: (*exchange).undoForm},
	{on: platform, method: "GET", path: page.UndeletePath, do: (*exchange).undeletePage},
	{on: platform, method: "POST", path: page.UndeletePath, do: (*exchange).undeleteForm},
	{on: platform, method: "GET", path: page.SetupPath, do: (*exchange).setupPage},
	{on: platform, method: "POST", path: page.SetupPath, do: (*exchange).setupForm},

	{on: platform, method: "GET", path: page.ProfilePath, do: (*exchange).profilePage, needs: signedIn},
	{on: platform, method: "POST", path: page.ProfilePath, do: (*exchange).profileForm, needs: signedIn},
	{on: platform, method: "POST", path: page.EmailPath, do: (*exchange).emailForm, needs: signedIn},
	{on: platform, method: "POST", path: page.VerificationPath, do: (*exchange).verificationForm, needs: signedIn},
	{on: platform, method: "GET", path: page.SecurityPath, do: (*exchange).securityPage, needs: signedIn},
	{on: platform, method: "POST", path: page.ChangePasswordPath, do: (*exchange).changePasswordForm, needs: signedIn},
	{on: platform, method: "POST", path: page.SetPasswordPath, do: (*exchange).setPasswordForm, needs: signedIn},
	{on: platform, method: "GET", path: page.ConnectionsPath, do: (*exchange).connectionsPage, needs: signedIn},
	{on: platform, method: "POST", path: page.UnlinkPath, do: (*exchange).unlinkForm, needs: signedIn},
	{on: platform, method: "GET", path: page.SessionsPath, do: (*exchange).sessionsPage, needs: signedIn},
	{on: platform, method: "POST", path: page.EndSessionPath, do: (*exchange).endSessionForm, needs: signedIn},
	{on: platform, method: "POST", path: page.EndSessionsPath, do: (*exchange).endOthersForm, needs: signedIn},
	{on: platform, method: "GET", path: page.KeysPath, do: (*exchange).keysPage, needs: signedIn},
	{on: platform, method: "POST", path: page.KeysPath, do: (*exchange).keyForm, needs: signedIn},
	{on: platform, method: "POST", path: page.RotateKeyPath, do: (*exchange).rotateKeyForm, needs: signedIn},
	{on: platform, method: "POST", path: page.RevokeKeyPath, do: (*exchange).revokeKeyForm, needs: signedIn},
	{on: platform, method: "GET", path: page.DangerPath, do: (*exchange).dangerPage, needs: signedIn},
	{on: platform, method: "POST", path: page.DangerPath, do: (*exchange).dangerForm, needs: signedIn},
	{on: platform, method: "GET", path: page.ReauthPath, do: (*exchange).reauthPage, needs: signedIn},
	{on: platform, method: "POST", path: page.ReauthPath, do: (*exchange).reauthForm, needs: signedIn},
	{on: platform, method: "GET", path: page.WorkspacesPath, do: (*exchange).workspacesPage, needs: signedIn},
	{on: platform, method: "GET", path: page.NewPath, do: (*exchange).newWorkspacePage, needs: signedIn},
	{on: platform, method: "POST", path: page.NewPath, do: (*exchange).newWorkspaceForm, needs: signedIn},
	{on: platform, method: "GET", path: page.InvitationPath, do: (*exchange).invitationPage},
	{on: platform, method: "POST", path: page.InvitationPath, do: (*exchange).invitationForm, needs: signedIn},

	{on: admin, method: "GET", path: page.ElevatePath, do: (*exchange).elevatePage, needs: signedIn},
	{on: admin, method: "POST", path: page.ElevatePath, do: (*exchange).elevateForm, needs: signedIn},
	{on: admin, method: "GET", path: page.ProvidersPath, do: (*exchange).providersPage, needs: signedIn | elevated},
	{on: admin, method: "POST", path: page.ReplaceProviderPath, do: (*exchange).replaceProviderForm, needs: signedIn | elevated},
}
