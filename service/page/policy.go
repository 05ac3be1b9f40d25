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
	targets := []string{"'self'", p.config.Platform, p.config.Agents, p.config.Admin}
	targets = slices.DeleteFunc(targets, func(target string) bool { return target == "" })
	return strings.Join(append(rules, "form-action "+strings.Join(targets, " "), "frame-ancestors 'none'", "base-uri 'none'"), "; ")
}
