package config

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"svc.dev/svc/service/scope"
)

// parseRuntimeURL reads where a gateway finds its runtime.
func parseRuntimeURL(s string) (string, error) {
	if path, found := SocketPath(s); found && path != "" {
		return s, nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
		return "", errors.New("it is not an address like http://127.0.0.1:8081 without a path, or unix:PATH")
	}
	return strings.TrimSuffix(s, "/"), nil
}

// SocketPath is the path of an address that is a socket, unix:PATH.
func SocketPath(address string) (path string, found bool) { return strings.CutPrefix(address, "unix:") }

// Guard is what a runtime of its own believes.
func (c Config) Guard() (*scope.Guard, error) {
	keys, err := c.PublicKeys()
	if err != nil {
		return nil, fmt.Errorf("runtime.assertion_public: %w", err)
	}
	g, err := scope.NewGuard(
		given(c.RuntimeToken.Reveal(), c.RuntimeTokenPrevious.Reveal()), given(c.RuntimeAdminToken.Reveal(), c.RuntimeAdminTokenPrevious.Reveal()), keys)
	if err != nil {
		return nil, fmt.Errorf("runtime.token, runtime.admin_token, runtime.assertion_public: %w", err)
	}
	return g, nil
}

// given are the values that there are.
func given(values ...string) []string {
	return slices.DeleteFunc(values, func(v string) bool { return v == "" })
}

// Forward is what a gateway of its own says to be believed.
func (c Config) Forward() (*scope.Forward, error) {
	key, err := c.SigningKey()
	if err != nil {
		return nil, err
	}
	return &scope.Forward{Token: c.RuntimeToken.Reveal(), AdminToken: c.RuntimeAdminToken.Reveal(), Key: key}, nil
}

// RuntimeTarget is the address of the runtime, and how it is reached.
func (c Config) RuntimeTarget() (*url.URL, func(context.Context, string, string) (net.Conn, error)) {
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	if path, found := SocketPath(c.RuntimeURL); found {
		return &url.URL{Scheme: "http", Host: "runtime"}, func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", path)
		}
	}
	u, err := url.Parse(c.RuntimeURL)
	if err != nil {
		u = &url.URL{} // Set has refused it before
	}
	return u, dialer.DialContext
}
