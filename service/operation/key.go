package operation

import (
	"context"
	"encoding/json"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/apikey"
	"svc.dev/svc/service/strictjson"
	"svc.dev/svc/service/workspace"
)

// keys are the API keys of a workspace. One that staff make says so, and lives a week at most.
var keys = everywhere("key",
	list(W+"/keys", access.May(workspace.Review), listKeys).says("List the API keys of a workspace."),
	create(W+"/keys", access.May(workspace.Manage).Fresh(), createKey).secret().says("Make an API key."),
	row("POST", W+"/keys/{key}/rotate", replaces, access.May(workspace.Manage).Fresh(), rotateKey).secret().says("Put another API key in the place of one.", fault.ItemNotFound),
	drop(W+"/keys/{key}", access.May(workspace.Manage), revokeKey).says("End an API key.", fault.ItemNotFound),
)

func listKeys(ctx context.Context, c Call, in page) (listing.Page[apikey.Key], error) {
	return c.Keys.List(ctx, apikey.Query{Workspace: c.Member.ID, Query: in.Query})
}

// NewKey is what a key is made of. An expiry of null is for ever, which its owner must confirm.
type NewKey struct {
	Name      string          `json:"name" min:"1" max:"64"`
	Scopes    []string        `json:"scopes" enum:"agents:read agents:write workflows:run runs:read connectors:read projects:read projects:write usage:read"`
	ExpiresAt json.RawMessage `json:"expiresAt,omitzero" type:"string" format:"date-time" null:"never, for owners who confirm it"`
	Confirm   bool            `json:"confirm,omitzero"`
}

// Value is the key that is asked for.
func (n NewKey) Value() (apikey.Draft, error) {
	k := apikey.Draft{Name: n.Name, Scopes: n.Scopes}
	switch {
	case n.ExpiresAt == nil:
	case string(n.ExpiresAt) == "null" && n.Confirm:
		k.Forever = true
	case string(n.ExpiresAt) == "null":
		return k, strictjson.Wrong("confirm", strictjson.Invalid)
	default:
		k.ExpiresAt = new(time.Time)
		if err := json.Unmarshal(n.ExpiresAt, k.ExpiresAt); err != nil {
			return k, strictjson.Wrong("expiresAt", strictjson.Invalid)
		}
	}
	return k, nil
}

// KeyMade is a key with its value, which is shown once.
type KeyMade struct {
	apikey.Key
	Value string `json:"key"`
}

type newKey struct{ Body NewKey }

func createKey(ctx context.Context, c Call, in newKey) (made KeyMade, err error) {
	wanted, err := in.Body.Value()
	if err != nil {
		return made, err
	}
	wanted.Staff = c.isStaff()
	made.Key, made.Value, err = c.Keys.Create(ctx, c.Who, c.Member, wanted)
	return made, err
}

type keyRotation struct {
	ID   string `path:"key"`
	Body struct {
		Grace int64 `json:"graceSeconds,omitzero"` // how long the old one lives on
	}
}

func rotateKey(ctx context.Context, c Call, in keyRotation) (made KeyMade, err error) {
	const longest = int64(24 * time.Hour / time.Second) // more would not be a time.Duration
	grace := time.Duration(min(in.Body.Grace, longest+1)) * time.Second
	made.Key, made.Value, err = c.Keys.Rotate(ctx, c.Who, c.Member, in.ID, grace, c.isStaff())
	return made, err
}

type key struct {
	ID string `path:"key"`
}

func revokeKey(ctx context.Context, c Call, in key) error {
	return c.Keys.Revoke(ctx, c.Who, c.Member, in.ID)
}

// found are keys that somebody has found.
var found = about("key", access.Platform,
	start("/api/keys/revoke", access.Public, revokeFoundKey).on(EverySurface...).admit(admitRevoke).anywhere().
		says("End an API key that was found. Whoever holds it may end it; the answer does not tell whether it was one.", fault.RateLimited),
)

type foundKey struct {
	Body struct {
		Key string `json:"key"`
	}
}

// accepted is all that is said of what comes.
type accepted struct {
	Status string `json:"status" enum:"accepted"`
}

func admitRevoke(ctx context.Context, c Call) error { return c.Keys.AdmitRevoke(ctx) }

// revokeFoundKey ends a key. Possession is authority, and the answer tells nothing.
func revokeFoundKey(ctx context.Context, c Call, in foundKey) (accepted, error) {
	return accepted{"accepted"}, c.Keys.RevokeFound(ctx, in.Body.Key)
}
