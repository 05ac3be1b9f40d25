package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"svc.dev/svc/client"
	"svc.dev/svc/internal/cli/profile"
	"svc.dev/svc/internal/cli/screen"
	"svc.dev/svc/internal/command"
)

// contact is a service that can be asked.
type contact struct {
	name    string // of the profile; empty: none is used
	profile profile.Profile
	// api is what stands below the base address: agents, workflows, runs.
	api *client.Client
	// space is what the product adds for a workspace; nil where a runtime stands alone.
	space *client.Client
	// say tells a person something while they wait.
	say  func(string)
	mu   sync.Mutex
	said time.Time
}

func newContact(w io.Writer) *contact {
	return &contact{say: func(text string) { fmt.Fprintln(w, screen.Line(text)) }}
}

// reach finds out which service is meant. The key of a profile goes to that profile's address and nowhere else.
func (v *verb) reach() (*contact, error) {
	c := newContact(v.ErrOrStderr())
	base := v.base
	if base == "" && v.profile == "" {
		base = os.Getenv(BaseVariable)
	}
	if base != "" {
		if v.profile != "" {
			return nil, command.Usagef("use one of --profile and --base-url")
		}
		c.profile = profile.Profile{BaseURL: base, Key: os.Getenv(KeyVariable)}
		return c, c.connect(v.house)
	}
	store, err := profile.Home()
	if err != nil {
		return nil, err
	}
	c.name = v.profile
	if c.name == "" {
		c.name = os.Getenv(ProfileVariable)
	}
	if c.name == "" {
		c.name = store.Current()
	}
	c.profile, err = store.Load(c.name)
	if errors.Is(err, profile.ErrNone) {
		return nil, fmt.Errorf("%w: sign in with svc login, or name an address with --base-url", err)
	}
	if err != nil {
		return nil, err
	}
	return c, c.connect(v.house)
}

// patience is how long a service is asked that does not answer.
const patience = 5 * time.Second

func (c *contact) connect(h house) (err error) {
	if err := checkAddress(c.profile.BaseURL, c.profile.Key != ""); err != nil {
		return err
	}
	if c.api, err = c.client(h, c.profile.BaseURL, patience); err != nil {
		return err
	}
	if space := spaceOf(c.profile.BaseURL); space != "" {
		c.space, err = c.client(h, space, patience)
	}
	return err
}

func (c *contact) client(h house, base string, patience time.Duration) (*client.Client, error) {
	return client.New(client.Config{
		BaseURL: base, Token: c.profile.Key, HTTP: &http.Client{Transport: transport}, Patience: patience,
		Header:   http.Header{"User-Agent": {h.client()}},
		Retrying: c.retrying,
	})
}

// often is how long a person is left alone after they were told that something is asked for again.
const often = 10 * time.Second

// retrying tells a person why nothing happens, unless it is over before they could read it.
func (c *contact) retrying(err error, wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := errors.AsType[*client.Error](err); ok && wait > time.Second/2 && time.Since(c.said) > often {
		c.said = time.Now()
		c.say(c.explain(e).Error() + "; trying again")
	}
}

// baseRule is the address of a workspace's API: the product's own routes stand beside it.
var baseRule = regexp.MustCompile(`^(.*)/v1/(admin|[a-z0-9-]+/[a-z0-9-]+)/?$`)

// spaceOf is where a workspace is configured whose API has that address; empty where that is no workspace's.
func spaceOf(base string) string {
	if m := baseRule.FindStringSubmatch(base); m != nil {
		return m[1] + "/api/workspaces/" + m[2]
	}
	return ""
}

// product is the workspace of the service.
func (c *contact) product() (*client.Client, error) {
	if c.space == nil {
		return nil, fmt.Errorf("%s is not the address of a workspace, which ends with /v1/<username>/<business>: a runtime that stands alone has no such list", c.profile.BaseURL)
	}
	return c.space, nil
}

// checkAddress refuses what is no address, and a key in plain sight of a network.
func checkAddress(address string, secret bool) error {
	u, err := url.Parse(address)
	if whole, wrong := url.Parse("https://" + address); !strings.Contains(address, "://") && wrong == nil && whole.Host != "" && !strings.ContainsFunc(address, unusual) {
		scheme := map[bool]string{true: "http://", false: "https://"}[isLoopback(whole.Hostname())]
		return command.Usagef("%q is not an address: is %s%s meant?", address, scheme, address)
	}
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.ContainsFunc(address, unusual):
		return command.Usagef("%q is not an address such as https://agents.example.com/v1/ada/personal", address)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return command.Usagef("%q has more than a host and a path", u.Redacted())
	case secret && u.Scheme == "http" && !isLoopback(u.Hostname()):
		return command.Usagef("%s is not https: everybody on the way there could read the key", address)
	}
	return nil
}

// unusual reports whether a character is none of an address, or a key: those are written in ASCII, without spaces.
func unusual(r rune) bool { return r <= ' ' || r > '~' }

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}

// transport finds *.localhost on this machine, as browsers do and resolvers often do not.
var transport = newTransport()

// direct follows nobody elsewhere: what is sent with it is a secret of the service that was named.
var direct = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func newTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	dial := t.DialContext
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err != nil || !strings.HasSuffix(host, ".localhost") {
			return dial(ctx, network, address)
		}
		conn, err := dial(ctx, network, net.JoinHostPort("127.0.0.1", port))
		if err != nil {
			if six, other := dial(ctx, network, net.JoinHostPort("::1", port)); other == nil {
				return six, nil
			}
		}
		return conn, err
	}
	proxy := t.Proxy
	t.Proxy = func(r *http.Request) (*url.URL, error) {
		if isLoopback(r.URL.Hostname()) {
			return nil, nil
		}
		return proxy(r)
	}
	t.MaxIdleConnsPerHost = 16
	return t
}
