package gateway

import (
	"time"

	"svc.dev/svc/fault"
)

// Bounds of what is fetched at one time, of one workspace and in this process: each is a program of its own.
const (
	fetchesOfOne  = 4
	fetchesAtOnce = 16
)

// fetch counts somebody who is about to ask a provider.
func (g *Gateway) fetch(scope string) (release func(), err error) {
	own, err := g.fetches.Take(scope)
	if err == nil {
		var all func()
		if all, err = g.fetching.Take(""); err == nil {
			return func() { all(); own() }, nil
		}
		own()
	}
	return nil, fault.New(fault.Busy, "Too many providers are being asked at this moment.", "Try again shortly.").After(time.Second)
}
