package installation

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/memory"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/github"
	"svc.dev/svc/service/audit"
)

var deliveryID = regexp.MustCompile(`^[0-9A-Fa-f-]{1,64}$`)

// Take takes what a provider tells. It counts once: a delivery that comes again is a duplicate and does nothing, unless
// passing it on was given up before. What it changes, what is left to be done about it and that it came stand in one
// transaction. Deliveries come in any order, and carry no time.
func (a *Installations) Take(ctx context.Context, provider string, h http.Header, body []byte) (duplicate bool, err error) {
	if err := account.KnownProvider(provider); err != nil {
		return false, err
	}
	app, err := a.believe(ctx, provider, h, body)
	if err != nil {
		return false, err
	}
	id := h.Get("X-GitHub-Delivery")
	if !deliveryID.MatchString(id) {
		return false, fault.Invalid("X-GitHub-Delivery is not an id.")
	}
	room, err := a.deliveryRoom(ctx, int64(len(body)))
	if err != nil {
		return false, err
	}
	defer room.Release()
	e, err := github.ParseEvent(h.Get("X-GitHub-Event"), body)
	if err != nil {
		return false, err
	}
	t := told{provider: provider, id: id, app: app, Event: e, body: body}
	duplicate, err = sqldb.Write(ctx, a.DB, func(tx *sqldb.Tx) (bool, error) {
		n, err := tx.Exec(`INSERT INTO deliveries (provider, id, event, action, installation, received_at) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (provider, id) DO NOTHING`, provider, id, e.Name, e.Action, e.Installation, a.Now().UnixMilli())
		if err != nil {
			return false, fmt.Errorf("store delivery: %w", err)
		}
		if n == 0 {
			revived, err := a.revive(tx, t)
			return !revived, err
		}
		return false, cmp.Or(a.react(ctx, tx, provider, app, e), a.leave(tx, t))
	})
	if err == nil && !duplicate {
		a.queue.Wake()
	}
	return duplicate, err
}

// roomWait is how long a delivery waits for memory.
const roomWait = 5 * time.Second

// deliveryTimes is what a delivery takes beside its body: parsed, sealed, and as text on its way to the database or back.
const deliveryTimes = 5

// deliveryRoom takes memory for a delivery that was believed. It is the service's own: whoever sent it is known.
func (a *Installations) deliveryRoom(ctx context.Context, n int64) (*memory.Grant, error) {
	ctx, cancel := context.WithTimeout(ctx, roomWait)
	defer cancel()
	room, err := a.Memory.Wait(ctx, "", memory.Bodies, min(deliveryTimes*n, a.Memory.Limit()))
	if err != nil {
		return nil, fault.New(fault.Busy, "Too many deliveries at this moment.", "Try again shortly.").After(time.Second)
	}
	return room, nil
}

// believe is the id of the app that a delivery is for, or the refusal of one that the provider did not sign. It says nothing of why,
// whether or not there is an app.
func (a *Installations) believe(ctx context.Context, provider string, h http.Header, body []byte) (app int64, err error) {
	app, key, err := a.Apps.Signer(ctx, provider)
	if err != nil {
		return 0, err
	}
	signatures := h.Values("X-Hub-Signature-256")
	if len(signatures) != 1 || !github.Verify(key, signatures[0], body) {
		return 0, fault.New(fault.InvalidSignature, "The signature is not valid.", "")
	}
	return app, nil
}

// react does what a delivery asks for. Events that belong to workspaces ask for nothing here.
func (a *Installations) react(ctx context.Context, tx *sqldb.Tx, provider string, app int64, e github.Event) error {
	switch {
	case e.Name == github.EventAuthorization && e.Action == "revoked":
		return a.Accounts.Identities.Disconnect(ctx, tx, provider, e.Sender.ID)
	case e.Name != github.EventInstallation && e.Name != github.EventRepositories, e.AppID != 0 && e.AppID != app:
		return nil
	}
	change := map[string]string{
		"deleted": ", deleted_at = COALESCE(deleted_at, $3)", "suspend": ", suspended_at = COALESCE(suspended_at, $3)", "unsuspend": ", suspended_at = NULL",
	}[e.Action]
	return cmp.Or(
		a.noteTold(tx, provider, app, e),
		tx.Do("note installation", "UPDATE installations SET updated_at = $3, selection = CASE WHEN $4 = '' THEN selection ELSE $4 END"+change+" WHERE provider = $1 AND id = $2",
			provider, e.Installation, a.Now().UnixMilli(), e.Selection),
		a.tellBound(ctx, tx, provider, e),
	)
}

// noteTold writes down an installation that is new to us, even one that is gone: what is told late must not bring it back.
func (a *Installations) noteTold(tx *sqldb.Tx, provider string, app int64, e github.Event) error {
	return tx.Do("note installation", `INSERT INTO installations (provider, id, app, account_id, account_login, account_type, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $7) ON CONFLICT (provider, id) DO NOTHING`,
		provider, e.Installation, app, e.Account.ID, e.Account.Login, e.Account.Type, a.Now().UnixMilli())
}

// tellBound tells the workspaces of an installation what happened to it. One that was deleted is none of theirs any more.
func (a *Installations) tellBound(ctx context.Context, tx *sqldb.Tx, provider string, e github.Event) error {
	action := map[string]string{
		"deleted": "installation.deleted", "suspend": "installation.suspended", "unsuspend": "installation.restored",
		"new_permissions_accepted": "installation.permissions_changed", "added": "installation.repositories_changed", "removed": "installation.repositories_changed",
	}[e.Action]
	if action == "" {
		return nil
	}
	bound, err := bindings(tx, "", "provider = $1 AND installation = $2", provider, e.Installation)
	if err != nil {
		return err
	}
	if e.Action == "deleted" {
		if err := tx.Do("unbind installation", "DELETE FROM installation_bindings WHERE provider = $1 AND installation = $2", provider, e.Installation); err != nil {
			return err
		}
	}
	var events []audit.Event
	for _, b := range bound {
		events = append(events, audit.Event{Actor: account.ProviderActor(provider), Action: action, Target: installationTarget(e.Installation), Scope: b.scope})
	}
	return a.Audit.Append(ctx, tx, events...)
}
