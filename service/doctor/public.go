package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/amount"
	"svc.dev/svc/service/database"
	"svc.dev/svc/service/gateway"
)

// lookFromOutside asks every surface as a client does, by its public address.
func (d *doctor) lookFromOutside(ctx context.Context) {
	if !d.faces() {
		return
	}
	all := d.config.Surfaces()
	echoes := make([]echo, len(all))
	var asking sync.WaitGroup
	for i, of := range []gateway.Surface{gateway.Platform, gateway.Agents, gateway.Admin} {
		asking.Go(func() { echoes[i] = d.shout(ctx, all[i], of) })
	}
	asking.Wait()
	for _, e := range echoes {
		d.add(e.Key, d.judgeEcho(e))
	}
	first := slices.IndexFunc(echoes, func(e echo) bool { return e.err == nil })
	if first < 0 {
		d.add("event streams", skip("asked through the public addresses once they answer"))
		d.add("trusted_proxies", skip("asked through the public addresses once they answer"))
		return
	}
	d.add("event streams", judgeStreams(echoes))
	d.add("trusted_proxies", d.judgeProxies(ctx, echoes))
	d.add("public clock", judgeClock(echoes[first].apart, "the Date of "+echoes[first].URL.Host, dateApart))
}

// judgeEcho says whether an address leads to its surface.
func (d *doctor) judgeEcho(e echo) Finding {
	if e.err != nil {
		return d.judgeSilence(e)
	}
	at := e.URL.String() + " (" + strings.Join(e.found, ", ") + ")"
	left := e.expires.Sub(d.now())
	switch {
	case e.probe.Surface != e.of:
		return fail(fmt.Sprintf("%s leads to the %s surface", at, e.probe.Surface), "let the proxy pass the Host header on as it came: "+passHost)
	case !d.isOurs(e.probe.Node):
		return fail(at+" leads to another svc, not to that of this data folder and database", "lead the host to this service, in DNS or in the proxy")
	case !e.expires.IsZero() && left < certificate:
		return warn(fmt.Sprintf("%s answers, and its certificate ends in %s", at, amount.Of(int(left.Hours()/24), "day")), "renew it, and see why that did not happen by itself")
	default:
		return fine(at + " answers as the " + string(e.of) + " surface")
	}
}

// passHost is how proxies are told to.
const passHost = "nginx: proxy_set_header Host $http_host; Apache: ProxyPreserveHost On"

// isOurs reports whether a node is this one, or works on the same database. Where nobody can know, it is; a folder on SQLite
// that has no node yet has never been served from.
func (d *doctor) isOurs(node string) bool {
	if mine := database.NodeIn(d.config.DataDir); mine != "" && database.PublicNode(mine) == node {
		return true
	}
	if database.IsPostgres(d.config.Database) {
		return len(d.present) == 0 || slices.ContainsFunc(d.present, func(p database.Presence) bool { return database.PublicNode(p.Node) == node })
	}
	return false
}

// judgeSilence says why a surface was not heard. Where no server runs that is no wonder.
func (d *doctor) judgeSilence(e echo) Finding {
	host := e.URL.Hostname()
	if e.URL.Port() == "0" {
		return skip(e.URL.String() + ": the port is another at every start, so that nobody can ask there")
	}
	if _, ok := errors.AsType[*net.DNSError](e.err); ok {
		return fail(host+" does not resolve", "give it an A or AAAA record that leads to this service, or to the proxy in front of it")
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](e.err); ok {
		return fail(e.err.Error(), "give the proxy a certificate for "+host+" that browsers trust")
	}
	if s, ok := errors.AsType[*stranger](e.err); ok {
		return d.judgeStranger(e, s)
	}
	if errors.Is(e.err, errBroken) {
		return fail(e.URL.String()+": "+e.err.Error(), "let the proxy keep answers open that say nothing for a while: nginx: proxy_read_timeout 1h")
	}
	text := fmt.Sprintf("%s (%s): nobody answers", e.URL, strings.Join(e.found, ", "))
	if d.holder == nil {
		return skip(text + ", and no server runs on this data folder: start it and ask again")
	}
	return fail(fmt.Sprintf("%s: %v", text, e.err), "lead the address to "+d.config.Listen+": start the proxy, or open the port")
}

// judgeStranger says what answers in our place.
func (d *doctor) judgeStranger(e echo, s *stranger) Finding {
	at := e.URL.String()
	switch {
	case s.typ == fault.Misdirected:
		return fail(at+" leads to svc, which does not know the Host it is asked for", "let the proxy pass the Host header on as it came: "+passHost)
	case s.typ == fault.RouteNotFound:
		return warn(at+" leads to an svc that cannot be asked", "run the same version of svc everywhere")
	case s.typ == fault.RateLimited:
		return Finding{Verdict: Skip, Text: at + " was asked too often just now", Mend: "ask again in a minute"}
	case s.status >= 500 && d.holder == nil:
		return skip(fmt.Sprintf("%s: %v, and no server runs on this data folder: start it and ask again", at, s))
	case s.status >= 500:
		return fail(fmt.Sprintf("%s: %v", at, s), "the proxy does not reach svc: lead it to "+d.config.Listen)
	case s.to != "":
		return fail(fmt.Sprintf("%s: %v", at, s), "set "+e.Key+" to where it leads, or let the proxy answer here")
	}
	return fail(fmt.Sprintf("%s is not svc: %v", at, s), "lead "+e.URL.Hostname()+" to "+d.config.Listen+", in DNS or in the proxy")
}
