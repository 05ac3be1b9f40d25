package toolbox

import (
	"net"
	"net/netip"
	"net/url"
	"strings"

	"svc.dev/svc/fault"
)

// forbiddenHost is the refusal of an address that the agent was not given.
func (h hand) forbiddenHost() error {
	given := "none"
	if len(h.grant.Hosts) > 0 {
		given = strings.Join(h.grant.Hosts, ", ")
	}
	return fault.New(fault.Forbidden, "This agent may not fetch that address.", "Hosts that it was given: "+given+".")
}

// aim reads an address, and refuses one that the agent was not given, or that no page has. What it means is for the guard to
// find out when it is dialled.
func (h hand) aim(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || strings.ContainsAny(text, "\x00\r\n\t \\") {
		return nil, fault.Invalid("url is not an address.")
	}
	return u, h.judge(u)
}

func (h hand) judge(u *url.URL) error {
	if err := h.config.Fetch.Check(u); err != nil || !plain(u.Hostname()) {
		return h.forbiddenHost()
	}
	port := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	asked, usual := u.Port(), u.Port() == "" || u.Port() == port
	if asked == "" {
		asked = port
	}
	host := strings.ToLower(u.Hostname())
	for _, pattern := range h.grant.Hosts {
		if fits(strings.ToLower(pattern), host, asked, usual) {
			return nil
		}
	}
	return h.forbiddenHost()
}

// plain reports whether a host is written as everybody reads it: a name in ASCII without a dot at its end, or an address. A name
// that ends in a number is an address to some and a name to others.
func plain(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return !strings.Contains(host, "%")
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 {
			return false
		}
	}
	if strings.Trim(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._") != "" {
		return false
	}
	last := strings.ToLower(host[strings.LastIndexByte(host, '.')+1:])
	return strings.Trim(last, "0123456789") != "" && !strings.HasPrefix(last, "0x")
}

// fits reports whether a pattern stands for a host, on the usual port or the one that the pattern names.
func fits(pattern, host, port string, usual bool) bool {
	if name, named, err := net.SplitHostPort(pattern); err == nil {
		return named == port && fits(name, host, port, true)
	}
	if !usual {
		return false
	}
	pattern = strings.Trim(pattern, "[]")
	if below, all := strings.CutPrefix(pattern, "*."); all {
		_, err := netip.ParseAddr(host)
		return err != nil && below != "" && strings.HasSuffix(host, "."+below)
	}
	return pattern != "" && host == pattern
}
