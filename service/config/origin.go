package config

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
)

// parseOrigin reads the address of a site, as browsers name it: lower case, without a path and without the scheme's own port.
func parseOrigin(s string) (string, error) {
	u, err := url.Parse(s)
	if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Path != "" && u.Path != "/" || !isHost(u.Hostname()) {
		return "", errors.New("it is not an address like https://agents.example.com, without a path")
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("the address must begin with https:// or http://")
	}
	return originOf(u.Scheme, strings.ToLower(u.Hostname()), u.Port()), nil
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

var hostName = regexp.MustCompile(`^[A-Za-z0-9.-]+$`)

// isHost reports whether the name can stand in a Host header; letters beyond ASCII are written as xn--….
func isHost(name string) bool {
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return hostName.MatchString(name)
}

// parseEndpoint reads the address of an API, which may have a path.
func parseEndpoint(s string) (string, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("it is not an address like https://api.example.com")
	}
	return strings.TrimSuffix(s, "/"), nil
}

// parseDomain reads a domain alone. Whether it fits the surfaces is judged with them.
func parseDomain(s string) (string, error) {
	s = strings.ToLower(strings.TrimPrefix(s, "."))
	if !isHost(s) {
		return "", errors.New("it is not a domain like example.com, without scheme and port")
	}
	return s, nil
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
