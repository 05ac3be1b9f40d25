package gateway

import (
	"net/url"
	"slices"
	"strings"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/apikey"
	"svc.dev/svc/service/device"
)

// bearer is the credential of an Authorization header, and empty for every other scheme and spelling.
func bearer(header string) string {
	scheme, value, found := strings.Cut(header, " ")
	if !found || !strings.EqualFold(scheme, "bearer") || strings.ContainsAny(value, " \t") {
		return ""
	}
	return value
}

// credentialPrefixes are how what a client shows with every request begins: none may stand in an address.
var credentialPrefixes = append([]string{apikey.Prefix, device.Prefix}, account.Prefixes...)

// checkURL refuses a credential in an address, where logs and histories keep it, and tells its owner.
func checkURL(x *exchange) error {
	query := readable(x.Request.URL.RawQuery)
	if !slices.ContainsFunc(credentialPrefixes, func(prefix string) bool { return strings.Contains(query, prefix) }) {
		return nil
	}
	if key, found := apikey.Find(query); found {
		if err := x.g.Keys.Exposed(x.Ctx(), key); err != nil {
			return err
		}
	}
	return fault.New(fault.CredentialInURL, "A credential stands in the address.", "Send it in the Authorization header. Replace this one: addresses are kept in logs.")
}

// readable is a query as whoever reads a log understands it: an escape hides nothing. What is no escape stays as it is.
func readable(query string) string {
	parts := strings.Split(query, "&")
	for i, part := range parts {
		if text, err := url.QueryUnescape(part); err == nil {
			parts[i] = text
		}
	}
	return strings.Join(parts, "&")
}
