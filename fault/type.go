package fault

// The types that more than one room raises, or that are described by another room than raises them. A type that one room alone
// raises is declared there.
const (
	InvalidJSON                = "invalid_json"
	InvalidRequest             = "invalid_request"
	InvalidHeader              = "invalid_header"
	InvalidPath                = "invalid_path"
	InvalidScope               = "invalid_scope"
	InvalidSignature           = "invalid_signature"
	InputValidation            = "action_input_validation"
	InputUnexpected            = "workflow_input_unexpected"
	AmbiguousSession           = "ambiguous_session"
	CredentialInURL            = "credential_in_url"
	RuntimeUnauthorized        = "runtime_unauthorized"
	AssertionInvalid           = "assertion_invalid"
	CrossOrigin                = "cross_origin_request"
	Forbidden                  = "forbidden"
	AdminRequired              = "admin_required"
	ScopeMismatch              = "scope_mismatch"
	WorkspaceSuspended         = "workspace_suspended"
	AgentNotFound              = "agent_not_found"
	WorkflowNotFound           = "workflow_not_found"
	RouteNotFound              = "route_not_found"
	RunNotFound                = "run_not_found"
	StreamNotFound             = "stream_not_found"
	AttachmentNotFound         = "attachment_not_found"
	WorkspaceNotFound          = "workspace_not_found"
	ItemNotFound               = "item_not_found"
	InUse                      = "in_use"
	UnknownProvider            = "unknown_provider"
	MethodNotAllowed           = "method_not_allowed"
	IdempotencyConflict        = "idempotency_conflict"
	NameTaken                  = "name_taken"
	LastOwner                  = "last_owner"
	AlreadyRunning             = "already_running"
	ProviderConnectionRequired = "provider_connection_required"
	StreamOffsetGone           = "stream_offset_gone"
	VersionConflict            = "version_conflict"
	BodyTooLarge               = "body_too_large"
	UnsupportedMediaType       = "unsupported_media_type"
	RangeNotSatisfiable        = "range_not_satisfiable"
	Misdirected                = "misdirected_request"
	RateLimited                = "rate_limited"
	Internal                   = "internal_error"
	BadGateway                 = "bad_gateway"
	ProviderUnavailable        = "provider_unavailable"
	Unavailable                = "runtime_unavailable"
	Busy                       = "busy"
	ProviderNotConfigured      = "provider_not_configured"
	RuntimeTimeout             = "runtime_timeout"
	StorageQuotaExceeded       = "storage_quota_exceeded"
	OutputSerialization        = "action_output_serialization"
	RecordTooLarge             = "record_too_large"
	RunCancelled               = "run_cancelled"
	RunInterrupted             = "run_interrupted"
	RunDefinitionChanged       = "run_definition_changed"
	EventVersionUnsupported    = "product_event_version_unsupported"
)

// statuses is the one table from these types to the status of an answer over HTTP. One that no answer refuses with is not in it.
var statuses = map[string]int{
	InvalidJSON: 400, InvalidRequest: 400, InvalidHeader: 400, InvalidPath: 400, InvalidScope: 400, InputValidation: 400, InputUnexpected: 400,
	AmbiguousSession: 400, CredentialInURL: 400,
	InvalidSignature: 401, RuntimeUnauthorized: 401, AssertionInvalid: 401,
	CrossOrigin: 403, Forbidden: 403, AdminRequired: 403, ScopeMismatch: 403, WorkspaceSuspended: 403,
	AgentNotFound: 404, WorkflowNotFound: 404, RouteNotFound: 404, RunNotFound: 404, StreamNotFound: 404, AttachmentNotFound: 404,
	WorkspaceNotFound: 404, ItemNotFound: 404, UnknownProvider: 404,
	MethodNotAllowed:    405,
	IdempotencyConflict: 409, NameTaken: 409, LastOwner: 409, AlreadyRunning: 409, ProviderConnectionRequired: 409,
	StreamOffsetGone: 410, VersionConflict: 412, BodyTooLarge: 413, UnsupportedMediaType: 415, RangeNotSatisfiable: 416, Misdirected: 421, RateLimited: 429,
	BadGateway: 502, ProviderUnavailable: 502,
	Unavailable: 503, Busy: 503, ProviderNotConfigured: 503, RuntimeTimeout: 504, StorageQuotaExceeded: 507,
}

// Status is the status of a type of this package; known is false for one that no answer refuses with.
func Status(typ string) (status int, known bool) {
	status, known = statuses[typ]
	return status, known
}
