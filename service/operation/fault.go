package operation

// The types of refusals that rows name. Those that follow from what an operation needs and takes are named by nobody.
const (
	itemNotFound   = "item_not_found"
	lastOwner      = "last_owner"
	inUse          = "in_use"
	nameTaken      = "name_taken"
	invalidRequest = "invalid_request"
	secretTooLarge = "secret_too_large"

	workspaceNotFound = "workspace_not_found"
	reauthRequired    = "reauth_required"
	forbidden         = "forbidden"
)

// statuses is the one table from a fault's type to its status, all of accounts.md §12. A type that is not in it is a 500.
var statuses = map[string]int{}

func init() {
	for status, types := range map[int][]string{
		400: {"invalid_json", "invalid_request", "invalid_state", "invalid_token", "invalid_scope", "invalid_header", "invalid_path", "ambiguous_session", "credential_in_url",
			"action_input_validation", "workflow_input_unexpected"},
		401: {"unauthenticated", "invalid_credentials", "invalid_api_key", "invalid_signature", "runtime_unauthorized", "assertion_invalid"},
		402: {"payment_required"},
		403: {"cross_origin_request", "forbidden", "insufficient_scope", "scope_mismatch", "admin_required", "reauth_required", "account_suspended", "workspace_suspended",
			"invitation_email_mismatch", "installation_not_yours", "impersonation_forbidden", "provider_email_unverified"},
		404: {"route_not_found", "workspace_not_found", "item_not_found", "unknown_provider", "run_not_found", "workflow_not_found",
			"agent_not_found", "stream_not_found", "attachment_not_found"},
		405: {"method_not_allowed"},
		409: {"username_taken", "name_taken", "identity_already_linked", "last_credential", "last_owner", "provider_already_configured", "manifest_owner_mismatch",
			"provider_connection_required", "email_verification_required", "connector_planned", "connector_blocked", "in_use", "already_running", "idempotency_conflict"},
		410: {"invitation_invalid", "setup_closed", "stream_offset_gone"},
		412: {"version_conflict"},
		413: {"body_too_large", "secret_too_large"},
		415: {"unsupported_media_type"},
		416: {"range_not_satisfiable"},
		421: {"misdirected_request"},
		429: {"rate_limited", "usage_limit_exceeded"},
		500: {"internal_error", "secret_unreadable"},
		502: {"bad_gateway", "provider_exchange_failed", "provider_unavailable", "manifest_exchange_failed"},
		503: {"runtime_unavailable", "busy", "provider_rate_limited", "provider_not_configured", "billing_not_configured", "mail_not_configured"},
		504: {"runtime_timeout"},
		507: {"storage_quota_exceeded"},
	} {
		for _, t := range types {
			statuses[t] = status
		}
	}
}

// StatusOf is the status of a type; known is false for one that no operation answers with.
func StatusOf(typ string) (status int, known bool) {
	status, known = statuses[typ]
	return status, known
}
