package surface

import (
	"cmp"
	"net/netip"
	"time"

	"svc.dev/svc/memory"
)

// Config is how the surfaces are reached, and what requests to them may take. Surfaces is required.
type Config struct {
	Surfaces Surfaces
	// CookieDomain is the parent of the surfaces' hosts, to which a session belongs. Defaults to none: host by host.
	CookieDomain string
	// Trusted are the proxies whose word about a client's address counts. Defaults to none.
	Trusted []netip.Prefix
	// Development allows http, and cookies without Secure. Defaults to false.
	Development bool
	// Absolute is how long a browser keeps the session's cookie. Defaults to 30 days.
	Absolute time.Duration
	// WriteTimeout is how long a client may take to accept what the runtime says, before it is given up. Defaults to 30 seconds.
	WriteTimeout time.Duration
	// Memory is what bodies take from, and each party a share of it. Defaults to a budget of its own.
	Memory *memory.Budget
	// Spoofed hears of every header that only we may set. Defaults to nobody.
	Spoofed func()
}

// SetDefaults makes of every zero what it means.
func (c *Config) SetDefaults() {
	c.Absolute = cmp.Or(c.Absolute, 30*24*time.Hour)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 30*time.Second)
	c.Memory = cmp.Or(c.Memory, memory.New(0))
	if c.Spoofed == nil {
		c.Spoofed = func() {}
	}
}
