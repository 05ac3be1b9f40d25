package config

import (
	"strings"
	"testing"
	"time"

	"svc.dev/svc/service/secret"
)

func TestModeIsDevelopmentOnThisMachineAlone(t *testing.T) {
	for _, test := range []struct{ platform, agents, admin, want string }{
		{"", "", "", Development},
		{"http://localhost:1", "http://127.0.0.1:1", "http://[::1]:1", Development},
		{"http://a.localhost", "http://b.localhost", "http://127.3.0.1", Development},
		{"https://svc.localhost", "https://agents.svc.localhost", "https://admin.svc.localhost", Production},
		{"http://example.com", "", "", Production},
		{"http://10.0.0.1", "", "", Production},
		{"http://evillocalhost", "", "", Production},
		{"http://localhost.example.com", "", "", Production},
	} {
		c := Config{PlatformURL: test.platform, AgentsURL: test.agents, AdminURL: test.admin}
		if got := c.Surfaces().Mode(); got != test.want {
			t.Errorf("%+v: %s", test, got)
		}
	}
}

func TestDefaultAddressesFollowThePort(t *testing.T) {
	for port, want := range map[string]string{"8080": "http://agents.svc.localhost:8080", "9000": "http://agents.svc.localhost:9000", "80": "http://agents.svc.localhost"} {
		if got := (Config{}).SurfacesAt(":" + port)[1].URL.String(); got != want {
			t.Errorf("%s: %s", port, got)
		}
	}
}

// inProduction is a configuration that production takes.
func inProduction() Config {
	return Config{
		PlatformURL: "https://example.com", AgentsURL: "https://agents.example.com", AdminURL: "https://admin.example.com",
		CookieDomain: "example.com",
	}
}

func TestConfigurationIsRefusedByItsKey(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Config)
		want   string // empty: it is taken
	}{
		"all is well":            {func(*Config) {}, ""},
		"one surface is http":    {func(c *Config) { c.AgentsURL = "http://agents.example.com" }, "url.agents: http://agents.example.com is not https, which production needs: write https://"},
		"one was not given":      {func(c *Config) { c.AdminURL = "" }, "url.admin: http://admin.svc.localhost:8080 is not https"},
		"domain was not given":   {func(c *Config) { c.CookieDomain = "" }, "cookie_domain: example.com of url.platform does not lie below svc.localhost: set it to the domain"},
		"domain is an address":   {func(c *Config) { c.CookieDomain = "192.0.2.1" }, "cookie_domain: 192.0.2.1 is an IP address: set it"},
		"domain is an address 6": {func(c *Config) { c.CookieDomain = "2001:db8::1" }, "cookie_domain: 2001:db8::1 is an IP address"},
		"domain is a suffix":     {func(c *Config) { c.CookieDomain = "com" }, "cookie_domain: com is a public suffix"},
		"domain is a long suffix": {func(c *Config) {
			c.PlatformURL, c.AgentsURL, c.AdminURL = "https://a.co.uk", "https://b.co.uk", "https://c.co.uk"
			c.CookieDomain = "co.uk"
		}, "cookie_domain: co.uk is a public suffix"},
		"domain is private suffix": {func(c *Config) {
			c.PlatformURL, c.AgentsURL, c.AdminURL = "https://a.github.io", "https://b.github.io", "https://c.github.io"
			c.CookieDomain = "github.io"
		}, "cookie_domain: github.io is a public suffix"},
		"domain is beside":        {func(c *Config) { c.CookieDomain = "example.org" }, "cookie_domain: example.com of url.platform does not lie below example.org"},
		"domain is a part":        {func(c *Config) { c.AdminURL = "https://badexample.com" }, "cookie_domain: badexample.com of url.admin does not lie below example.com"},
		"domain is below":         {func(c *Config) { c.CookieDomain = "agents.example.com" }, "cookie_domain: example.com of url.platform does not lie below"},
		"two have one host":       {func(c *Config) { c.AdminURL = c.AgentsURL }, "url.admin: url.agents has the host agents.example.com too"},
		"two differ by port":      {func(c *Config) { c.AdminURL = c.AgentsURL + ":8443" }, "url.admin: url.agents has the host agents.example.com too"},
		"two at home":             {func(c *Config) { *c = Config{PlatformURL: "http://localhost:1", AgentsURL: "http://localhost:2"} }, "url.agents: url.platform has the host localhost too"},
		"mail without a sender":   {func(c *Config) { c.SMTPURL = secret.Hide("smtp://u:hunter2@mail.example.com") }, "smtp.from: it is empty"},
		"mail that is no address": {func(c *Config) { c.SMTPURL, c.SMTPFrom = secret.Hide("http://u:hunter2@mail"), "svc@example.com" }, "smtp.url, smtp.from: "},
		"mail is well":            {func(c *Config) { c.SMTPURL, c.SMTPFrom = secret.Hide("smtp://u:hunter2@mail"), "svc@example.com" }, ""},
		"TLS by files":            {func(c *Config) { c.ListenTLS, c.TLSCert, c.TLSKey = ":443", "cert.pem", "key.pem" }, ""},
		"TLS by an authority":     {func(c *Config) { c.ListenTLS, c.TLSACME = ":443", "https://acme.example.com/directory" }, ""},
		"TLS by nobody":           {func(c *Config) { c.ListenTLS = ":443" }, "listen_tls: it needs a certificate"},
		"TLS without a key":       {func(c *Config) { c.ListenTLS, c.TLSCert = ":443", "cert.pem" }, "listen_tls: it needs a certificate"},
		"TLS by both":             {func(c *Config) { c.ListenTLS, c.TLSCert, c.TLSKey, c.TLSACME = ":443", "a", "b", "https://c" }, "tls.acme: tls.cert or tls.key is given too"},
		"TLS that nobody sees":    {func(c *Config) { c.TLSACME = "https://acme.example.com/directory" }, "tls.cert, tls.key, tls.acme: listen_tls is not given"},
		"TLS at home":             {func(c *Config) { *c = Config{ListenTLS: ":443", TLSACME: "https://acme.example.com"} }, "url.platform: http://svc.localhost:8080 is not https"},
		"runs are forgotten":      {func(c *Config) { c.RetentionRuns = 30 * 24 * time.Hour }, ""},
		"runs before their keys":  {func(c *Config) { c.RetentionRuns = 24 * time.Hour }, "retention.runs: 24h0m0s is less than retention.idempotency, 168h0m0s"},
		"talks before their keys": {func(c *Config) { c.RetentionConversations = time.Hour }, "retention.conversations: 1h0m0s is less than retention.idempotency"},
		"keys for a short time":   {func(c *Config) { c.RetentionIdempotency, c.RetentionRuns = time.Hour, time.Hour }, ""},
		"github without https":    {func(c *Config) { c.GitHubURL = "http://github.example.com" }, "provider.github.url, provider.github.api_url: "},
	} {
		c := inProduction()
		test.change(&c)
		err := Whole.Check(c)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the password is shown: %v", name, err)
		}
	}
	if err := inProduction().Surfaces().CheckCookieDomain(""); err == nil || !strings.HasPrefix(err.Error(), "cookie_domain: it is empty") {
		t.Errorf("empty domain: %v", err)
	}
}

// A body that is more than all bodies may be could never be taken in.
func TestABodyIsNotMoreThanAllThatAreHeld(t *testing.T) {
	if err := Whole.Check(Config{LimitBody: 2 << 20, LimitBuffered: 1 << 20}); err == nil || !strings.Contains(err.Error(), "limits.body: 2MiB is more than limits.buffered, 1MiB") {
		t.Errorf("%v", err)
	}
	if err := Whole.Check(Config{LimitBody: 1 << 20, LimitBuffered: 1 << 20}); err != nil {
		t.Error(err)
	}
}
