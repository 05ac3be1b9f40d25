package models

import (
	"context"
	"errors"
	"strings"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/secret"
)

// ModelOverview is what a workspace may ask, and what it asks unless it is told otherwise.
type ModelOverview struct {
	ModelDefault
	Items []ModelProvider `json:"items"`
	Next  string          `json:"nextCursor,omitempty"` // of a page; empty: these are all
}

// ModelProvider is one that a workspace may ask, without its key.
type ModelProvider struct {
	Provider  string      `json:"provider"`
	Models    []string    `json:"models"` // whose prices are known; others may be asked too
	URL       string      `json:"url"`    // where it is reached; empty: inside
	Key       Key         `json:"key"`
	Version   int64       `json:"version"`
	UpdatedAt iso.Moment  `json:"updatedAt" null:"never"`
	Default   string      `json:"default"` // the model of agents that name none, where it is one of the provider's; else empty
	LastCheck *ModelCheck `json:"lastCheck" null:"never"`
}

// Key is what may be known of a key.
type Key struct {
	Present   bool       `json:"present"`
	Owner     string     `json:"owner" enum:"workspace service none"`
	UpdatedAt iso.Moment `json:"updatedAt" null:"not the workspace's"`
	UpdatedBy string     `json:"updatedBy"`
}

// ModelCheck is what one real call came to.
type ModelCheck struct {
	Result    string     `json:"result" enum:"ok key_refused unreachable model_unknown address_forbidden"`
	Message   string     `json:"message"`
	LatencyMs int64      `json:"latencyMs"`
	CheckedAt iso.Moment `json:"checkedAt"`
}

// preference is what a workspace has set of a provider, and what became of it.
type preference struct {
	url       *string
	version   int64
	updatedAt time.Time
	updatedBy string
	check     ModelCheck
	answered  string // the model that did, in the last check that succeeded at this address; empty: none
}

const columns = "url, version, updated_at, updated_by, checked_at, result, message, latency_ms, answered"

func scanPreference(from sqldb.Row) (r preference, err error) {
	err = from.Scan(&r.url, &r.version, sqldb.Time(&r.updatedAt), &r.updatedBy, sqldb.Time(&r.check.CheckedAt.Time), &r.check.Result, &r.check.Message, &r.check.LatencyMs, &r.answered)
	return r, err
}

// preference is that of a provider, and nothing where there is none.
func (m *Models) preference(tx *sqldb.Tx, scope, provider, suffix string) (preference, error) {
	r, found, err := sqldb.First(tx, "read model provider", scanPreference, "SELECT "+columns+" FROM model_providers WHERE scope = $1 AND provider = $2"+suffix, scope, provider)
	if !found {
		r.version = 1
	}
	return r, err
}

// makeRow makes one that says nothing, unless there is one.
func makeRow(tx *sqldb.Tx, scope, provider string) error {
	return tx.Do("make model provider", "INSERT INTO model_providers (scope, provider) VALUES ($1, $2) ON CONFLICT (scope, provider) DO NOTHING", scope, provider)
}

// List is all that a workspace may ask, by name.
func (m *Models) List(ctx context.Context, scope string) (ModelOverview, error) {
	return sqldb.Snapshot(ctx, m.DB, func(tx *sqldb.Tx) (all ModelOverview, err error) {
		if all.ModelDefault, err = m.defaultOf(tx, scope, ""); err != nil {
			return all, err
		}
		for _, name := range Providers() {
			p, err := m.provider(tx, scope, name, all.ModelDefault)
			if err != nil {
				return all, err
			}
			all.Items = append(all.Items, p)
		}
		return all, nil
	})
}

// Get is one provider.
func (m *Models) Get(ctx context.Context, scope, name string) (ModelProvider, error) {
	if name != Scripted {
		if err := exists(name); err != nil {
			return ModelProvider{}, err
		}
	}
	return sqldb.Snapshot(ctx, m.DB, func(tx *sqldb.Tx) (ModelProvider, error) { return m.one(tx, scope, name) })
}

// exists refuses a provider of which nothing can be set.
func exists(provider string) error {
	if _, there := protocols[provider]; !there {
		return fault.New(fault.ItemNotFound, "There is no such model provider.", "")
	}
	return nil
}

// one is a provider as a workspace sees it.
func (m *Models) one(tx *sqldb.Tx, scope, name string) (ModelProvider, error) {
	d, err := m.defaultOf(tx, scope, "")
	if err != nil {
		return ModelProvider{}, err
	}
	return m.provider(tx, scope, name, d)
}

func (m *Models) provider(tx *sqldb.Tx, scope, name string, d ModelDefault) (p ModelProvider, err error) {
	if p, err = m.reached(tx, scope, name); strings.HasPrefix(d.Model, name+"/") {
		p.Default = d.Model
	}
	return p, err
}

// reached is how a provider is, whatever the default.
func (m *Models) reached(tx *sqldb.Tx, scope, name string) (ModelProvider, error) {
	if name == Scripted {
		return ModelProvider{Provider: Scripted, Models: []string{"words"}, Key: Key{Owner: OfNobody}, Version: 1}, nil
	}
	r, err := m.preference(tx, scope, name, "")
	if err != nil {
		return ModelProvider{}, err
	}
	e, err := m.Secrets.FindIn(tx, owner(scope), KeyName(name))
	if err != nil && !errors.Is(err, secret.ErrNotFound) {
		return ModelProvider{}, err
	}
	return m.shown(name, r, e), nil
}

// shown is a provider as a workspace sees it.
func (m *Models) shown(name string, r preference, e secret.Entry) ModelProvider {
	stands := ""
	if e.Version > 0 {
		stands = "a key" // that there is one decides, not which
	}
	w := m.choose(name, r.url, stands)
	p := ModelProvider{
		Provider: name, Models: known(name), URL: w.url, Version: r.version, UpdatedAt: iso.At(r.updatedAt),
		Key: Key{Present: w.key != "", Owner: w.keyOf(), UpdatedAt: e.UpdatedAt, UpdatedBy: e.UpdatedBy},
	}
	if w.owner == OfService {
		p.URL = protocols[name].url // where the operator's own servers are is nobody else's business
	}
	if r.url != nil && name == "openai" {
		p.Models = []string{} // those of another server are not known
	}
	if r.check.Result != "" {
		p.LastCheck = &r.check
	}
	return p
}
