package outward

import "net/netip"

// public reports whether an address is one of the whole internet: not of a machine, a link, a private network, a
// documentation, or a translation that hides another address in itself.
func public(a netip.Addr) bool {
	if !a.IsValid() || !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	if a.Is6() && !wide.Contains(a) {
		return false
	}
	for _, n := range special {
		if n.Contains(a) {
			return false
		}
	}
	return true
}

// wide is where the public addresses of IPv6 lie.
var wide = netip.MustParsePrefix("2000::/3")

// special are networks that look public and are not, by IANA's registries, and the addresses by which clouds speak to their
// machines.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("168.63.129.16/32"),
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("2001::/23"),
	netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("2002::/16"),
	netip.MustParsePrefix("3fff::/20"),
}
