package service

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/net/publicsuffix"

	"svc.dev/svc/model"
	"svc.dev/svc/service/account/github"
	"svc.dev/svc/service/engine"
	"svc.dev/svc/service/mail"
	"svc.dev/svc/service/secret"
)

// Check refuses a configuration that cannot be served, or not safely. Its text names each key that is wrong, and what to
// write instead.
func (c Config) Check() error {
	c = c.withDefaults()
	all := c.surfaces(portOf(c.Listen))
	wrong := []error{checkDistinct(all), c.checkMail(all), c.checkGitHub(), c.checkLimits(), c.checkModel()}
	if modeOf(all) == production {
		wrong = append(wrong, checkSecure(all), checkCookieDomain(c.CookieDomain, all))
	}
	return errors.Join(wrong...)
}

// checkDistinct refuses two surfaces on one host. Another port does not help: a cookie knows no port.
func checkDistinct(all []surface) error {
	keys := map[string]string{}
	for _, s := range all {
		host := s.url.Hostname()
		if other, twice := keys[host]; twice {
			return fmt.Errorf("%s: %s has the host %s too: give each surface a host of its own", s.key, other, host)
		}
		keys[host] = s.key
	}
	return nil
}

func checkSecure(all []surface) error {
	var wrong []error
	for _, s := range all {
		if s.url.Scheme != "https" {
			wrong = append(wrong, fmt.Errorf("%s: %s is not https, which production needs: write https://…, or for development leave all three addresses on *.localhost", s.key, s.url))
		}
	}
	return errors.Join(wrong...)
}

// checkCookieDomain refuses a domain to which the session cookie of these surfaces cannot belong, or should not.
func checkCookieDomain(domain string, all []surface) error {
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
	if s := outside(domain, all); s != nil {
		return fmt.Errorf("cookie_domain: %s of %s does not lie below %s: %s", s.url.Hostname(), s.key, domain, mend)
	}
	return nil
}

// checkMail asks the outbox what it will say.
func (c Config) checkMail(all []surface) error {
	if c.mails() && c.SMTPFrom == "" {
		return errors.New("smtp.from: it is empty, and smtp.url is given: write who mails come from, such as svc@example.com")
	}
	m := c.mailConfig(all)
	m.Box = new(secret.Box)
	if _, err := mail.New(nil, m); err != nil {
		return fmt.Errorf("smtp.url, smtp.from: %w", err)
	}
	return nil
}

// checkLimits refuses a body that could never be taken in.
func (c Config) checkLimits() error {
	if c.LimitBody > c.LimitBuffered {
		return fmt.Errorf("limits.body: %s is more than limits.buffered, %s, so that such a body would always be refused: raise limits.buffered", (*size)(&c.LimitBody), (*size)(&c.LimitBuffered))
	}
	return nil
}

// checkModel refuses a model that nobody could ask: every prompt would fail.
func (c Config) checkModel() error {
	_, err := engine.Models.Find(context.Background(), "", c.ModelDefault)
	if e, ok := errors.AsType[*model.Error](err); ok {
		err = errors.New(e.Message)
	}
	if err != nil {
		return fmt.Errorf("model.default: %w: write provider/model, such as scripted/words", err)
	}
	return nil
}

func (c Config) checkGitHub() error {
	if _, err := github.New(github.Config{URL: c.GitHubURL, APIURL: c.GitHubAPIURL}); err != nil {
		return fmt.Errorf("provider.github.url, provider.github.api_url: %w", err)
	}
	return nil
}
