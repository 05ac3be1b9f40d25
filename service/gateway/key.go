package gateway

import (
	"net/http"
	"strings"

	"svc.dev/svc/service/strictjson"
)

// bearer is the credential of an Authorization header, and empty for every other scheme and spelling.
func bearer(header string) string {
	scheme, value, found := strings.Cut(header, " ")
	if !found || !strings.EqualFold(scheme, "bearer") || strings.ContainsAny(value, " \t") {
		return ""
	}
	return value
}

func refusedField(name string) error {
	return strictjson.Refuse(strictjson.Field{Field: name, Type: strictjson.Invalid})
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
