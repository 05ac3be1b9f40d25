package github

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
)

// Email is an address as GitHub knows it.
type Email struct {
	Address  string
	Verified bool // GitHub has seen that the person reads it
	Primary  bool
}

// Emails are the addresses of whom the token speaks for, never nil. ErrPermission is in the chain of the error when the app
// may not read them, and only then: a 403 can be about anything.
func (c *Client) Emails(ctx context.Context, token string) ([]Email, error) {
	q := request{what: "read e-mail addresses", as: bearer(token), path: "/user/emails", query: url.Values{"per_page": {"100"}}}
	emails, err := fetch(ctx, c, q, parseEmails)
	if errors.Is(err, ErrNotFound) {
		// The list exists for everybody; who may not see it is told that it does not.
		return nil, unavailable(q.what, ErrPermission)
	}
	return emails, err
}

// parseEmails leaves out the entries that are none.
func parseEmails(body []byte) ([]Email, error) {
	var entries []json.RawMessage
	if json.Unmarshal(body, &entries) != nil || entries == nil {
		return nil, errNotUnderstood
	}
	emails := []Email{}
	for _, entry := range entries {
		if o, err := parseObject(entry); err == nil && o.text("email") != "" {
			emails = append(emails, Email{Address: o.text("email"), Verified: o.yes("verified"), Primary: o.yes("primary")})
		}
	}
	return emails, nil
}

// ChooseEmail picks the address that stands for the person, and reports whether there is one. Of addresses that were read it
// is a verified one, the primary before others. Where emails is nil they could not be read, and it is the public profile's,
// unverified. What normalize refuses and what GitHub made up to hide an address is never chosen.
func ChooseEmail(emails []Email, public string, normalize func(string) (string, error)) (Email, bool) {
	if emails == nil {
		address, ok := contact(public, normalize)
		return Email{Address: address}, ok
	}
	var chosen Email
	for _, e := range emails {
		address, ok := contact(e.Address, normalize)
		if !ok || !e.Verified {
			continue
		}
		e.Address = address
		if e.Primary {
			return e, true
		}
		if chosen.Address == "" {
			chosen = e
		}
	}
	return chosen, chosen.Address != ""
}

// contact is an address by which a person can be reached.
func contact(address string, normalize func(string) (string, error)) (string, bool) {
	if address == "" {
		return "", false
	}
	normal, err := normalize(address)
	if err != nil || hidden(address) || hidden(normal) {
		return "", false
	}
	return normal, true
}

// hidden reports whether an address is GitHub's stand-in for one: users.noreply.github.com, and the like of other hosts.
func hidden(address string) bool {
	domain := strings.ToLower(address[strings.LastIndex(address, "@")+1:])
	return strings.HasPrefix(domain, "users.noreply.")
}
