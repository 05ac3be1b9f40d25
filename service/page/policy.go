package page

import (
	"slices"
	"strings"
)

// Policy is the Content-Security-Policy under which the page of a view works, and no looser one.
//
// Forms lead to all three surfaces, not to 'self' alone: Chromium holds the redirect that follows a form to form-action
// too, and signing in leads from the platform to Agents.
func (p *Pages) Policy(view View) string {
	if own, ok := view.(interface{ policy() string }); ok {
		return own.policy()
	}
	rules := []string{"default-src 'none'", "style-src 'self'", "img-src 'self' data:"}
	if s := view.sheet(); s.token || s.aid {
		rules = append(rules, "script-src 'self'")
	}
	rules = append(rules, "form-action "+strings.Join(p.formTargets(), " "), "frame-ancestors 'none'", "base-uri 'none'")
	return strings.Join(rules, "; ")
}

// formTargets are the origins that a form of a page may lead to.
func (p *Pages) formTargets() []string {
	all := []string{"'self'", p.config.Platform, p.config.Agents, p.config.Admin}
	return slices.DeleteFunc(all, func(target string) bool { return target == "" })
}
