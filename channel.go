package svc

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// Channel is a provider's way in: routes below /channels/<name> that turn what it sends into work.
type Channel struct {
	Name   string
	Routes []ChannelRoute
}

// ChannelRoute answers one method on one exact path below its channel. The handler gets the request as it came, its body
// unread, and must write a response.
type ChannelRoute struct {
	Method  string
	Path    string
	Handler http.Handler
}

var channelMethod = regexp.MustCompile(`^[A-Z]+$`)

func (c *Channel) validate() error {
	if err := validateName("channel", c.Name); err != nil {
		return err
	}
	if len(c.Routes) == 0 {
		return fmt.Errorf("channel %q has no routes", c.Name)
	}
	seen := map[string]bool{}
	for _, r := range c.Routes {
		if err := r.validate(); err != nil {
			return fmt.Errorf("channel %q: %w", c.Name, err)
		}
		key := r.Method + " " + r.Path
		if seen[key] {
			return fmt.Errorf("channel %q declares %s twice", c.Name, key)
		}
		seen[key] = true
	}
	return nil
}

func (r ChannelRoute) validate() error {
	if !channelMethod.MatchString(r.Method) {
		return fmt.Errorf("method %q is not in capitals", r.Method)
	}
	if len(r.Path) < 2 || r.Path[0] != '/' || r.Path[1] == '/' || strings.ContainsAny(r.Path, "?#") {
		return fmt.Errorf("path %q does not start with a single slash, or has a query", r.Path)
	}
	for segment := range strings.SplitSeq(r.Path[1:], "/") {
		if segment == "." || segment == ".." {
			return fmt.Errorf("path %q has a dot segment", r.Path)
		}
	}
	if r.Handler == nil {
		return fmt.Errorf("%s %s has no handler", r.Method, r.Path)
	}
	return nil
}

// validateName refuses names that could not stand in a path.
func validateName(what, name string) error {
	if strings.TrimSpace(name) == "" || strings.ContainsAny(name, "/:") {
		return fmt.Errorf("%s name %q is blank or holds a slash or colon", what, name)
	}
	return nil
}
