package gateway

import (
	"net/http"
	"strconv"
	"strings"

	"svc.dev/svc/fault"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/account"
)

// accountRecord is a person's own account, with what an editor needs.
type accountRecord struct {
	account.Profile
	Version   int64    `json:"version"`
	CreatedAt iso.Time `json:"createdAt"`
}

func (x *exchange) writeAccount(p account.Account) error {
	x.out.Header().Set("ETag", etag(p.Version))
	return x.json(http.StatusOK, accountRecord{p.Profile(), p.Version, iso.Time(p.CreatedAt)})
}

func (x *exchange) getAccount() error { return x.writeAccount(x.who.Account) }

func (x *exchange) patchAccount() error {
	var body struct {
		DisplayName string `json:"displayName,omitzero"`
	}
	body.DisplayName = x.who.Account.DisplayName
	version, err := x.ifMatch()
	if err != nil {
		return err
	}
	if err := x.decode(&body); err != nil {
		return err
	}
	p, err := x.g.Accounts.Rename(x.ctx(), *x.who, body.DisplayName, version)
	if err != nil {
		return err
	}
	return x.writeAccount(p)
}

func etag(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

// ifMatch is the version that the client means; zero is any.
func (x *exchange) ifMatch() (int64, error) {
	given := x.r.Header.Values("If-Match")
	if len(given) == 0 || len(given) == 1 && given[0] == "*" {
		return 0, nil
	}
	if len(given) == 1 {
		n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimPrefix(given[0], `"`), `"`), 10, 64)
		if err == nil && n > 0 && etag(n) == given[0] {
			return n, nil
		}
	}
	return 0, fault.New(invalidHeader, "If-Match is not a version.", `Send it as "<version>".`)
}

func (x *exchange) deleteAccount() error {
	eraseAt, err := x.g.Accounts.Delete(x.ctx(), *x.who, x.r.URL.Query().Get("confirm"))
	if err != nil {
		return err
	}
	x.clearSession()
	return x.json(http.StatusAccepted, map[string]any{"status": "deleting", "eraseAt": iso.Time(eraseAt)})
}

func (x *exchange) changeEmail() error {
	var body struct {
		Email string `json:"email"`
	}
	if err := x.decode(&body); err != nil {
		return err
	}
	if err := x.g.Accounts.ChangeEmail(x.ctx(), *x.who, body.Email); err != nil {
		return err
	}
	return x.json(http.StatusAccepted, map[string]string{"status": "verification_sent"})
}

// list is how answers list things.
type list[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"nextCursor,omitempty"`
}

// identityView is a way in that another service vouches for.
type identityView struct {
	ID       string   `json:"id"`
	Provider string   `json:"provider"`
	Issuer   string   `json:"issuer"`
	Login    string   `json:"login"`
	Status   string   `json:"status"`
	LinkedAt iso.Time `json:"linkedAt"`
}

func (x *exchange) listIdentities() error {
	all, err := x.g.Accounts.Identities(x.ctx(), *x.who)
	if err != nil {
		return err
	}
	return x.json(http.StatusOK, viewIdentities(all))
}

func viewIdentities(all []account.Identity) list[identityView] {
	items := make([]identityView, 0, len(all))
	for _, i := range all {
		items = append(items, identityView{i.ID, i.Provider, i.Issuer, i.Login, i.Status, iso.Time(i.LinkedAt)})
	}
	return list[identityView]{Items: items}
}

func (x *exchange) unlink() error {
	if err := x.g.Accounts.Unlink(x.ctx(), *x.who, x.params["id"]); err != nil {
		return err
	}
	return x.none()
}

// deviceView is one place where a person is signed in.
type deviceView struct {
	ID         string   `json:"id"`
	CreatedAt  iso.Time `json:"createdAt"`
	LastSeenAt iso.Time `json:"lastSeenAt"`
	IP         string   `json:"ip"`
	UserAgent  string   `json:"userAgent"`
	Surface    string   `json:"surface"`
	Current    bool     `json:"current"`
}

func (x *exchange) listSessions() error {
	all, err := x.g.Accounts.Sessions(x.ctx(), *x.who)
	if err != nil {
		return err
	}
	items := make([]deviceView, 0, len(all))
	for _, s := range all {
		items = append(items, deviceView{s.ID, iso.Time(s.CreatedAt), iso.Time(s.LastSeenAt), s.IP, s.UserAgent, s.Surface, s.ID == x.who.Session.ID})
	}
	return x.json(http.StatusOK, list[deviceView]{Items: items})
}

func (x *exchange) endSession() error {
	if err := x.g.Accounts.EndSession(x.ctx(), *x.who, x.params["id"]); err != nil {
		return err
	}
	if x.params["id"] == x.who.Session.ID {
		x.clearSession()
	}
	return x.none()
}

func (x *exchange) endOthers() error {
	n, err := x.g.Accounts.EndOthers(x.ctx(), *x.who)
	if err != nil {
		return err
	}
	return x.json(http.StatusOK, map[string]int64{"revoked": n})
}
