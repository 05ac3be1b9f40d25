package models

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"time"

	"svc.dev/svc/internal/outward"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/model"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/secret"
)

// Whose a key is.
const (
	OfWorkspace = "workspace"
	OfService   = "service"
	OfNobody    = "none"
)

// way is how a provider is reached for a scope.
type way struct {
	provider string
	url, key string
	owner    string // whose the key is
}

// Find is the provider of a model for one turn of a scope. A key that was put away a moment ago is not used. A *model.Error
// says what to set and where; any other error is the database's.
func (m *Models) Find(ctx context.Context, scope, name string) (model.Provider, error) {
	provider, _, err := model.Name(name)
	if err != nil {
		return nil, err
	}
	if provider == Scripted {
		return m.words, nil
	}
	if _, there := protocols[provider]; !there {
		return nil, &model.Error{Class: model.Rejected, Message: CheckName(name).Error()}
	}
	w, err := m.way(ctx, scope, provider)
	if err != nil {
		return nil, err
	}
	if err := m.passable(scope, w); err != nil {
		return nil, err
	}
	m.Asked(provider, w.keyOf())
	if w.keyOf() == OfWorkspace {
		m.tell(ctx, scope, provider)
	}
	return m.speaker(scope, w), nil
}

// way is a workspace's own, where it has set anything, else the service's. The service's key goes to no address that a workspace
// chose, and a key to no address but the one that it was set beside.
func (m *Models) way(ctx context.Context, scope, provider string) (way, error) {
	return sqldb.Snapshot(ctx, m.DB, func(tx *sqldb.Tx) (way, error) { return m.wayIn(tx, scope, provider, "") })
}

// wayIn is way as a transaction sees it, which sees one state.
func (m *Models) wayIn(tx *sqldb.Tx, scope, provider, suffix string) (way, error) {
	row, err := m.preference(tx, scope, provider, suffix)
	if err != nil {
		return way{}, err
	}
	key, err := m.Secrets.OpenIn(tx, owner(scope), KeyName(provider))
	if err != nil && !errors.Is(err, secret.ErrNotFound) {
		return way{}, err
	}
	defer clear(key)
	return m.choose(provider, row.url, string(key)), nil
}

func (m *Models) choose(provider string, own *string, key string) way {
	service, w := m.Service[provider], way{provider: provider, url: protocols[provider].url, owner: OfNobody}
	if service.URL != "" {
		w.url = service.URL
	}
	switch {
	case own != nil || key != "":
		w.key, w.owner = key, OfWorkspace
		if own != nil {
			w.url = *own
		}
	case service.Key.Reveal() != "":
		w.key, w.owner = service.Key.Reveal(), OfService
	case service.URL != "":
		w.owner = OfService
	}
	return w
}

// keyOf is whose key is used.
func (w way) keyOf() string {
	if w.key == "" {
		return OfNobody
	}
	return w.owner
}

// keyless reports whether a provider may be asked without a key: one of a known address wants one.
func (w way) keyless() bool { return w.provider == "openai" && w.url != protocols["openai"].url }

// passable refuses what would fail for certain, and says what a person can do about it.
func (m *Models) passable(scope string, w way) error {
	if w.key == "" && !w.keyless() {
		return &model.Error{Class: model.Unauthorized, Message: fmt.Sprintf("There is no key for %s: set %s.", w.provider, m.keyPlace(scope, OfWorkspace, w.provider))}
	}
	u, err := url.Parse(w.url)
	if err == nil {
		err = m.Guard.Check(u)
	}
	if err != nil {
		return forbidden(w.provider)
	}
	return nil
}

// keyPlace is what a key is set under, and where.
func (m *Models) keyPlace(scope, of, provider string) string {
	if of == OfService {
		return "model." + provider + ".key of the service, which its operator sets,"
	}
	name := KeyName(provider) + " under Settings › Models"
	if at := m.Settings(scope); at != "" {
		name += " (" + at + ")"
	}
	return name
}

func forbidden(provider string) *model.Error {
	return &model.Error{Class: model.Rejected, Message: "The address of " + provider +
		" lies on a private network, or is none: choose another under Settings › Models, or ask the operator to allow it by model.allow_private.", Cause: outward.ErrForbidden}
}

func (m *Models) speaker(scope string, w way) model.Provider {
	return guarded{w.provider, protocols[w.provider].speak(reach{
		url: w.url, key: w.key, keyName: m.keyPlace(scope, w.owner, w.provider), http: m.Guard.Client(), idle: m.Idle,
	})}
}

// guarded is a provider whose address may turn out to be a private one only when it is dialled: to try again would not help.
type guarded struct {
	name string
	model.Provider
}

// Turn answers one turn.
func (g guarded) Turn(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		for e, err := range g.Provider.Turn(ctx, r) {
			if errors.Is(err, outward.ErrForbidden) {
				err = forbidden(g.name)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// tell writes down that a workspace's key was used, once an hour of all nodes. What cannot be told does not stop the work that
// somebody was promised.
func (m *Models) tell(ctx context.Context, scope, provider string) {
	hour := m.Now().Unix() / int64(time.Hour/time.Second)
	if at, _ := m.told.Get(scope + " " + provider); at >= hour {
		return
	}
	err := m.DB.Write(sqldb.Regardless(ctx), func(tx *sqldb.Tx) error {
		if err := makeRow(tx, scope, provider); err != nil {
			return err
		}
		news, err := tx.Exec("UPDATE model_providers SET used_hour = $3 WHERE scope = $1 AND provider = $2 AND used_hour < $3", scope, provider, hour)
		if err != nil || news == 0 {
			return err
		}
		return m.Audit.Append(ctx, tx, audit.Event{
			Actor: audit.Actor{Kind: audit.System}, Action: "secret.used", Target: audit.Target{Kind: "secret", ID: KeyName(provider)}, Scope: scope,
		})
	})
	if err != nil {
		m.Log.Warn("the use of a model's key is not on record", "scope", scope, "provider", provider, "error", err)
		return
	}
	m.told.Add(scope+" "+provider, hour)
}
