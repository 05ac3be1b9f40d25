package doctor

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"svc.dev/svc/service/gateway"
)

// judgeStreams says whether what is sent arrives at once.
func judgeStreams(all []echo) Finding {
	var heard echo
	for _, e := range all {
		if e.held() {
			return fail(fmt.Sprintf("a proxy in front of %s holds answers back: what was sent a second apart came at once, after %s", e.URL.Host, e.first.Round(time.Millisecond)),
				"switch buffering off, and compression of text/event-stream: nginx: proxy_buffering off, or do not ignore X-Accel-Buffering")
		}
		if e.err == nil {
			heard = e
		}
	}
	return fine(fmt.Sprintf("arrive as they are sent: the first part of an answer after %s, the second %s later", heard.first.Round(time.Millisecond), heard.behind.Round(time.Millisecond)))
}

// tellWho is how proxies are told to say who asks.
const tellWho = "nginx: proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for"

// judgeProxies says whether the address of a client is known, and cannot be made up.
func (d *doctor) judgeProxies(ctx context.Context, all []echo) Finding {
	for _, p := range d.config.TrustedProxies {
		if p.Bits() == 0 {
			return fail(p.String()+" is everybody: whoever asks can choose the address that counts", "name the networks of the proxies alone")
		}
	}
	e := heardOf(all)
	secure := e.URL.Scheme == "https"
	switch e.probe.Forwarded {
	case gateway.ForwardedIgnored:
		return warn("a proxy says who asks, and is not among them: all clients have the proxy's address, for limits and in the audit log", "add its address, which the server's log names, with /32 behind it")
	case gateway.ForwardedMissing:
		if secure {
			if f := d.judgeClaims(ctx, e); f.Verdict != OK {
				return f
			}
		}
		return warn("who comes from a trusted network does not say who asks: all clients have its address, for limits and in the audit log", tellWho)
	case gateway.ForwardedCounted, gateway.ForwardedClaimed:
		return d.judgeClaims(ctx, e)
	}
	if secure {
		return warn("something in front ends https and does not say who asks: all clients have its address, for limits and in the audit log", tellWho+", and add its network here")
	}
	return fine("no proxy stands in front")
}

// judgeClaims asks as somebody who says to be somebody else, and says what is wrong where that is believed.
func (d *doctor) judgeClaims(ctx context.Context, e echo) Finding {
	lie := d.ask(ctx, e.Surface, e.URL.String(), http.Header{"X-Forwarded-For": {gateway.NobodysAddress}})
	if lie.err != nil {
		return warn("could not be asked a second time: "+lie.err.Error(), "ask again")
	}
	if lie.probe.Forwarded == gateway.ForwardedClaimed {
		return fail("a client can choose its own address: the proxy passes X-Forwarded-For on as it came", "let the proxy append to it or replace it: "+tellWho)
	}
	return fine("the proxy says who asks, and a client cannot")
}

// heardOf is the echo of Agents, where programs come, or else of another surface.
func heardOf(all []echo) (heard echo) {
	for _, e := range all {
		if e.err == nil && (heard.URL == nil || e.of == gateway.Agents) {
			heard = e
		}
	}
	return heard
}
