package throttle

import (
	"net/netip"

	"svc.dev/svc/internal/front"
)

// Network is the part of an address that one party holds, by which every limit on addresses counts: an IPv6 /64, or the whole
// of an IPv4. What is no address is a party of its own.
func Network(ip string) string {
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return ip
	}
	return front.Network(addr).String()
}

// Site is the part of an address that one site may hold, an IPv6 /48 or the whole of an IPv4: for turns, where nobody is
// refused for what a neighbour did, and one who has many networks must not count as many.
func Site(ip string) string {
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return ip
	}
	if addr = addr.Unmap(); addr.Is4() {
		return addr.String()
	}
	site, err := addr.WithZone("").Prefix(48)
	if err != nil {
		return addr.String()
	}
	return site.String()
}
