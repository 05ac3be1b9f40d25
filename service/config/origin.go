package config

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// origin is the address of a site, as browsers name it: lower case, without a path and without the scheme's own port.
type origin string

func (o *origin) String() string { return string(*o) }

func (o *origin) Set(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Path != "" && u.Path != "/" || !isHost(u.Hostname()) {
		return errors.New("it is not an address like https://agents.example.com, without a path")
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("the address must begin with https:// or http://")
	}
	*o = origin(originOf(u.Scheme, strings.ToLower(u.Hostname()), u.Port()))
	return nil
}

func originOf(scheme, host, port string) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port == "" || scheme == "http" && port == "80" || scheme == "https" && port == "443" {
		return scheme + "://" + host
	}
	return scheme + "://" + host + ":" + port
}

// isHost reports whether the name can stand in a Host header; letters beyond ASCII are written as xn--….
func isHost(name string) bool {
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	for _, c := range []byte(name) {
		if c != '.' && c != '-' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return name != ""
}

// endpoint is the address of an API, which may have a path.
type endpoint string

func (e *endpoint) String() string { return string(*e) }

func (e *endpoint) Set(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("it is not an address like https://api.example.com")
	}
	*e = endpoint(strings.TrimSuffix(s, "/"))
	return nil
}

// domain is a domain alone. Whether it fits the surfaces is judged with them.
type domain string

func (d *domain) String() string { return string(*d) }

func (d *domain) Set(s string) error {
	s = strings.ToLower(strings.TrimPrefix(s, "."))
	if !isHost(s) {
		return errors.New("it is not a domain like example.com, without scheme and port")
	}
	*d = domain(s)
	return nil
}

// networks is a list of networks, with commas between them.
type networks []netip.Prefix

func (n *networks) String() string {
	var all []string
	for _, p := range *n {
		all = append(all, p.String())
	}
	return strings.Join(all, ",")
}

func (n *networks) Set(s string) error {
	var all networks
	for part := range strings.SplitSeq(s, ",") {
		p, err := netip.ParsePrefix(strings.TrimSpace(part))
		if err != nil {
			return fmt.Errorf("%q is not a network like 10.0.0.0/8, or 192.0.2.1/32 for one address", part)
		}
		all = append(all, p.Masked())
	}
	*n = all
	return nil
}
