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
	d.add("hosts", judgeRule(all.CheckDistinct(), hostsOf(all)+" are three", "give each surface a host of its own: a cookie knows no port"))
	if mode == config.Production {
		d.add("https", judgeRule(all.CheckSecure(), "production: all three addresses are https", "write https:// addresses, and let a proxy end TLS"))
		d.add("cookie_domain", judgeRule(all.CheckCookieDomain(d.config.CookieDomain), "all hosts lie below "+d.config.CookieDomain, "set it to the domain that all three addresses lie below"))
	} else {
		d.add("https", fine("development: all three addresses are http on this machine"))
		d.add("cookie_domain", d.judgeCookies(all))
	}
	for _, p := range d.parts {
		d.add("configuration", judgeRule(d.restOf(p), "svc "+p.Name+" takes it", "change what is named; svc "+p.Name+" refuses it"))
	}
}

// judgeRule is a finding about a rule that svc serve has too.
func judgeRule(broken error, good, mend string) Finding {
	if broken != nil {
		return fail(lined(broken), mend)
	}
	return fine(good)
}

func hostsOf(all config.Surfaces) string {
	var names []string
	for _, s := range all {
		names = append(names, s.URL.Hostname())
	}
	return strings.Join(names, ", ")
}

// judgeCookies doubts a cookie domain that development takes.
func (d *doctor) judgeCookies(all config.Surfaces) Finding {
	if doubt := all.DoubtCookies(d.config.CookieDomain); doubt != "" {
		return warn("nobody can stay signed in: "+doubt, "set it to the domain that all three addresses lie below")
	}
	return fine(d.config.CookieDomain + " fits all three hosts")
}

// restOf is what a part refuses beside what has a finding of its own.
func (d *doctor) restOf(p config.Part) error {
	wrong := []error{d.config.CheckMail(), d.config.CheckGitHub(), d.config.CheckLimits(), d.config.CheckModels(), d.config.CheckMCPs(), d.config.CheckRetention()}
	if p != config.Whole {
		wrong = append(wrong, p.CheckDatabase(d.config))
	}
	return errors.Join(wrong...)
}
