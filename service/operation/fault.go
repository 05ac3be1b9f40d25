package operation

import (
	"svc.dev/svc/fault"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/github"
	"svc.dev/svc/service/agent"
	"svc.dev/svc/service/apikey"
	"svc.dev/svc/service/app"
	"svc.dev/svc/service/mcp"
	"svc.dev/svc/service/secret"
	"svc.dev/svc/service/workspace"
)

// statuses is the table from a type that package fault does not have to its status, and with it all of accounts.md §12. A type that is
// in neither is a 500.
var statuses = map[string]int{
	account.InvalidState: 400, account.InvalidToken: 400,
	account.Unauthenticated: 401, account.InvalidCredentials: 401, apikey.Invalid: 401,
	"payment_required":       402,
	access.InsufficientScope: 403, account.ReauthRequired: 403, account.Suspended: 403, account.ImpersonationForbidden: 403,
	workspace.InvitationEmailMismatch: 403, github.NotYours: 403, github.EmailUnverified: 403,
	account.UsernameTaken: 409, account.IdentityAlreadyLinked: 409, account.LastCredential: 409, account.EmailVerificationRequired: 409,
	agent.ReadOnly: 409, app.AlreadyConfigured: 409, app.OwnerMismatch: 409, fault.InUse: 409, "connector_planned": 409, "connector_blocked": 409, mcp.NotConnected: 409,
	workspace.InvitationInvalid: 410, account.SetupClosed: 410,
	secret.TooLarge:        413,
	"usage_limit_exceeded": 429,
	fault.Internal:         500, secret.Unreadable: 500,
	github.ExchangeFailed: 502, github.ManifestFailed: 502, mcp.Unreachable: 502,
	github.RateLimited: 503, account.MailNotConfigured: 503, "billing_not_configured": 503,
}

// StatusOf is the status of a type; known is false for one that no operation answers with.
func StatusOf(typ string) (status int, known bool) {
	if status, known = fault.Status(typ); !known {
		status, known = statuses[typ]
	}
	return status, known
}
