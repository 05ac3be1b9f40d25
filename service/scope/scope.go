// Package scope is the grammar by which the product names whose work something is: users, their businesses, and the
// one workspace of the staff.
package scope

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"svc.dev/svc/fault"
)

// Personal is the business that every person has from sign-up on.
const Personal = "personal"

// Service is the scope of what the service does for itself. No claims are made on it.
const Service = "service"

// Lengths of the segments, in bytes, which are characters.
const (
	minUsername = 2
	maxUsername = 39
	maxBusiness = 48
	maxProject  = 64
)

// What can be wrong with a name.
var (
	ErrInvalid  = errors.New("only lower-case letters, digits and single hyphens between them")
	ErrTooShort = errors.New("too short")
	ErrTooLong  = errors.New("too long")
	ErrReserved = errors.New("reserved")
)

// Scope is the work of one business: users/<username>/<business>.
type Scope struct {
	Username string
	Business string
}

// Parse reads a scope exactly as String writes it; nothing is normalised.
func Parse(s string) (Scope, error) {
	rest, found := strings.CutPrefix(s, "users/")
	username, business, two := strings.Cut(rest, "/")
	if !found || !two {
		return Scope{}, fmt.Errorf("scope: %w", ErrInvalid)
	}
	if err := segment(username, minUsername, maxUsername); err != nil {
		return Scope{}, fmt.Errorf("username of scope: %w", err)
	}
	if err := segment(business, 1, maxBusiness); err != nil {
		return Scope{}, fmt.Errorf("business of scope: %w", err)
	}
	return Scope{Username: username, Business: business}, nil
}

// Workspace reads the scope of a workspace, of which that of the staff has no parts. What is none is a fault of type invalid_scope.
func Workspace(address string) (Scope, error) {
	if address == Admin {
		return Scope{}, nil
	}
	s, err := Parse(address)
	if err != nil {
		return Scope{}, fault.New(fault.InvalidScope, "This is not a workspace.", "")
	}
	return s, nil
}

// Of is the scope of a user's business, both of which have been checked before.
func Of(username, business string) Scope { return Scope{Username: username, Business: business} }

func (s Scope) String() string { return "users/" + s.Username + "/" + s.Business }

// CheckUsername says whether a person may choose the name. What was used before is for the accounts to know.
func CheckUsername(name string) error {
	if err := segment(name, minUsername, maxUsername); err != nil {
		return err
	}
	if reservedUsername(name) {
		return ErrReserved
	}
	return nil
}

// CheckBusiness says whether a business may be made under the name.
func CheckBusiness(slug string) error { return checkSlug(slug, maxBusiness) }

// CheckProject says whether a project may be made under the name.
func CheckProject(slug string) error { return checkSlug(slug, maxProject) }

func checkSlug(slug string, most int) error {
	if err := segment(slug, 1, most); err != nil {
		return err
	}
	if slices.Contains(reservedSlugs, slug) {
		return ErrReserved
	}
	return nil
}

// grammar is that of one part of a scope.
var grammar = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func segment(s string, least, most int) error {
	switch {
	case len(s) > most:
		return ErrTooLong
	case !grammar.MatchString(s):
		return ErrInvalid
	case len(s) < least:
		return ErrTooShort
	}
	return nil
}

// Slug makes a name of what a text offers, at most that long; it is empty when the text offers nothing.
func Slug(text string, most int) string {
	var b strings.Builder
	for _, c := range strings.ToLower(text) {
		switch {
		case b.Len() >= most:
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
			b.WriteRune(c)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	return strings.Trim(b.String(), "-")
}
