package gateway

import (
	"net/http"
	"strings"

	"svc.dev/svc/fault"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/secret"
)

// maxSecretBody holds a value of 48 KiB in JSON, every character of it escaped.
const maxSecretBody = 6*secret.MaxBytes + 1<<10

// secretView is a secret without its value.
type secretView struct {
	Name       string    `json:"name"`
	Version    int64     `json:"version"`
	Bytes      int       `json:"bytes"`
	UpdatedAt  iso.Time  `json:"updatedAt"`
	UpdatedBy  string    `json:"updatedBy"`
	LastUsedAt *iso.Time `json:"lastUsedAt"`
}

func viewSecret(e secret.Entry) secretView {
	return secretView{e.Name, e.Version, e.Bytes, iso.Time(e.UpdatedAt), e.UpdatedBy, iso.Optional(e.LastUsedAt)}
}

func (x *exchange) listSecrets() error {
	asked, err := x.asks()
	if err != nil {
		return err
	}
	all, err := x.g.Vault.List(x.ctx(), x.address())
	if err != nil {
		return err
	}
	items := make([]secretView, 0, len(all))
	for _, e := range all {
		if strings.Contains(e.Name, strings.ToUpper(asked.q)) { // names have no lower case
			items = append(items, viewSecret(e))
		}
	}
	return x.list(list[secretView]{Items: items})
}

func (x *exchange) getSecret() error {
	e, err := x.g.Vault.Find(x.ctx(), x.address(), x.params["secret"])
	if err != nil {
		return err
	}
	x.out.Header().Set("ETag", etag(e.Version))
	return x.json(http.StatusOK, viewSecret(e))
}

// version is the version that the client means, if it means one.
func (x *exchange) version() (*int64, error) {
	n, err := x.ifMatch()
	if err != nil || n == 0 {
		return nil, err
	}
	return &n, nil
}

// putSecret keeps a value. Taking the place of another needs a fresh proof of identity.
func (x *exchange) putSecret() error {
	version, err := x.version()
	if err != nil {
		return err
	}
	var body struct {
		Value string `json:"value" text:"any"`
	}
	x.most = maxSecretBody
	if err := x.decode(&body); err != nil {
		return err
	}
	// Somebody who has proven nothing lately only adds: that there is none yet is judged where it is written.
	stale := x.fresh()
	if stale != nil {
		if version != nil {
			return stale
		}
		version = new(int64)
	}
	e, err := x.g.Vault.Put(x.ctx(), x.address(), x.v.Caller().Actor, x.params["secret"], body.Value, version)
	if stale != nil && fault.Is(err, fault.VersionConflict) {
		return stale
	}
	if err != nil {
		return err
	}
	status := http.StatusOK
	if e.Version == 1 {
		status = http.StatusCreated
	}
	x.out.Header().Set("ETag", etag(e.Version))
	return x.json(status, viewSecret(e))
}

func (x *exchange) deleteSecret() error {
	version, err := x.version()
	if err != nil {
		return err
	}
	if err := x.g.Vault.Delete(x.ctx(), x.address(), x.v.Caller().Actor, x.params["secret"], version); err != nil {
		return err
	}
	return x.none()
}
