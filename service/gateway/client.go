package gateway

import (
	"net/netip"
	"strings"

	"svc.dev/svc/service/throttle"
)

// clientIP is the address of whoever asks: the peer of the socket, or what a trusted proxy says of it.
func (x *exchange) clientIP() string {
	peer := addressOf(x.r.RemoteAddr)
	if !x.g.trusts(peer) {
		return peer.String()
	}
	hops := strings.Split(strings.Join(x.r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0; i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		peer = hop.Unmap().WithZone("")
		if !x.g.trusts(peer) {
			break
		}
	}
	return peer.String()
}

// source is the party that asks, as limits on addresses count it.
func (x *exchange) source() string { return throttle.Network(x.clientIP()) }

func addressOf(remote string) netip.Addr {
	if at, err := netip.ParseAddrPort(remote); err == nil {
		return at.Addr().Unmap()
	}
	return netip.IPv4Unspecified()
}

func (g *Gateway) trusts(a netip.Addr) bool {
	for _, p := range g.Trusted {
		if p.Contains(a) {
			return true
		}
	}
	return false
}
