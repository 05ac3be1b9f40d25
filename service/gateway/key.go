package gateway

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"svc.dev/svc/iso"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/strictjson"
)

// keyView is an API key without its value.
type keyView struct {
	ID         string    `json:"id"`
	Name       string    `json:"name"`
	Prefix     string    `json:"prefix"`
	Last4      string    `json:"last4"`
	Scopes     []string  `json:"scopes"`
	CreatedAt  iso.Time  `json:"createdAt"`
	ExpiresAt  *iso.Time `json:"expiresAt"`
	LastUsedAt *iso.Time `json:"lastUsedAt"`
	LastUsedIP *string   `json:"lastUsedIp"`
	RevokedAt  *iso.Time `json:"revokedAt"`
	Creator    string    `json:"creator"`
	Workspace  string    `json:"workspace"`
	// RotatedFrom is the key that this one replaced, or null.
	RotatedFrom *string `json:"rotatedFrom"`
	// Staff says that it was made by the authority of the service.
	Staff bool `json:"staff"`
}

func viewKey(k account.Key) keyView {
	v := keyView{
		ID: k.ID, Name: k.Name, Prefix: k.Prefix, Last4: k.Last4, Scopes: k.Scopes, CreatedAt: iso.Time(k.CreatedAt), Creator: k.Creator, Workspace: k.Workspace,
		ExpiresAt: iso.Optional(k.ExpiresAt), LastUsedAt: iso.Optional(k.LastUsedAt), RevokedAt: iso.Optional(k.RevokedAt),
		Staff: k.Staff,
	}
	if k.LastUsedIP != "" {
		v.LastUsedIP = &k.LastUsedIP
	}
	if k.RotatedFrom != "" {
		v.RotatedFrom = &k.RotatedFrom
	}
	return v
}

// bearer is the credential of an Authorization header, and empty for every other scheme and spelling.
func bearer(header string) string {
	scheme, value, found := strings.Cut(header, " ")
	if !found || !strings.EqualFold(scheme, "bearer") || strings.ContainsAny(value, " \t") {
		return ""
	}
	return value
}

func (x *exchange) listKeys() error {
	asked, err := x.asks()
	if err != nil {
		return err
	}
	all, err := x.g.Accounts.Keys(x.ctx(), account.KeyQuery{Workspace: x.v.Member.ID, Query: asked.query()})
	if err != nil {
		return err
	}
	answer := list[keyView]{Items: make([]keyView, 0, len(all.Items)), Next: all.Next}
	for _, k := range all.Items {
		answer.Items = append(answer.Items, viewKey(k))
	}
	return x.list(answer)
}

// newKey is the body that asks for a key. An expiry of null is for ever, which its owner must confirm.
type newKey struct {
	Name      string          `json:"name"`
	Scopes    []string        `json:"scopes"`
	ExpiresAt json.RawMessage `json:"expiresAt,omitzero"`
	Confirm   bool            `json:"confirm,omitzero"`
}

func (n newKey) value() (account.NewKey, error) {
	k := account.NewKey{Name: n.Name, Scopes: n.Scopes}
	switch {
	case n.ExpiresAt == nil:
	case string(n.ExpiresAt) == "null" && n.Confirm:
		k.Forever = true
	case string(n.ExpiresAt) == "null":
		return k, refusedField("confirm")
	default:
		k.ExpiresAt = new(time.Time)
		if err := json.Unmarshal(n.ExpiresAt, k.ExpiresAt); err != nil {
			return k, refusedField("expiresAt")
		}
	}
	return k, nil
}

func refusedField(name string) error {
	return strictjson.Refuse(strictjson.Field{Field: name, Type: strictjson.Invalid})
}

func (x *exchange) createKey() error {
	var body newKey
	if err := x.decode(&body); err != nil {
		return err
	}
	wanted, err := body.value()
	if err != nil {
		return err
	}
	wanted.Staff = x.surface == Admin
	k, value, err := x.g.Accounts.CreateKey(x.ctx(), *x.who, x.v.Member, wanted)
	if err != nil {
		return err
	}
	return x.writeKey(k, value)
}

// writeKey shows a key for the only time.
func (x *exchange) writeKey(k account.Key, value string) error {
	x.out.Header().Set("Location", "/api/workspaces/"+strings.TrimPrefix(x.address(), "users/")+"/keys/"+k.ID)
	return x.json(http.StatusCreated, struct {
		keyView
		Key string `json:"key"`
	}{viewKey(k), value})
}

func (x *exchange) rotateKey() error {
	var body struct {
		Grace int64 `json:"graceSeconds,omitzero"`
	}
	if err := x.decode(&body); err != nil {
		return err
	}
	if body.Grace < 0 || body.Grace > int64((24*time.Hour).Seconds()) {
		return refusedField("graceSeconds")
	}
	k, value, err := x.g.Accounts.RotateKey(x.ctx(), *x.who, x.v.Member, x.params["key"], time.Duration(body.Grace)*time.Second, x.surface == Admin)
	if err != nil {
		return err
	}
	return x.writeKey(k, value)
}

func (x *exchange) revokeKey() error {
	if err := x.g.Accounts.RevokeKey(x.ctx(), *x.who, x.v.Member, x.params["key"]); err != nil {
		return err
	}
	return x.none()
}

// revokeFound ends a key that somebody found. Possession is authority, and the answer tells nothing.
func (x *exchange) revokeFound() error {
	var body struct {
		Key string `json:"key"`
	}
	if err := x.decode(&body, x.g.Accounts.AdmitRevoke); err != nil {
		return err
	}
	if err := x.g.Accounts.RevokeFound(x.ctx(), body.Key); err != nil {
		return err
	}
	return x.json(http.StatusAccepted, map[string]string{"status": "accepted"})
}
