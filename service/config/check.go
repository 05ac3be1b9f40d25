package config

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/net/publicsuffix"

	"svc.dev/svc/service/account/github"
	"svc.dev/svc/service/mail"
	"svc.dev/svc/service/secret"
)

// check refuses a configuration that cannot be served, or not safely.
func (c Config) check() error {
	all := c.Surfaces()
	wrong := []error{all.CheckDistinct(), c.CheckMail(), c.CheckGitHub(), c.CheckLimits(), c.CheckModels(), c.CheckMCPs(), c.CheckTLS(), c.CheckRetention()}
	if all.Mode() == Production {
		wrong = append(wrong, all.CheckSecure(), all.CheckCookieDomain(c.CookieDomain))
	}
	return errors.Join(wrong...)
}

// CheckDistinct refuses two surfaces on one host. Another port does not help: a cookie knows no port.
func (all Surfaces) CheckDistinct() error {
	keys := map[string]string{}
	for _, s := range all {
		host := s.URL.Hostname()
		if other, twice := keys[host]; twice {
			return fmt.Errorf("%s: %s has the host %s too: give each surface a host of its own", s.Key, other, host)
		}
		keys[host] = s.Key
	}
	return nil
}

// CheckSecure refuses an address that is not https.
func (all Surfaces) CheckSecure() error {
	var wrong []error
	for _, s := range all {
		if s.URL.Scheme != "https" {
			wrong = append(wrong, fmt.Errorf("%s: %s is not https, which production needs: write https://…, or for development leave all three addresses on *.localhost", s.Key, s.URL))
		}
	}
	return errors.Join(wrong...)
}

// CheckCookieDomain refuses a domain to which the session cookie of these surfaces cannot belong, or should not.
func (all Surfaces) CheckCookieDomain(domain string) error {
	const mend = "set it to the domain that all three addresses lie below, such as example.com"
	if domain == "" {
		return errors.New("cookie_domain: it is empty: " + mend)
	}
	if _, err := netip.ParseAddr(domain); err == nil {
		return fmt.Errorf("cookie_domain: %s is an IP address: %s", domain, mend)
	}
	if suffix, _ := publicsuffix.PublicSuffix(domain); suffix == domain {
		return fmt.Errorf("cookie_domain: %s is a public suffix, below which others have sites: %s", domain, mend)
	}
	if s := all.outside(domain); s != nil {
		return fmt.Errorf("cookie_domain: %s of %s does not lie below %s: %s", s.URL.Hostname(), s.Key, domain, mend)
	}
	return nil
}

// Mails reports whether there is a mail server.
func (c Config) Mails() bool { return c.SMTPURL.Reveal() != "" }

// MailConfig is how mails are sent by a service with these surfaces.
func (c Config) MailConfig(all Surfaces) mail.Config {
	return mail.Config{
		SMTP: c.SMTPURL.Reveal(), From: c.SMTPFrom, URL: all[0].URL.String(), Development: all.Mode() == Development, Keep: c.RetentionOutbox,
	}
}

// CheckMail asks the outbox what it will say.
func (c Config) CheckMail() error {
	if c.Mails() && c.SMTPFrom == "" {
		return errors.New("smtp.from: it is empty, and smtp.url is given: write who mails come from, such as svc@example.com")
	}
	m := c.MailConfig(c.Surfaces())
	m.Box = new(secret.Box)
	if _, err := mail.New(nil, m); err != nil {
		return fmt.Errorf("smtp.url, smtp.from: %w", err)
	}
	return nil
}

// CheckLimits refuses a body that could never be taken in.
func (c Config) CheckLimits() error {
	if c.LimitBody > c.LimitBuffered {
		return fmt.Errorf("limits.body: %s is more than limits.buffered, %s, so that such a body would always be refused: raise limits.buffered", showSize(c.LimitBody), showSize(c.LimitBuffered))
	}
	return nil
}

// CheckRetention refuses to forget work before its Idempotency-Key: whoever asked again would have it done twice.
func (c Config) CheckRetention() error {
	check := func(key string, age time.Duration) error {
		if age <= 0 || age >= c.RetentionIdempotency {
			return nil
		}
		return fmt.Errorf("%s: %s is less than retention.idempotency, %s, so that a request that comes again would be done again: raise it", key, age, c.RetentionIdempotency)
	}
	return errors.Join(check("retention.runs", c.RetentionRuns), check("retention.conversations", c.RetentionConversations))
}

// CheckGitHub asks the provider what it will say.
func (c Config) CheckGitHub() error {
	if _, err := github.New(github.Config{URL: c.GitHubURL, APIURL: c.GitHubAPIURL}); err != nil {
		return fmt.Errorf("provider.github.url, provider.github.api_url: %w", err)
	}
	return nil
}

// CheckTLS refuses certificates that nobody would see, and an address that has none to show.
func (c Config) CheckTLS() error {
	files, some := c.TLSCert != "" && c.TLSKey != "", c.TLSCert != "" || c.TLSKey != ""
	switch {
	case c.ListenTLS == "" && (some || c.TLSACME != ""):
		return errors.New("tls.cert, tls.key, tls.acme: listen_tls is not given, so that nobody would see a certificate: set it, such as to :443")
	case c.ListenTLS == "":
		return nil
	case some && c.TLSACME != "":
		return errors.New("tls.acme: tls.cert or tls.key is given too: choose between files and an authority")
	case !files && c.TLSACME == "":
		return errors.New("listen_tls: it needs a certificate: give tls.cert and tls.key, or tls.acme")
	}
	return c.Surfaces().CheckSecure()
}
