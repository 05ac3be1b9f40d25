package account

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/mail"
)

// The states of an identity. A revoked one has no tokens; its person still comes in by it, and is then connected again.
const (
	connected = "connected"
	revoked   = "revoked"
)

// Identity is a way into an account that a provider vouches for.
type Identity struct {
	ID       string     `json:"id" id:"idn"`
	Provider string     `json:"provider"`
	Issuer   string     `json:"issuer"`
	Login    string     `json:"login"` // as it was when the person last came in; no identity follows from it
	Status   string     `json:"status" enum:"connected revoked"`
	LinkedAt iso.Moment `json:"linkedAt"`
}

// identity is whose a visitor's key is.
type identity struct {
	id      string
	account string
}

// findIdentity asks for issuer and subject, and for nothing else.
func findIdentity(tx *sqldb.Tx, v visitor) (identity, bool, error) {
	return sqldb.First(tx, "find identity", scanOwned, "SELECT id, account FROM identities WHERE provider = $1 AND issuer = $2 AND subject = $3", v.Provider, v.Issuer, v.Subject)
}

func scanOwned(row sqldb.Row) (id identity, err error) {
	err = row.Scan(&id.id, &id.account)
	return id, err
}

// HolderOf is the account of a person by the number that a provider knows them by; found is false when there is none.
func (a *Identities) HolderOf(tx *sqldb.Tx, provider string, subject int64) (account string, found bool, err error) {
	id, found, err := findIdentity(tx, visitor{Provider: provider, Issuer: a.GitHub.Host(), Subject: fmt.Sprint(subject)})
	return id.account, found, err
}

// Disconnect drops the tokens of a person who no longer allows the app to act for them, as the provider tells.
func (a *Identities) Disconnect(ctx context.Context, tx *sqldb.Tx, provider string, subject int64) error {
	id, found, err := findIdentity(tx, visitor{Provider: provider, Issuer: a.GitHub.Host(), Subject: fmt.Sprint(subject)})
	if err != nil || !found {
		return err
	}
	p, found, err := locked(tx, id.account)
	if err != nil || !found {
		return err
	}
	return a.revokeIdentity(ctx, tx, p, id.id, ProviderActor(provider))
}

// ProviderActor is a provider, as the audit log names it.
func ProviderActor(provider string) audit.Actor {
	return audit.Actor{Kind: audit.Channel, ID: provider}
}

// addIdentity gives an account a new identity with its tokens. It is errTaken when another account got it first.
func (a *Identities) addIdentity(tx *sqldb.Tx, account string, v visitor) (string, error) {
	id, now := "idn_"+ulid.Make().String(), a.Now().UnixMilli()
	if err := change(tx, "add identity", errTaken, `INSERT INTO identities (id, provider, issuer, subject, account, login, no_email, status, linked_at,
		updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9) ON CONFLICT (provider, issuer, subject) DO NOTHING`,
		id, v.Provider, v.Issuer, v.Subject, account, v.Login, sqldb.Bit(v.NoEmail), connected, now); err != nil {
		return "", err
	}
	return id, a.keepGrant(tx, account, id, v.Grant)
}

func identityEvent(p Account, id, action string) audit.Event {
	return audit.Event{Actor: p.Actor(), Action: action, Target: audit.Target{Kind: "identity", ID: id}, Scope: p.scope()}
}

// List lists the ways into an account that providers vouch for, the oldest first.
func (a *Identities) List(ctx context.Context, who Who) ([]Identity, error) {
	return sqldb.Read(ctx, a.DB, func(tx *sqldb.Tx) ([]Identity, error) { return identitiesOf(tx, who.Account.ID) })
}

func identitiesOf(tx *sqldb.Tx, account string) ([]Identity, error) {
	all, err := sqldb.Collect(tx, scanIdentity, "SELECT id, provider, issuer, login, status, linked_at FROM identities WHERE account = $1 ORDER BY linked_at, id", account)
	if err != nil {
		return nil, fmt.Errorf("list identities: %w", err)
	}
	return all, nil
}

func scanIdentity(row sqldb.Row) (i Identity, err error) {
	err = row.Scan(&i.ID, &i.Provider, &i.Issuer, &i.Login, &i.Status, sqldb.Time(&i.LinkedAt.Time))
	return i, err
}

func (a *base) removeIdentity(tx *sqldb.Tx, account, id string) error {
	if err := tx.Do("remove identity", "DELETE FROM identities WHERE id = $1 AND account = $2", id, account); err != nil {
		return err
	}
	_, err := a.Secrets.Delete(tx, ofAccount(account), grantName(id))
	return err
}

// dropIdentities removes the identities of an account that a condition names, with their tokens.
func (a *base) dropIdentities(tx *sqldb.Tx, account string, named func(Identity) bool) error {
	all, err := identitiesOf(tx, account)
	if err != nil {
		return err
	}
	for _, i := range all {
		if !named(i) {
			continue
		}
		if err := a.removeIdentity(tx, account, i.ID); err != nil {
			return err
		}
	}
	return nil
}

// revokeIdentity notes that a provider no longer accepts the tokens of an identity. The account stays, and so does the way
// into it: the person allows it again when they next come in.
func (a *base) revokeIdentity(ctx context.Context, tx *sqldb.Tx, p Account, id string, by audit.Actor) error {
	n, err := tx.Exec("UPDATE identities SET status = $3, lease = '', refreshing_until = 0 WHERE id = $1 AND account = $2", id, p.ID, revoked)
	if err != nil {
		return fmt.Errorf("revoke identity: %w", err)
	}
	if n == 0 {
		return nil
	}
	_, err = a.Secrets.Delete(tx, ofAccount(p.ID), grantName(id))
	e := identityEvent(p, id, "identity.revoked")
	e.Actor = by
	return cmp.Or(err, a.Audit.Append(ctx, tx, e))
}

// Unlink takes a way in from an account, with the sessions that came by it, but for the one it is asked from. The last way
// in stays; a password is one only together with a proven address, and a revoked identity is none that can be relied on.
func (a *Identities) Unlink(ctx context.Context, who Who, id string) error {
	if err := a.sessions.NeedFresh(who); err != nil {
		return err
	}
	var g grant
	err := a.post(ctx, func(tx *sqldb.Tx, out *letters) error {
		p, err := Acting(tx, who)
		if err != nil {
			return err
		}
		i, err := unlinkable(tx, p, id)
		if err != nil {
			return err
		}
		g, err = a.detach(tx, out, p, i)
		return cmp.Or(err,
			end(tx, a.Now(), "identity unlinked", "account = $3 AND identity = $4 AND id <> $5", p.ID, id, who.Session.ID),
			tx.Do("forget identity", "UPDATE sessions SET identity = '' WHERE account = $1 AND identity = $2", p.ID, id),
			a.Audit.Append(ctx, tx, identityEvent(p, id, "identity.unlinked")),
		)
	})
	if err == nil {
		a.giveBack(ctx, g)
	}
	return err
}

// detach takes a way in from an account and mails that to its person. It gives the tokens to give back.
func (a *Identities) detach(tx *sqldb.Tx, out *letters, p Account, i Identity) (grant, error) {
	g, _, err := a.openGrant(tx, p.ID, i.ID)
	return g, cmp.Or(err, a.removeIdentity(tx, p.ID, i.ID), out.send(tx, p.Email, mail.ProviderUnlinked("GitHub", i.Login)))
}

// unlinkAll takes ways in from an account whose password is set anew, which leaves it one. It gives the tokens to give back,
// and what the log is to be told. What was unlinked a moment ago is no error.
func (a *Identities) unlinkAll(tx *sqldb.Tx, out *letters, p Account, ids []string) (given []grant, events []audit.Event, err error) {
	linked, err := identitiesOf(tx, p.ID)
	if err != nil {
		return nil, nil, err
	}
	for _, i := range linked {
		if !slices.Contains(ids, i.ID) {
			continue
		}
		g, err := a.detach(tx, out, p, i)
		if err != nil {
			return nil, nil, err
		}
		e := identityEvent(p, i.ID, "identity.unlinked")
		e.Actor = anonymous
		given, events = append(given, g), append(events, e)
	}
	return given, events, nil
}

// unlinkable is the identity of that id, if the account has another way in.
func unlinkable(tx *sqldb.Tx, p Account, id string) (Identity, error) {
	all, err := identitiesOf(tx, p.ID)
	if err != nil {
		return Identity{}, err
	}
	var wanted Identity
	ways := 0
	if p.password != "" && p.EmailVerified {
		ways++
	}
	for _, i := range all {
		if i.ID == id {
			wanted = i
		} else if i.Status == connected {
			ways++
		}
	}
	if wanted.ID == "" {
		return wanted, notFound()
	}
	if ways == 0 {
		return wanted, fault.New(LastCredential, "This is the last way into your account.", "Add another one first: a password with a verified e-mail address, or another identity.")
	}
	return wanted, nil
}

// giveBackTime is how long whoever unlinks waits for the provider.
const giveBackTime = 3 * time.Second

// giveBack ends a token at the provider that nobody here has any more. It would end by itself, so a failure is only told.
func (a *Identities) giveBack(ctx context.Context, g grant) {
	if g.Access == "" {
		return
	}
	ctx, cancel := context.WithTimeout(sqldb.Regardless(ctx), giveBackTime)
	defer cancel()
	app, err := a.Apps.App(ctx, ByGitHub)
	if err == nil && app.ClientID == g.Client {
		err = a.GitHub.RevokeToken(ctx, app, g.Access)
	}
	if err != nil {
		a.Log.WarnContext(ctx, "token of an unlinked identity was not revoked", "error", err)
	}
}
