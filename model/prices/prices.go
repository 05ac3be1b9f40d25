// Package prices says what tokens cost. Its list is what the providers published on Date; a price that is not on it is 0.
package prices

import (
	"cmp"
	"maps"
	"regexp"

	"svc.dev/svc/model"
)

// Price is in US dollars per million tokens. Input is what was neither read from a cache nor written to one.
type Price struct {
	Input, Output         float64
	CacheRead, CacheWrite float64 // zero: the cache changes nothing, the tokens cost what Input does

	// Above is the length of a prompt in tokens, cached ones counted, above which Long replaces this price for the whole
	// turn. Zero: no length does.
	Above int
	Long  *Price
}

// Table finds prices by provider/model.
type Table map[string]Price

// List is a copy of the published list, to be changed freely.
func List() Table { return maps.Clone(published) }

// Cost is what a turn costs by the published list.
func Cost(provider, name string, u model.Usage) model.Cost { return published.Cost(provider, name, u) }

// Cost is what a turn costs by this table. A model that is not in it costs 0.
func (t Table) Cost(provider, name string, u model.Usage) model.Cost {
	p := t.find(provider, name)
	if p.Long != nil && u.Input+u.CacheRead+u.CacheWrite > p.Above {
		p = *p.Long
	}
	c := model.Cost{
		Input:      dollars(u.Input, p.Input),
		Output:     dollars(u.Output, p.Output),
		CacheRead:  dollars(u.CacheRead, cmp.Or(p.CacheRead, p.Input)),
		CacheWrite: dollars(u.CacheWrite, cmp.Or(p.CacheWrite, p.Input)),
	}
	c.Total = c.Input + c.Output + c.CacheRead + c.CacheWrite
	return c
}

func dollars(tokens int, perMillion float64) float64 { return float64(tokens) * perMillion / 1e6 }

// version is what providers append to a model's name to mean one build of it.
var version = regexp.MustCompile(`-(\d{8}|\d{4}-\d{2}-\d{2}|latest)$`)

func (t Table) find(provider, name string) Price {
	if p, ok := t[provider+"/"+name]; ok {
		return p
	}
	return t[provider+"/"+version.ReplaceAllString(name, "")]
}
