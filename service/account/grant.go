package account

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/oklog/ulid/v2"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account/github"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/secret"
)

// Times of refreshing.
const (
	refreshEarly = 5 * time.Minute       // before a token ends
	refreshLease = 30 * time.Second      // longer than the provider may take to answer
	refreshPause = 50 * time.Millisecond // of those who wait for another
)

// grantedIdentity is an identity with what it is worth at the provider.
type grantedIdentity struct {
	identity
	grant
}

// Token is a token by which a provider's API takes us for the person. It is good for some minutes at least.
//
// To refresh kills the pair that there was, so no two may do it at once: whoever does holds a lease on the identity's row,
// taken by one UPDATE, and everybody else on all nodes looks again until the new pair lies there. Nothing is locked while
// the provider is asked. The new pair is stored before it is used. A lease that its holder left behind ends by itself.
func (a *Identities) Token(ctx context.Context, account, provider string) (string, error) {
	if err := KnownProvider(provider); err != nil {
		return "", err
	}
	for {
		c, err := a.connection(ctx, account, provider)
		if err != nil {
			return "", err
		}
		if a.fresh(c.grant) {
			return c.Access, nil
		}
		token, err := a.refreshOnce(ctx, provider, c)
		if err != nil || token != "" {
			return token, err
		}
		select {
		case <-time.After(refreshPause):
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// fresh reports whether the access token is good for a while.
func (a *Identities) fresh(g grant) bool {
	return g.Access != "" && (g.Expires.IsZero() || a.Now().Add(refreshEarly).Before(g.Expires))
}

// connection is the identity that a person last came in by, of those that are connected through the app there is now.
func (a *Identities) connection(ctx context.Context, account, provider string) (grantedIdentity, error) {
	return sqldb.Snapshot(ctx, a.DB, func(tx *sqldb.Tx) (c grantedIdentity, err error) {
		app, err := a.Apps.Known(tx, provider)
		if err != nil {
			return c, err
		}
		id, found, err := sqldb.First(tx, "find connection", scanOwned, `SELECT i.id, i.account FROM identities i JOIN accounts a ON a.id = i.account
			WHERE i.account = $1 AND i.provider = $2 AND i.status = $3 AND a.suspended_at IS NULL AND a.deleted_at IS NULL
			ORDER BY i.updated_at DESC, i.id DESC LIMIT 1`, account, provider, connected)
		if err != nil {
			return c, err
		}
		if !found {
			return c, a.connectionRequired(provider, "")
		}
		g, found, err := a.openGrant(tx, id.account, id.id)
		if err != nil {
			return c, err
		}
		if !found || g.Client != app.ClientID || !a.fresh(g) && g.Refresh == "" {
			return c, a.connectionRequired(provider, "")
		}
		return grantedIdentity{id, g}, nil
	})
}

// connectionRequired says where a connection is made, and where that leads afterwards.
func (a *Identities) connectionRequired(provider, returnTo string) error {
	address := Route(a.Platform, provider, "start") + "?intent=" + IntentConnect
	if returnTo != "" {
		address += "&returnTo=" + url.QueryEscape(returnTo)
	}
	return fault.New(fault.ProviderConnectionRequired, "Connect your GitHub account first.", "").With("connectUrl", address)
}

// NeedConnection refuses somebody who is not connected to a provider, in the transaction of what they begin. ReturnTo is where to
// go on once they are.
func (a *Identities) NeedConnection(tx *sqldb.Tx, who Who, provider, returnTo string) error {
	n, err := sqldb.Value[int](tx, "find connection", "SELECT count(*) FROM identities WHERE account = $1 AND provider = $2 AND status = $3", who.Account.ID, provider, connected)
	if err == nil && n == 0 {
		err = a.connectionRequired(provider, returnTo)
	}
	return err
}

// DropToken gives up the connection whose token the provider refused, if that is still the one it has, and is the refusal that says
// so.
func (a *Identities) DropToken(ctx context.Context, account, provider, token string) error {
	c, err := a.connection(ctx, account, provider)
	if err == nil && c.Access == token {
		err = a.loseGrant(ctx, c)
	}
	if err != nil {
		return err
	}
	return a.connectionRequired(provider, "")
}

// refreshOnce refreshes the pair of a connection and returns its new token, however soon that ends. It is empty when it is
// worth to look again: somebody else refreshes, or has done so.
func (a *Identities) refreshOnce(ctx context.Context, provider string, c grantedIdentity) (string, error) {
	app, err := a.Apps.App(ctx, provider)
	if err != nil {
		return "", err
	}
	lease, err := a.takeLease(ctx, &c)
	if err != nil || lease == "" {
		return "", err
	}
	if a.fresh(c.grant) {
		return c.Access, a.dropLease(ctx, c, lease)
	}
	// Whether or not somebody still waits for it: the pair that there was dies with the question.
	ctx = sqldb.Regardless(ctx)
	tokens, err := a.GitHub.Refresh(ctx, app, c.Refresh)
	switch {
	case err == nil:
		return a.replaceGrant(ctx, c, grant{Client: app.ClientID, Tokens: tokens})
	case errors.Is(err, github.BadRefreshToken):
		return "", a.loseGrant(ctx, c)
	}
	if left := a.dropLease(ctx, c, lease); left != nil {
		a.Log.WarnContext(ctx, "lease on tokens was left behind", "error", left)
	}
	return "", err
}

// takeLease makes this caller the one who refreshes, and reads the pair again: somebody may just have done it. It is empty
// when another holds the lease.
func (a *Identities) takeLease(ctx context.Context, c *grantedIdentity) (lease string, err error) {
	now := a.Now()
	return sqldb.Write(ctx, a.DB, func(tx *sqldb.Tx) (string, error) {
		mine := ulid.Make().String()
		n, err := tx.Exec("UPDATE identities SET lease = $3, refreshing_until = $4 WHERE id = $1 AND account = $2 AND status = $5 AND refreshing_until <= $6",
			c.id, c.account, mine, now.Add(refreshLease).UnixMilli(), connected, now.UnixMilli())
		if err != nil {
			return "", fmt.Errorf("take lease on tokens: %w", err)
		}
		if n == 0 {
			return "", nil
		}
		c.grant, _, err = a.openGrant(tx, c.account, c.id)
		return mine, err
	})
}

func (a *Identities) dropLease(ctx context.Context, c grantedIdentity, lease string) error {
	return a.DB.Do(ctx, "drop lease on tokens", "UPDATE identities SET lease = '', refreshing_until = 0 WHERE id = $1 AND lease = $2", c.id, lease)
}

// replaceGrant stores a new pair in the place of the one that it was refreshed from, and returns its token. A pair that came
// otherwise in the meantime stays.
func (a *Identities) replaceGrant(ctx context.Context, used grantedIdentity, g grant) (token string, err error) {
	return sqldb.Write(ctx, a.DB, func(tx *sqldb.Tx) (string, error) {
		same, err := a.holdGrant(tx, used)
		if err != nil || !same {
			return "", err
		}
		return g.Access, a.keepGrant(tx, used.account, used.id, g)
	})
}

// loseGrant gives a connection up whose pair the provider no longer knows.
func (a *Identities) loseGrant(ctx context.Context, used grantedIdentity) error {
	return a.DB.Write(ctx, func(tx *sqldb.Tx) error {
		p, found, err := locked(tx, used.account)
		if err != nil || !found {
			return err
		}
		same, err := a.holdGrant(tx, used)
		if err != nil || !same {
			return err
		}
		return a.revokeIdentity(ctx, tx, p, used.id, audit.Actor{Kind: audit.System})
	})
}

// holdGrant ends the lease, keeps the row until the transaction ends, and reports whether the pair is still the one that
// was used.
func (a *Identities) holdGrant(tx *sqldb.Tx, used grantedIdentity) (bool, error) {
	n, err := tx.Exec("UPDATE identities SET lease = '', refreshing_until = 0 WHERE id = $1 AND account = $2", used.id, used.account)
	if err != nil || n == 0 {
		return false, err
	}
	g, found, err := a.openGrant(tx, used.account, used.id)
	return found && g.Access == used.Access && g.Refresh == used.Refresh, err
}

// grant is what a person's consent is worth, as it is sealed. It prints as nothing.
type grant struct {
	Client string // the app that it was given to
	github.Tokens
}

func ofAccount(id string) secret.Owner { return secret.Owner{Kind: secret.Account, Scope: id} }

func grantName(identity string) string { return "identity/" + identity }

func (a *base) keepGrant(tx *sqldb.Tx, account, identity string, g grant) error {
	value, err := json.Marshal(g)
	if err != nil {
		return fmt.Errorf("keep tokens: %w", err)
	}
	defer clear(value)
	_, err = a.Secrets.Seal(tx, ofAccount(account), grantName(identity), value, account)
	return err
}

// openGrant finds none where there is none.
func (a *base) openGrant(tx *sqldb.Tx, account, identity string) (g grant, found bool, err error) {
	value, err := a.Secrets.OpenIn(tx, ofAccount(account), grantName(identity))
	if errors.Is(err, secret.ErrNotFound) {
		return g, false, nil
	}
	if err != nil {
		return g, false, err
	}
	defer clear(value)
	if err := json.Unmarshal(value, &g); err != nil {
		return grant{}, false, errors.New("read tokens: not what was sealed") // the cause would quote them
	}
	return g, true, nil
}
