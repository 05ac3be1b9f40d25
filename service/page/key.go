package page

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Keys is the page at KeysPath. It has a form for name, scopes, expiresAt and workspace, and for each key one at
// RotateKeyPath and one at RevokeKeyPath.
type Keys struct {
	Desk
	Workspace Workspace
	// Others are the workspaces whose keys this person keeps too.
	Others []Workspace
	Items  []Key
	// Name, Scopes and ExpiresAt are what was typed and chosen.
	Name      string
	Scopes    []string
	ExpiresAt string
}

// Key is an API key as it may be shown at any time.
type Key struct {
	ID, Name, Prefix, Last4          string
	Scopes                           []string
	CreatedAt, ExpiresAt, LastUsedAt time.Time // zero ExpiresAt: never; zero LastUsedAt: not yet
	Staff                            bool      // made by the people who run the service
	Device                           string    // the username of whoever approved it for a device; empty: it is for no device
	Over                             string    // why it does not work, however long it is to live; empty: nothing is against it
}

// Masked is the key with its secret left out.
func (k Key) Masked() string { return "svck_" + k.Prefix + "_…" + k.Last4 }

// Reach is what the key may do.
func (k Key) Reach() string { return strings.Join(k.Scopes, ", ") }

func (k Keys) sheet() sheet {
	return sheet{name: "keys", title: "API keys", shell: desk, here: KeysPath, fields: k.unlessStale("name", "scopes", "expiresAt")}
}

// scopeChoice is one of the things that a key may do.
type scopeChoice struct {
	Name, About string
	Chosen      bool
}

// scopes are those of the contract, in its order.
var scopes = []scopeChoice{
	{Name: "agents:read", About: "Read agents and conversations"},
	{Name: "agents:write", About: "Prompt agents and stop them"},
	{Name: "workflows:run", About: "Start workflows"},
	{Name: "runs:read", About: "Read runs and their events"},
	{Name: "connectors:read", About: "See connectors and their health"},
	{Name: "projects:read", About: "Read project files"},
	{Name: "projects:write", About: "Write project files"},
	{Name: "usage:read", About: "Read usage and storage"},
}

// Choices are the scopes with those marked that were chosen.
func (k Keys) Choices() []scopeChoice {
	var all []string
	for _, s := range scopes {
		all = append(all, s.Name)
	}
	return choices(all, k.Scopes)
}

// choices are the scopes of these names, with those marked that were chosen.
func choices(names, chosen []string) (all []scopeChoice) {
	for _, s := range scopes {
		if s.Chosen = slices.Contains(chosen, s.Name); slices.Contains(names, s.Name) {
			all = append(all, s)
		}
	}
	return all
}

// term is a length of life that a key may be given.
type term struct {
	Value, Text string
	Chosen      bool
}

// lives are the lengths of life that a key is offered, in days.
var lives = []int{7, 30, 90, 180, 365}

// terms are the lengths of life, each with the time at which the key would end, as the JSON route wants it. Marked is the one that
// was chosen before: time has passed since, so the nearest one is it.
func (p *Pages) terms(chosen string) []term {
	end := func(days int) time.Time { return p.config.Now().UTC().AddDate(0, 0, days) }
	marked := 90
	if at, err := time.Parse(time.RFC3339, chosen); err == nil {
		marked = slices.MinFunc(lives, func(a, b int) int { return cmp.Compare(end(a).Sub(at).Abs(), end(b).Sub(at).Abs()) })
	}
	terms := make([]term, len(lives))
	for i, days := range lives {
		terms[i] = term{Value: machine(end(days)), Text: p.until(days), Chosen: days == marked}
	}
	return terms
}

// KeyShown is the answer to a new key, the only page that ever shows one.
type KeyShown struct {
	Desk
	Name, Key string
	ExpiresAt time.Time
	// Workspace is the address of the workspace, Scopes what the key may do there, and Agents the surface where it works, for
	// the example.
	Workspace string
	Scopes    []string
	Agents    string
	// OldEndsAt is when the key that this one replaces stops working. Zero: it replaces none.
	OldEndsAt time.Time
}

// Example is a request that this key may make, as the end of a command line; empty where there is none that needs no names.
func (k KeyShown) Example() string {
	base, space := k.Agents+"/v1/"+k.Workspace, k.Agents+"/api/workspaces/"+k.Workspace
	for _, try := range []struct{ scope, request string }{
		{"runs:read", base + "/runs"},
		{"agents:read", space + "/agents"},
		{"projects:read", space + "/projects"},
		{"agents:write", base + `/agents/central/hello -H "Content-Type: application/json" -d '{"kind":"user","body":"Hello"}'`},
	} {
		if slices.Contains(k.Scopes, try.scope) {
			return try.request
		}
	}
	return ""
}

func (KeyShown) sheet() sheet {
	return sheet{name: "key_shown", title: "Your new key", shell: desk, aid: true, here: KeysPath}
}
