package models

import (
	"context"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
)

// builtIn is the model that needs nobody.
const builtIn = Scripted + "/words"

// ModelDefault is the model of agents that name none.
type ModelDefault struct {
	Model     string     `json:"default"`
	Source    string     `json:"source" enum:"workspace key service"`
	Message   string     `json:"message"` // why the scripted model answers; empty: it does not, or was chosen
	Version   int64      `json:"version"`
	UpdatedAt iso.Moment `json:"updatedAt" null:"never"`
	UpdatedBy string     `json:"updatedBy"`
}

// DefaultOf is the model of a scope's agents that name none.
func (m *Models) DefaultOf(ctx context.Context, scope string) (string, error) {
	d, err := m.chosen(ctx, scope)
	return d.Model, err
}

func (m *Models) chosen(ctx context.Context, scope string) (ModelDefault, error) {
	return sqldb.Read(ctx, m.DB, func(tx *sqldb.Tx) (ModelDefault, error) { return m.defaultOf(tx, scope, "") })
}

func scanDefault(from sqldb.Row) (d ModelDefault, err error) {
	d.Source = OfWorkspace
	err = from.Scan(&d.Model, &d.Version, sqldb.Time(&d.UpdatedAt.Time), &d.UpdatedBy)
	return d, err
}

// defaultOf is what a workspace chose, else what its keys give in the place of the scripted model, else the service's.
func (m *Models) defaultOf(tx *sqldb.Tx, scope, suffix string) (ModelDefault, error) {
	d, found, err := sqldb.First(tx, "read default model", scanDefault, "SELECT model, version, updated_at, updated_by FROM model_defaults WHERE scope = $1"+suffix, scope)
	if d.Version = max(d.Version, 1); err != nil || found && d.Model != "" {
		return d, err
	}
	if d.Model, d.Source = m.Default, OfService; d.Model != builtIn {
		return d, nil
	}
	successor, message, err := m.successor(tx, scope)
	if successor != "" {
		d.Model, d.Source = successor, OfKey
	}
	d.Message = message
	return d, err
}

// successor is the model that answers instead of the scripted one: of the provider whose key was stored first, or of a server of
// the workspace's own that wants none. What such a server calls its models is known when it was tested; until then the message says so.
func (m *Models) successor(tx *sqldb.Tx, scope string) (name, message string, err error) {
	keys, err := m.Secrets.FindSome(tx, owner(scope), keyNames()...)
	if err != nil {
		return "", "", err
	}
	own, err := m.preference(tx, scope, "openai", "")
	if err != nil {
		return "", "", err
	}
	message = "The scripted model answers until the key of a provider is stored."
	for _, key := range keys {
		provider := keyOf(key.Name)
		switch {
		case provider != "openai" || !m.choose(provider, own.url, key.Name).keyless():
			return provider + "/" + protocols[provider].usual, "", nil
		case own.answered != "":
			return provider + "/" + own.answered, "", nil
		}
	}
	switch {
	case own.url != nil && own.answered != "":
		return "openai/" + own.answered, "", nil
	case own.url != nil || len(keys) > 0:
		message = "The scripted model answers until a test of openai finds a model, or another default is chosen."
	}
	return "", message, nil
}
