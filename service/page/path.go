package page

// The addresses of the pages. A form posts to the address of its page, unless a verb is named below.
const (
	SignInPath  = "/login"
	LinkPath    = "/login/link"
	SignUpPath  = "/signup"
	SignOutPath = "/logout" // POST only
	ForgotPath  = "/forgot"
	// Where forms lead by which a mail is sent.
	SignUpSentPath = "/signup/sent"
	ForgotSentPath = "/forgot/sent"
	ResetPath      = "/reset"
	VerifyPath     = "/verify"
	UndoPath       = "/undo"
	UndeletePath   = "/undelete"
	SetupPath      = "/setup"

	InvitationPath = "/invitations"
	DevicePath     = "/device"

	ProfilePath     = "/account"
	SecurityPath    = "/account/security"
	ConnectionsPath = "/account/connections"
	SessionsPath    = "/account/sessions"
	KeysPath        = "/account/keys"
	DangerPath      = "/account/danger"
	ReauthPath      = "/account/reauth"
	WorkspacesPath  = "/workspaces"
	NewPath         = "/workspaces/new"

	// On the Admin surface.
	ProvidersPath = "/settings/providers"
	ElevatePath   = "/elevate"
)

// The verbs of pages that have more than one form, all POST. {id} is that of the item.
const (
	LinkSeparatePath    = "/login/link/separate"          // {ticket}: go on with an account of its own
	EmailPath           = "/account/email"                // {email}
	VerificationPath    = "/account/verification"         // no field: send the mail again
	ChangePasswordPath  = "/account/security/change"      // {currentPassword,newPassword}
	SetPasswordPath     = "/account/security/set"         // {newPassword}
	UnlinkPath          = "/account/connections/{id}/end" // no field
	EndSessionPath      = "/account/sessions/{id}/end"    // no field
	EndSessionsPath     = "/account/sessions/revoke-others"
	RotateKeyPath       = "/account/keys/{id}/rotate"   // {workspace,graceSeconds}
	RevokeKeyPath       = "/account/keys/{id}/revoke"   // {workspace}
	RestorePath         = "/workspaces/restore"         // {workspace}
	ReplaceProviderPath = "/settings/providers/replace" // {confirm,kind,owner}
)

// githubPath is where the routes of the provider begin, on the platform.
const githubPath = "/api/auth/oauth/github"
