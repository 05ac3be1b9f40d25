package doctor

import (
	"errors"
	"strings"

	"svc.dev/svc/service/config"
)

// lookAtConfiguration judges the addresses and the cookie domain as svc serve does, one after the other.
func (d *doctor) lookAtConfiguration() {
	all := d.config.Surfaces()
	mode := all.Mode()
	d.judgeRule("hosts", all.CheckDistinct(), hostsOf(all)+" are three", "give each surface a host of its own: a cookie knows no port")
	if mode == config.Production {
		d.judgeRule("https", all.CheckSecure(), "production: all three addresses are https", "write https:// addresses, and let a proxy end TLS")
		d.judgeRule("cookie_domain", all.CheckCookieDomain(d.config.CookieDomain), "all hosts lie below "+d.config.CookieDomain, "set it to the domain that all three addresses lie below")
	} else {
		d.add("https", OK, "development: all three addresses are http on this machine", "")
		d.judgeCookies(all)
	}
	for _, p := range d.parts {
		d.judgeRule("configuration", d.restOf(p, all), "svc "+p.Name+" takes it", "change what is named; svc "+p.Name+" refuses it")
	}
}

// judgeRule is a finding about a rule that svc serve has too.
func (d *doctor) judgeRule(name string, broken error, good, mend string) {
	if broken != nil {
		d.add(name, Fail, lined(broken), mend)
		return
	}
	d.add(name, OK, good, "")
}

func hostsOf(all config.Surfaces) string {
	var names []string
	for _, s := range all {
		names = append(names, s.URL.Hostname())
	}
	return strings.Join(names, ", ")
}

// judgeCookies doubts a cookie domain that development takes.
func (d *doctor) judgeCookies(all config.Surfaces) {
	if doubt := all.DoubtCookies(d.config.CookieDomain); doubt != "" {
		d.add("cookie_domain", Warn, "nobody can stay signed in: "+doubt, "set it to the domain that all three addresses lie below")
		return
	}
	d.add("cookie_domain", OK, d.config.CookieDomain+" fits all three hosts", "")
}

// restOf is what a part refuses beside what has a finding of its own.
func (d *doctor) restOf(p config.Part, all config.Surfaces) error {
	wrong := []error{d.config.CheckMail(), d.config.CheckGitHub(), d.config.CheckLimits()}
	if p != config.Whole {
		wrong = append(wrong, p.CheckDatabase(d.config))
	}
	return errors.Join(wrong...)
}
