package gateway

import "strings"

// bearer is the credential of an Authorization header, and empty for every other scheme and spelling.
func bearer(header string) string {
	scheme, value, found := strings.Cut(header, " ")
	if !found || !strings.EqualFold(scheme, "bearer") || strings.ContainsAny(value, " \t") {
		return ""
	}
	return value
}
