package operation

import (
	"fmt"
	"maps"
	"slices"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/account"
)

// refusal is the answer of a status, for all types that have it.
type refusal struct {
	name, says string
	headers    map[string]string // beside the request's id
	meta       []string          // facts that every one of them tells
}

// refusals are the answers by which operations refuse.
var refusals = map[int]refusal{
	400: {name: "BadRequest", headers: map[string]string{"Set-Cookie": "ForgetSession"},
		says: "The request is not one. `invalid_request` names the fields in `meta.fields`. With `ambiguous_session` both sessions are removed from the browser."},
	401: {name: "Unauthorized", headers: map[string]string{"WWW-Authenticate": "WWW-Authenticate"}, says: "Whoever asks is not known, or not by this."},
	403: {name: "Forbidden",
		says: "Whoever asks may not do this, or not from here. `reauth_required` has the ways to prove who it is in `meta.methods`, `forbidden` the role that is needed in `meta.role`."},
	404: {name: "NotFound", says: "There is no such thing, or not for whoever asks."},
	409: {name: "Conflict", says: "It cannot be done as things are. `last_owner` names workspaces in `meta.workspaces`, `provider_connection_required` where to connect in `meta.connectUrl`, `read_only` in `meta.source` where the agent comes from, `in_use` in `meta.usedBy` the agents that use it."},
	410: {name: "Gone", says: "There is an administrator already, the invitation is not valid any more, or what an offset names is no longer kept."},
	412: {name: "PreconditionFailed", says: "The version of `If-Match` is not the present one, which stands in `meta.version`."},
	413: {name: "TooLarge", says: "The body is longer than `meta.limit`, in bytes."},
	415: {name: "UnsupportedMediaType", says: "The body is of another type, or it is encoded."},
	416: {name: "RangeNotSatisfiable", says: "The file does not have this part. Its size stands in `Content-Range`."},
	429: {name: "TooManyRequests", headers: map[string]string{"Retry-After": "Retry-Later"}, meta: []string{"limit"}, says: "Too many requests. Which of the limits it is stands in `meta.limit`."},
	500: {name: "Failed", says: "Something failed here that nobody foresaw, or a secret cannot be read."},
	502: {name: "BadGateway", says: "The provider, the MCP server, or the runtime, did not do its part."},
	503: {name: "Unavailable", headers: map[string]string{"Retry-After": "Retry-After"}, says: "Not now. `Retry-After` stands there where waiting helps."},
	504: {name: "RuntimeTimeout", says: "The runtime did not begin to answer in time."},
	507: {name: "InsufficientStorage", meta: []string{"limitBytes", "usedBytes", "requestedBytes"}, says: "The workspace has no room for this. Reading and deleting work."},
}

// common are the types that can come from every operation, and from where there is none.
var common = []string{fault.CredentialInURL, account.ImpersonationForbidden, fault.Internal, fault.InvalidPath, fault.MethodNotAllowed, fault.Misdirected, fault.RateLimited, fault.RouteNotFound, fault.Unavailable}

// otherwise is the answer that has them.
var otherwise = refusal{
	name: "Otherwise", headers: map[string]string{"Allow": "Allow", "Retry-After": "Retry-After"},
	says: "What can come from every operation, and from where there is none, each with the status of `x-error-statuses`. A host that is no surface is `misdirected_request`.",
}

// described is the answer, of these types.
func (f refusal) described(types []string) object {
	headers := object{"X-Request-Id": ref("headers", "X-Request-Id")}
	for name, component := range f.headers {
		headers[name] = ref("headers", component)
	}
	of := object{"properties": object{"type": object{"enum": types}}}
	if f.meta != nil {
		of["required"] = []string{"meta"}
		of["properties"].(object)["meta"] = object{"required": f.meta}
	}
	schema := object{"allOf": []any{ref("schemas", "Error"), object{"properties": object{"error": of}}}}
	return object{"description": f.says, "headers": headers, "content": content(schema)}
}

// typesOf are the types that an operation refuses with by that status.
func (r Row) typesOf(status int) []string {
	types := slices.DeleteFunc(slices.Concat(common, r.faults()), func(typ string) bool {
		of, _ := StatusOf(typ)
		return of != status
	})
	slices.Sort(types)
	return slices.Compact(types)
}

// besides is content of a schema, beside that of the envelope where a status has both: what another standard words itself.
func besides(envelope, schema any) object {
	if envelope == nil {
		return content(schema)
	}
	return content(object{"anyOf": []any{envelope.(object)["application/json"].(object)["schema"], schema}})
}

// refuse prints the answers by which rows refuse, each with the types that they name.
func (d *description) refuse(rows []Row, responses object) error {
	types := map[int][]string{}
	for _, typ := range slices.Concat(common, faultsOf(rows)) {
		status, known := StatusOf(typ)
		if !known {
			return fmt.Errorf("the fault %s has no status", typ)
		}
		types[status] = append(types[status], typ)
	}
	for status, all := range types {
		if f, found := refusals[status]; found {
			slices.Sort(all)
			responses[f.name] = f.described(slices.Compact(all))
		}
	}
	statuses := object{}
	for _, typ := range common {
		statuses[typ], _ = StatusOf(typ)
	}
	told := otherwise.described(common)
	told["x-error-statuses"] = statuses
	responses[otherwise.name] = told
	return nil
}

// faultsOf are the types that rows name.
func faultsOf(rows []Row) []string {
	all := map[string]bool{}
	for _, r := range rows {
		for _, typ := range r.faults() {
			all[typ] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}
