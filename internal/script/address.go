package script

import (
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// url parses an address: the text and a base, or none. It answers with its parts, a line each, or nil when it is none.
func (c Call) url() (any, error) {
	u, err := parseURL(c.Args.String(0), c.Args.String(1), c.Args.Has(1))
	if err != nil {
		return nil, nil
	}
	return parts(u), nil
}

func parseURL(text, base string, hasBase bool) (*whatwg.Url, error) {
	if hasBase {
		return whatwg.ParseRef(base, text)
	}
	return whatwg.Parse(text)
}

// setters change one part of an address. What is not valid changes nothing.
var setters = map[string]func(*whatwg.Url, string){
	"protocol": (*whatwg.Url).SetProtocol, "username": (*whatwg.Url).SetUsername, "password": (*whatwg.Url).SetPassword, "host": (*whatwg.Url).SetHost,
	"hostname": (*whatwg.Url).SetHostname, "port": (*whatwg.Url).SetPort, "pathname": (*whatwg.Url).SetPathname, "search": (*whatwg.Url).SetSearch, "hash": (*whatwg.Url).SetHash,
}

// urlSet changes a part of an address: the address, the part's name and its value.
func (c Call) urlSet() (any, error) {
	u, err := whatwg.Parse(c.Args.String(0))
	set := setters[c.Args.String(1)]
	if err != nil || set == nil {
		return nil, nil
	}
	set(u, c.Args.String(2))
	return parts(u), nil
}

// parts are those of an address as scripts see them. None of them can hold a line end.
func parts(u *whatwg.Url) string {
	return strings.Join([]string{
		u.Href(false), u.Protocol(), u.Username(), u.Password(), u.Host(), u.Hostname(), u.Port(), u.Pathname(), u.Search(), u.Hash(), origin(u),
	}, "\n")
}

func origin(u *whatwg.Url) string {
	switch u.Scheme() {
	case "http", "https", "ws", "wss", "ftp":
		return u.Protocol() + "//" + u.Host()
	case "blob":
		if inner, err := whatwg.Parse(u.Pathname()); err == nil && (inner.Scheme() == "http" || inner.Scheme() == "https") {
			return origin(inner)
		}
	}
	return "null"
}
