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
