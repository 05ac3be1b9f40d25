package gateway

import (
	"net/http"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/audit"
)

// secretStore says how far a rotation of the keys has come, and nothing of what they seal.
func (x *exchange) secretStore() error {
	rows, err := x.g.Accounts.Secrets.Rows(x.ctx())
	if err != nil {
		return err
	}
	return x.json(http.StatusOK, map[string]any{"activeKid": x.g.Accounts.Secrets.Active(), "rowsByKid": rows})
}

// Rotation is how far the secrets have come on their way to a new key.
type Rotation struct {
	Done   bool             // nothing goes on any more
	Active string           // the key that seals
	Rows   map[string]int64 // how many values each key seals
	Todo   []string         // what is left to whoever keeps the machines, in this order
}

// rotateSecrets moves every secret to a new key, and does not wait for all of them. That it was asked for is told first.
func (x *exchange) rotateSecrets() error {
	if x.g.Rotate == nil {
		return fault.NotAvailable("loading").After(time.Second)
	}
	e := audit.Event{Actor: x.who.Account.Actor(), Action: "secret_store.rotated", Target: audit.Target{Kind: "service", ID: "secrets"}}
	if err := x.g.Accounts.NoteStaff(x.ctx(), e); err != nil {
		return err
	}
	r, err := x.g.Rotate(x.ctx())
	if err != nil {
		return err
	}
	status := "rotating"
	if r.Done {
		status = "rotated"
	}
	if r.Todo == nil {
		r.Todo = []string{}
	}
	return x.json(http.StatusAccepted, map[string]any{"status": status, "activeKid": r.Active, "rowsByKid": r.Rows, "todo": r.Todo})
}
