package gateway

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/strictjson"
	"svc.dev/svc/service/workspace"
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

// inWorkspace is the place of who acts in the workspace of the path by a session. No key may do what these routes do, so a
// good key is told so, and a bad one is refused as everywhere.
func (x *exchange) inWorkspace(need workspace.Right) (m workspace.Membership, err error) {
	by, err := x.caller()
	if err != nil {
		return m, err
	}
	if x.address() == scope.Admin {
		return workspace.Membership{Workspace: workspace.Workspace{ID: scope.Admin, Scope: scope.Admin}}, x.permit(by, need)
	}
	return x.g.Workspaces.Authorize(x.ctx(), by, x.address(), need)
}

// membership is a person's place in a workspace where they have at least that role. A stranger and a workspace that is not
// there get one answer.
func (x *exchange) membership(who account.Who, username, business, least string) (workspace.Membership, error) {
	m, found, err := x.g.Accounts.Membership(x.ctx(), who.Account.ID, scope.Of(username, business).String())
	if err != nil {
		return m, err
	}
	if !found {
		return m, fault.New(workspaceNotFound, "There is no such workspace.", "")
	}
	if m.Role != workspace.Owner && m.Role != least {
		return m, fault.New(forbidden, "Your role does not allow this.", "").With("role", least)
	}
	return m, nil
}

// refuseKey judges an Authorization header, if there is one.
func (x *exchange) refuseKey() error {
	if len(x.r.Header.Values("Authorization")) == 0 {
		return nil
	}
	if _, err := x.bearer(); err != nil {
		return err
	}
	return fault.New(forbidden, "No API key may do this.", "Sign in instead.").With("role", workspace.Admin)
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
	m, err := x.inWorkspace(workspace.Review)
	if err != nil {
		return err
	}
	asked, err := x.asks()
	if err != nil {
		return err
	}
	all, more, err := x.g.Accounts.Keys(x.ctx(), account.KeyQuery{Workspace: m.ID, Q: asked.q, Before: asked.cursor, Limit: asked.limit})
	if err != nil {
		return err
	}
	answer := list[keyView]{Items: make([]keyView, 0, len(all))}
	for _, k := range all {
		answer.Items = append(answer.Items, viewKey(k))
	}
	if more {
		answer.Next = all[len(all)-1].ID
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
	m, err := x.inWorkspace(workspace.Manage)
	if err != nil {
		return err
	}
	if err := x.fresh(); err != nil {
		return err
	}
	var body newKey
	if err := x.decode(&body); err != nil {
		return err
	}
	wanted, err := body.value()
	if err != nil {
		return err
	}
	wanted.Staff = x.surface == Admin
	k, value, err := x.g.Accounts.CreateKey(x.ctx(), *x.who, m, wanted)
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
	m, err := x.inWorkspace(workspace.Manage)
	if err != nil {
		return err
	}
	var body struct {
		Grace int64 `json:"graceSeconds,omitzero"`
	}
	if err := x.decode(&body); err != nil {
		return err
	}
	if body.Grace < 0 || body.Grace > int64((24*time.Hour).Seconds()) {
		return refusedField("graceSeconds")
	}
	k, value, err := x.g.Accounts.RotateKey(x.ctx(), *x.who, m, x.params["key"], time.Duration(body.Grace)*time.Second, x.surface == Admin)
	if err != nil {
		return err
	}
	return x.writeKey(k, value)
}

func (x *exchange) revokeKey() error {
	m, err := x.inWorkspace(workspace.Manage)
	if err != nil {
		return err
	}
	if err := x.g.Accounts.RevokeKey(x.ctx(), *x.who, m, x.params["key"]); err != nil {
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
