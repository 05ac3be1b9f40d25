package surface

import (
	"net/netip"
	"slices"
	"strings"

	"svc.dev/svc/service/throttle"
)

// ClientIP is the address of whoever asks: the peer of the socket, or what a trusted proxy says of it.
func (x *Exchange) ClientIP() string {
	peer, trusted := x.Peer()
	if !trusted {
		return peer.String()
	}
	hops := strings.Split(strings.Join(x.Request.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0; i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		peer = hop.Unmap().WithZone("")
		if !x.config.trusts(peer) {
			break
		}
	}
	return peer.String()
}

// Network is the party that asks, as limits on addresses count it.
func (x *Exchange) Network() string { return throttle.Network(x.ClientIP()) }

// Peer is the other end of the socket, and whether its word about a client's address counts.
func (x *Exchange) Peer() (peer netip.Addr, trusted bool) {
	peer = netip.IPv4Unspecified()
	if at, err := netip.ParseAddrPort(x.Request.RemoteAddr); err == nil {
		peer = at.Addr().Unmap()
	}
	return peer, x.config.trusts(peer)
}

func (c *Config) trusts(a netip.Addr) bool {
	return slices.ContainsFunc(c.Trusted, func(p netip.Prefix) bool { return p.Contains(a) })
}
