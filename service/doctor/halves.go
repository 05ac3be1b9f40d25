package doctor

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/engine"
	"svc.dev/svc/service/scope"
)

// askingRuntime is how long doctor waits for a runtime.
const askingRuntime = 5 * time.Second

// lookAtHalves judges what gateway and runtime must have in common.
func (d *doctor) lookAtHalves(ctx context.Context) {
	if !d.split() {
		return
	}
	sound := true
	for _, p := range d.parts {
		if err := p.CheckTokens(d.config); err != nil {
			sound = false
			d.add("tokens", fail(lined(err), "svc keys assertion makes the pair; a token is 32 random bytes or more, the same on both sides: openssl rand -hex 32"))
		}
	}
	if sound {
		d.add("tokens", d.judgePair())
	}
	if d.parts[len(d.parts)-1].Works {
		d.add("runtime.listen", judgeListener(d.config.RuntimeListen))
	}
	d.judgeWay(d.config.RuntimeURL)
	if sound {
		d.callRuntime(ctx)
	}
}

// lined is an error of many lines as one.
func lined(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// judgePair sees whether the two keys belong together, where this machine has both.
func (d *doctor) judgePair() Finding {
	if d.config.AssertionKey.Reveal() == "" || d.config.AssertionPublic == "" {
		return fine("are there, long enough and not the same")
	}
	key, err := d.config.SigningKey()
	if err != nil {
		return fail("runtime.assertion_key: "+err.Error(), "svc keys assertion makes a pair")
	}
	known, _ := d.config.PublicKeys() // what is wrong is said by CheckTokens
	mine := key.Public().(ed25519.PublicKey)
	if !slices.ContainsFunc(known, func(k ed25519.PublicKey) bool { return k.Equal(mine) }) {
		return fail("runtime.assertion_public does not hold the other half of runtime.assertion_key", "give both sides the same pair of svc keys assertion")
	}
	return fine("are there, long enough and not the same, and the two assertion keys are a pair")
}

// judgeListener refuses a runtime that the world could reach.
func judgeListener(address string) Finding {
	const mend = "write an address of this machine that only the gateway reaches: 127.0.0.1:8081, unix:PATH or one of a private network"
	host, _, err := net.SplitHostPort(address)
	ip, wrong := netip.ParseAddr(host)
	_, socket := config.SocketPath(address)
	switch {
	case socket:
		return fine(address + " is reached from this machine alone")
	case err != nil:
		return fail(err.Error(), mend)
	case host == "" || wrong == nil && ip.IsUnspecified():
		return warn(address+" listens on every network of this machine, and the runtime is private", mend)
	case wrong == nil && !isPrivate(ip):
		return fail(address+" is a public address, and the runtime is private", mend)
	default:
		return fine(address + " is no public address")
	}
}

func isPrivate(ip netip.Addr) bool {
	return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()
}

// judgeWay warns of tokens that travel in clear.
func (d *doctor) judgeWay(address string) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" || !d.faces() {
		return
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && !isPrivate(ip) {
		d.add("runtime.url", warn(address+" is a public address without https: tokens travel in clear", "reach the runtime through a private network, or by https"))
	}
}

// callRuntime asks the runtime for something harmless, as a gateway does for a customer and for staff. Without the key of a
// gateway it can only see that strangers are refused.
func (d *doctor) callRuntime(ctx context.Context) {
	forward, err := d.config.Forward()
	if err != nil {
		d.judgeCall(d.call(ctx, nil, scope.Claims{}), false, "")
		return
	}
	forward.Now = d.now
	customer := scope.Claims{Account: "doctor", AccountID: "doctor", Scope: scope.Of("doctor", "personal").String(), Actor: "doctor", Authority: scope.Customer, Base: "doctor", RequestID: "req_doctor"}
	staff := scope.Claims{Account: "doctor", AccountID: "doctor", Scope: scope.Admin, Actor: "doctor", Authority: scope.StaffAuth, Base: "doctor", RequestID: "req_doctor"}
	about := d.call(ctx, forward, staff)
	if d.judgeCall(d.call(ctx, forward, customer), true, "runtime.token") && d.judgeCall(about, true, "runtime.admin_token") {
		d.add("runtime", fine(d.config.RuntimeURL+" accepts this gateway, for customers and for staff"))
		d.add("addresses", d.judgeAbout(about.about))
	}
}

// judgeAbout compares where the two halves think that the service is. Links are the gateway's; that a runtime which was told
// nothing takes itself for one in development, and tells clients what developers see, nobody would notice.
func (d *doctor) judgeAbout(theirs engine.About) Finding {
	all := d.config.Surfaces()
	ours := engine.About{Agents: all[1].URL.String(), Admin: all[2].URL.String(), Development: all.Mode() == config.Development}
	const mend = "set url.platform, url.agents and url.admin alike on both sides, and start the runtime again"
	switch {
	case theirs == engine.About{}:
		return warn("the runtime does not say where it takes the service to be", "run the same version of svc on both sides")
	case theirs.Development != ours.Development:
		return fail("one of gateway and runtime is in development, the other in production: the runtime was told "+theirs.Agents, mend)
	case theirs != ours:
		return warn(fmt.Sprintf("the gateway is reached at %s and %s, and the runtime was told %s and %s", ours.Agents, ours.Admin, theirs.Agents, theirs.Admin), mend)
	default:
		return fine("gateway and runtime were told the same")
	}
}

// callback is what came of a call.
type callback struct {
	status int
	typ    string // of the refusal
	about  engine.About
	apart  time.Duration // this clock from the runtime's
	err    error
}

func (d *doctor) call(ctx context.Context, as *scope.Forward, claims scope.Claims) (back callback) {
	ctx, cancel := context.WithTimeout(ctx, askingRuntime)
	defer cancel()
	target, dial := d.config.RuntimeTarget()
	transport := &http.Transport{DialContext: dial, DisableKeepAlives: true}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String()+engine.AboutPath, nil)
	if err == nil && as != nil {
		err = as.Sign(r, claims)
	}
	if err != nil {
		return callback{err: err}
	}
	answer, err := transport.RoundTrip(r)
	if err != nil {
		return callback{err: err}
	}
	defer answer.Body.Close()
	if at, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		back.apart = d.now().Sub(at.Add(time.Second / 2))
	}
	var envelope struct {
		Error struct{ Type string }
		engine.About
	}
	_ = json.NewDecoder(answer.Body).Decode(&envelope) // what is no JSON has no type
	back.status, back.typ, back.about = answer.StatusCode, envelope.Error.Type, envelope.About
	return back
}

// judgeCall says of a call what is wrong, and reports whether nothing is. The key is that of the token it was made with.
func (d *doctor) judgeCall(b callback, signed bool, key string) bool {
	at := d.config.RuntimeURL
	switch {
	case b.err != nil && !d.faces() && d.holder == nil:
		d.add("runtime", skip(at+": nobody answers, and no runtime runs on this data folder: start it and ask again"))
	case b.err != nil:
		d.add("runtime", fail(at+" is not reached: "+b.err.Error(), "start svc runtime, and set runtime.url to its runtime.listen"))
	case !signed && b.typ == fault.RuntimeUnauthorized:
		d.add("runtime", fine(at+" answers, and refuses whoever has no token; ask svc doctor --gateway whether it accepts the gateway"))
	case b.typ == fault.RuntimeUnauthorized:
		d.add("runtime", fail(at+" does not accept the "+key+" of this gateway", "give both sides the same value, and send the runtime SIGHUP or start it again"))
	case b.typ == fault.AssertionInvalid && b.apart.Abs() > scope.Skew:
		d.add("runtime", fail(fmt.Sprintf("%s refuses what this gateway signs: its clock is %s apart, and 30s is the most", at, b.apart.Round(time.Second)), "let both machines keep time by NTP"))
	case b.typ == fault.AssertionInvalid:
		d.add("runtime", fail(at+" does not know the assertion key of this gateway", "give the runtime, as runtime.assertion_public, the public half that svc keys assertion printed with the key"))
	case b.status != http.StatusOK && b.typ == "" || !signed:
		d.add("runtime", fail(fmt.Sprintf("%s is no runtime of svc: it answers %d", at, b.status), "set runtime.url to the runtime.listen of svc runtime"))
	case b.typ == fault.AdminRequired || b.typ == fault.ScopeMismatch || b.typ == fault.InvalidHeader || b.typ == fault.InvalidScope:
		d.add("runtime", fail(at+" refuses this gateway: "+b.typ, "run the same version of svc on both sides, and let nothing between them change headers"))
	default:
		return true
	}
	return false
}
