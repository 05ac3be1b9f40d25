package doctor

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"svc.dev/svc/service/config"
	"svc.dev/svc/service/gateway"
)

// What doctor expects of the way from outside.
const (
	askingPublic = 5 * time.Second
	dateApart    = 2 * time.Second // the Date of an answer has whole seconds
	certificate  = 14 * 24 * time.Hour
)

// echo is what came of asking one surface at its public address.
type echo struct {
	config.Surface
	of      gateway.Surface
	found   []string // what the host resolves to
	probe   gateway.Probe
	apart   time.Duration // this clock from the Date of the answer
	first   time.Duration // until the first part of the answer
	behind  time.Duration // how long after it the second came
	expires time.Time     // of the certificate; zero: there is none
	err     error         // why it was not our surface that answered
}

// held reports whether both parts of the answer came at once.
func (e echo) held() bool { return e.err == nil && e.behind < gateway.DefaultProbePause/2 }

// shout asks a surface, and once more where the parts of the answer came at once: a busy machine can do that too.
func (d *doctor) shout(ctx context.Context, s config.Surface, of gateway.Surface) echo {
	found, err := d.resolve(ctx, s.URL.Hostname())
	if err != nil {
		return echo{Surface: s, of: of, err: err}
	}
	e := d.ask(ctx, s, s.URL.String(), nil)
	if e.held() {
		e = d.ask(ctx, s, s.URL.String(), nil)
	}
	e.of, e.found = of, found
	return e
}

// resolve finds the addresses of a host. Those of this machine have the one that browsers give them.
func (d *doctor) resolve(ctx context.Context, host string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, askingPublic)
	defer cancel()
	if config.IsLocal(host) {
		return []string{"this machine"}, nil
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return []string{host}, nil
	}
	return d.lookup(ctx, host)
}

// dialPublic finds *.localhost on this machine, as browsers do.
func dialPublic(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: askingPublic}
	host, port, err := net.SplitHostPort(address)
	if err != nil || !strings.HasSuffix(host, ".localhost") {
		return dialer.DialContext(ctx, network, address)
	}
	conn, err := dialer.DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		if other, err := dialer.DialContext(ctx, network, net.JoinHostPort("::1", port)); err == nil {
			return other, nil
		}
	}
	return conn, err
}

// ask asks for a surface once, at an address, whatever its name leads to.
func (d *doctor) ask(ctx context.Context, s config.Surface, at string, header http.Header) echo {
	ctx, cancel := context.WithTimeout(ctx, askingPublic)
	defer cancel()
	e := echo{Surface: s}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at+gateway.ProbePath, nil)
	if err != nil {
		e.err = err
		return e
	}
	r.Host = s.URL.Host
	maps.Copy(r.Header, header)
	r.Header.Set("User-Agent", "svc-doctor")
	began := time.Now()
	answer, err := d.transport.RoundTrip(r)
	if err != nil {
		e.err = err
		return e
	}
	defer answer.Body.Close()
	if at, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		e.apart = d.now().Sub(at.Add(time.Second / 2))
	}
	if answer.TLS != nil {
		e.expires = earliest(answer.TLS)
	}
	e.err = e.read(answer, began)
	return e
}

// earliest is when the first certificate of a chain ends.
func earliest(state *tls.ConnectionState) (at time.Time) {
	for _, c := range state.PeerCertificates {
		if at.IsZero() || c.NotAfter.Before(at) {
			at = c.NotAfter
		}
	}
	return at
}

// read reads both parts of the answer, and when each came.
func (e *echo) read(answer *http.Response, began time.Time) error {
	if answer.StatusCode != http.StatusOK || !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		return strangerOf(answer)
	}
	var first time.Time
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if data, found := strings.CutPrefix(lines.Text(), "data: "); found && first.IsZero() {
			first = time.Now()
			e.first = first.Sub(began)
			if err := json.Unmarshal([]byte(data), &e.probe); err != nil || e.probe.Service != "svc" {
				return strangerOf(answer)
			}
		}
		if lines.Text() == "event: end" {
			e.behind = time.Since(first)
			return nil
		}
	}
	return errBroken
}

// errBroken is an answer that did not come whole.
var errBroken = errors.New("the answer breaks off before its end")

// stranger is an answer that is not our surface's.
type stranger struct {
	status int
	typ    string // of the fault, where it is one of ours
	server string
	media  string
	to     string // where it leads
}

func strangerOf(answer *http.Response) *stranger {
	s := &stranger{
		status: answer.StatusCode, server: answer.Header.Get("Server"), media: answer.Header.Get("Content-Type"), to: answer.Header.Get("Location"),
	}
	var envelope struct {
		Error struct{ Type string }
	}
	if strings.HasPrefix(answer.Header.Get("X-Request-Id"), "req_") && json.NewDecoder(io.LimitReader(answer.Body, 64<<10)).Decode(&envelope) == nil {
		s.typ = envelope.Error.Type
	}
	return s
}

func (s *stranger) Error() string {
	text := fmt.Sprintf("it answers %d", s.status)
	for _, more := range []struct{ word, value string }{{" ", s.typ}, {" ", s.media}, {" of ", s.server}, {" to ", s.to}} {
		if more.value != "" {
			text += more.word + quoted(more.value)
		}
	}
	return text
}

// quoted is a stranger's word as a terminal may show it: what would move its cursor or look like a finding of ours is spelled
// out, and what is long is cut.
func quoted(text string) string {
	text = strings.Trim(strconv.QuoteToGraphic(text[:min(len(text), 200)]), `"`)
	return strings.ReplaceAll(text, `\"`, `"`)
}
