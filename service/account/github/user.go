package github

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// User is a person at GitHub. Only the id says who: a login can be given up and taken by another, an address too.
type User struct {
	ID    int64
	Login string
	Name  string // as shown; may be empty
	Email string // the public profile's, unproven; may be empty
}

// Subject is the id as an identity is keyed by.
func (u User) Subject() string { return strconv.FormatInt(u.ID, 10) }

// User is whom a token speaks for.
func (c *Client) User(ctx context.Context, token string) (User, error) {
	return fetch(ctx, c, request{what: "read user", as: bearer(token), path: "/user"}, parseUser)
}

var (
	positive = regexp.MustCompile(`^[1-9][0-9]{0,18}$`)
	// Wider than what can be registered today: names of old accounts and of managed ones are not refused.
	loginGrammar = regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}$`)
)

// maxShown is the longest name that is taken over, in characters.
const maxShown = 255

func parseUser(body []byte) (User, error) {
	o, err := parseObject(body)
	if err != nil {
		return User{}, errNotUnderstood
	}
	id, ok := parseID(string(o["id"]))
	if !ok {
		return User{}, errors.New("the id is not a positive integer")
	}
	u := User{ID: id, Login: o.text("login"), Name: o.text("name"), Email: o.text("email")}
	if !loginGrammar.MatchString(u.Login) {
		return User{}, errors.New("the login is not one")
	}
	if !shown(u.Name) {
		u.Name = ""
	}
	return u, nil
}

// parseID reads the digits of a positive integer, as they are written in only one way.
func parseID(digits string) (int64, bool) {
	if !positive.MatchString(digits) {
		return 0, false
	}
	id, err := strconv.ParseInt(digits, 10, 64)
	return id, err == nil
}

// shown reports whether a name can be shown as it is.
func shown(name string) bool {
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }
	return utf8.RuneCountInString(name) <= maxShown && !strings.ContainsFunc(name, unprintable)
}
