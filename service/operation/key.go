package operation

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/apikey"
	pairing "svc.dev/svc/service/device"
	pages "svc.dev/svc/service/page"
	"svc.dev/svc/service/scope"
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

// devices are programs that ask for a key and have no page of their own, by RFC 8628: what they are told has its names, and its refusals
// are the one exception to the envelope. A person answers them at pages.DevicePath.
var devices = about("key", access.Platform,
	verb("/api/auth/device", access.Public, askForKey).admit(admitAsk).anywhere().secret().
		says("Ask for an API key as a program without a page (RFC 8628). Show `user_code` and `verification_uri` to a person, and look for the key every `interval` seconds.", fault.RateLimited),
	verb("/api/auth/device/token", access.Public, fetchKey).admit(admitFetch).anywhere().secret().
		answers(http.StatusOK, keyGiven{}).answers(http.StatusBadRequest, deviceRefusal{}).
		says("Look for the API key that was asked for. It is given once: a code that comes again ends the key, for either the answer was lost or two have the code.", fault.RateLimited),
)

type newDevice struct {
	Body struct {
		Client string `json:"client,omitzero" max:"64"` // what the program calls itself
	}
}

// deviceAsked is how a program goes on.
type deviceAsked struct {
	DeviceCode string `json:"device_code"` // it keeps this one to itself
	UserCode   string `json:"user_code"`   // and shows this one
	URI        string `json:"verification_uri"`
	URIWhole   string `json:"verification_uri_complete"` // with the code in it
	ExpiresIn  int64  `json:"expires_in"`                // seconds
	Interval   int64  `json:"interval"`                  // seconds
}

func admitAsk(ctx context.Context, c Call) error { return c.Devices.AdmitAsk(ctx) }

func askForKey(ctx context.Context, c Call, in newDevice) (deviceAsked, error) {
	asked, err := c.Devices.Ask(ctx, in.Body.Client)
	at := c.Address(access.Platform) + pages.DevicePath
	return deviceAsked{
		DeviceCode: asked.Code, UserCode: asked.UserCode, URI: at, URIWhole: at + "?user_code=" + url.QueryEscape(asked.UserCode),
		ExpiresIn: int64(pairing.Life / time.Second), Interval: int64(pairing.Pause / time.Second),
	}, err
}

// deviceGrant is what RFC 8628 calls a request for what was approved.
const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

type deviceFetch struct {
	Body struct {
		Grant string `json:"grant_type" enum:"urn:ietf:params:oauth:grant-type:device_code"`
		Code  string `json:"device_code"`
	}
}

// keyGiven is a key, and where it works.
type keyGiven struct {
	Key       string     `json:"key"`
	ID        string     `json:"id" id:"key"`
	Workspace string     `json:"workspace"` // as username/business
	BaseURL   string     `json:"baseUrl"`
	Scopes    []string   `json:"scopes"`
	ExpiresAt iso.Moment `json:"expiresAt"`
}

// deviceRefusal is why there is no key, as RFC 8628 has it.
type deviceRefusal struct {
	Error       string `json:"error" enum:"authorization_pending slow_down access_denied expired_token"`
	Description string `json:"error_description"`
}

// verdicts say to a person what programs are told.
var verdicts = map[pairing.Verdict]string{
	pairing.Pending:  "Nobody has answered yet.",
	pairing.SlowDown: "Ask less often: wait five seconds longer than before.",
	pairing.Denied:   "Somebody has denied it, or whoever approved it may not any more.",
	pairing.Expired:  "The code has expired, was used, or is none.",
}

func admitFetch(ctx context.Context, c Call) error { return c.Devices.AdmitFetch(ctx) }

func fetchKey(ctx context.Context, c Call, in deviceFetch) (outcome, error) {
	if in.Body.Grant != deviceGrant {
		return outcome{}, strictjson.Wrong("grant_type", strictjson.Invalid)
	}
	k, verdict, err := c.Devices.Fetch(ctx, in.Body.Code)
	switch {
	case err != nil:
		return outcome{}, err
	case verdict != "":
		return outcome{http.StatusBadRequest, deviceRefusal{string(verdict), verdicts[verdict]}}, nil
	}
	at, err := scope.Parse(k.Scope)
	address := at.Username + "/" + at.Business
	return outcome{http.StatusOK, keyGiven{k.Value, k.ID, address, c.Address(access.Agents) + "/v1/" + address, k.Scopes, k.ExpiresAt}}, err
}
