package workspace

import "slices"

// keyScopes are what a key can be allowed to do, and the right that its maker needs for it. What a key can never do
// (keys, sessions, passwords, secrets, people, billing, anything of staff) has no scope.
var keyScopes = map[string]Right{
	"agents:read":     Read,
	"agents:write":    Work,
	"workflows:run":   Work,
	"runs:read":       Read,
	"connectors:read": Read,
	"projects:read":   Read,
	"projects:write":  Work,
	"usage:read":      BillingRead,
}

// KeyAllows reports whether a key with these scopes may do what needs that scope. One scope never stands for another.
func KeyAllows(scopes []string, need string) bool {
	_, known := keyScopes[need]
	return known && slices.Contains(scopes, need)
}

// RoleAllowsKeyScope reports whether somebody with that role may do what the scope is for. What a key may do at this
// moment is what both its scopes and the present role of its maker allow.
func RoleAllowsKeyScope(role, scope string) bool {
	right, known := keyScopes[scope]
	return known && Allows(role, right)
}

// LeastWithKey is the least role whose key of that scope may do that, which a refusal names; empty: none may.
func LeastWithKey(r Right, scope string) string {
	return least(func(role string) bool { return Allows(role, r) && RoleAllowsKeyScope(role, scope) })
}
