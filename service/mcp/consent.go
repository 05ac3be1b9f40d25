package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/oklog/ulid/v2"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/redact"
	"svc.dev/svc/service/secret"
)

// Times of renewing tokens.
const (
	renewEarly = 10 * time.Second      // before a token ends
	renewSlack = 20 * time.Second      // how much longer a lease is than an authorization server may take
	renewPause = 50 * time.Millisecond // of those who wait for another
)

// tokens are what a consent is worth, and the client that they are of, as they are sealed. They print as nothing.
type tokens struct {
	Client       string `json:"client"`
	ClientSecret string `json:"clientSecret,omitempty"`
	Access       string `json:"access,omitempty"`
	Refresh      string `json:"refresh,omitempty"` // empty: there is none
	Expires      int64  `json:"expires,omitempty"` // in milliseconds; 0: nobody knows
}

// Format keeps the tokens out of every verb.
func (t tokens) Format(s fmt.State, _ rune) { fmt.Fprint(s, redact.Placeholder) }

// LogValue keeps the tokens out of the log.
func (t tokens) LogValue() slog.Value { return slog.StringValue(redact.Placeholder) }

// consent is that somebody has signed in to a server: where the tokens are renewed, and for what. The zero value: nobody has.
type consent struct {
	Issuer   string `json:"issuer"`
	Endpoint string `json:"endpoint"` // of tokens
	Resource string `json:"resource"`
	Basic    bool   `json:"basic"` // the client's secret goes in a header
	tokens
}

// consents are those that people have given to servers.
type consents struct{ *Servers }

func (s *Servers) consents() consents { return consents{s} }

// usable reports whether the access token is good for a while, as far as we know. One that cannot be renewed is tried to its end.
func (s consents) usable(c consent, refused string) bool {
	if c.Access == refused {
		return false
	}
	return c.Refresh == "" || c.Expires == 0 || s.Now().Add(renewEarly).UnixMilli() < c.Expires
}

// access is the consent for a server with an access token that is not the one that was refused; the zero consent: somebody has to
// sign in.
//
// To renew a token may spend the refresh token, so no two may do it at once: whoever does holds a lease on the consent's row, taken by
// one UPDATE, and everybody else on all nodes looks again until the new tokens lie there. Nothing is locked while the authorization
// server is asked. The new tokens are stored before they are used. A lease that its holder left behind ends by itself.
func (s consents) access(ctx context.Context, to Server, refused string) (consent, error) {
	for {
		c, err := sqldb.Snapshot(ctx, s.DB, func(tx *sqldb.Tx) (consent, error) { return s.consentIn(tx, to) })
		if err != nil || c.Access == "" || s.usable(c, refused) {
			return c, err
		}
		c, done, err := s.renewOnce(ctx, to, c, refused)
		if err != nil || done {
			return c, err
		}
		select {
		case <-time.After(renewPause):
		case <-ctx.Done():
			return consent{}, context.Cause(ctx)
		}
	}
}

// renewOnce renews the tokens of a consent. It is not done where it is worth to look again: somebody else renews them, or has.
func (s consents) renewOnce(ctx context.Context, to Server, c consent, refused string) (_ consent, done bool, err error) {
	lease, err := s.takeLease(ctx, to, &c)
	if err != nil || lease == "" {
		return consent{}, false, err
	}
	if c.Access == "" || s.usable(c, refused) {
		return c, true, s.dropLease(ctx, to, lease)
	}
	// Whether or not somebody still waits for it: the refresh token may die with the question.
	ctx = sqldb.Regardless(ctx)
	next, err := s.renew(ctx, c)
	switch {
	case err == nil:
		kept, err := s.replaceConsent(ctx, to, c, next)
		return next, kept, err
	case errors.Is(err, errDeclined):
		return consent{}, true, s.loseConsent(ctx, to, c)
	}
	if left := s.dropLease(ctx, to, lease); left != nil {
		s.Log.WarnContext(ctx, "lease on tokens was left behind", "scope", to.Scope, "server", to.ID, "error", left)
	}
	return consent{}, false, err
}

// takeLease makes this caller the one who renews, and reads the tokens again: somebody may just have done it. It is empty when another
// holds the lease.
func (s consents) takeLease(ctx context.Context, to Server, c *consent) (lease string, err error) {
	now := s.Now()
	return sqldb.Write(ctx, s.DB, func(tx *sqldb.Tx) (string, error) {
		mine := ulid.Make().String()
		n, err := tx.Exec("UPDATE mcp_consents SET lease = $2, refreshing_until = $3 WHERE server = $1 AND refreshing_until <= $4",
			to.ID, mine, now.Add(s.ConnectTimeout+renewSlack).UnixMilli(), now.UnixMilli())
		if err != nil {
			return "", fmt.Errorf("take lease on tokens: %w", err)
		}
		if n == 0 {
			return "", nil
		}
		*c, err = s.consentIn(tx, to)
		return mine, err
	})
}

func (s consents) dropLease(ctx context.Context, to Server, lease string) error {
	return s.DB.Do(ctx, "drop lease on tokens", "UPDATE mcp_consents SET lease = '', refreshing_until = 0 WHERE server = $1 AND lease = $2", to.ID, lease)
}

// replaceConsent stores new tokens in the place of those that they were renewed from, and reports whether it did. Those that came
// otherwise in the meantime stay.
func (s consents) replaceConsent(ctx context.Context, to Server, used, next consent) (kept bool, err error) {
	return sqldb.Write(ctx, s.DB, func(tx *sqldb.Tx) (bool, error) {
		if same, err := s.holdConsent(tx, to, used); err != nil || !same {
			return false, err
		}
		return true, s.keepConsent(tx, to, next, system)
	})
}

// loseConsent gives up what the authorization server no longer renews: somebody has to sign in again.
func (s consents) loseConsent(ctx context.Context, to Server, used consent) error {
	return s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		same, err := s.holdConsent(tx, to, used)
		if err != nil || !same {
			return err
		}
		return cmp.Or(s.forgetConsent(tx, to),
			tx.Do("keep that a sign-in ended", "UPDATE mcp_servers SET token = 0, status = $2, status_at = $3, reason = $4 WHERE id = $1", to.ID, NeedsSignIn, s.Now().UnixMilli(), signInEnded),
			s.Audit.Append(ctx, tx, event(system, to.Scope, "mcp.sign_in_ended", to.ID)))
	})
}

// holdConsent ends the lease, keeps the rows until the transaction ends, and reports whether the tokens are still those that were used.
func (s consents) holdConsent(tx *sqldb.Tx, of Server, used consent) (bool, error) {
	// The server first, as everybody else locks them.
	if err := tx.Lock("SELECT id FROM mcp_servers WHERE id = $1", of.ID); err != nil {
		return false, fmt.Errorf("lock MCP server: %w", err)
	}
	if err := tx.Do("end lease on tokens", "UPDATE mcp_consents SET lease = '', refreshing_until = 0 WHERE server = $1", of.ID); err != nil {
		return false, err
	}
	now, err := s.consentIn(tx, of)
	return now.Access != "" && now.tokens == used.tokens, err
}

// keepConsent stores a consent over whatever there is.
func (s consents) keepConsent(tx *sqldb.Tx, of Server, c consent, by audit.Actor) error {
	value, err := json.Marshal(c.tokens)
	if err != nil {
		return fmt.Errorf("keep tokens: %w", err)
	}
	defer clear(value)
	if err := tx.Do("keep consent", `INSERT INTO mcp_consents (server, issuer, token_endpoint, resource, basic) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (server) DO UPDATE SET issuer = $2, token_endpoint = $3, resource = $4, basic = $5, lease = '', refreshing_until = 0`,
		of.ID, c.Issuer, c.Endpoint, c.Resource, sqldb.Bit(c.Basic)); err != nil {
		return err
	}
	_, err = s.Secrets.Seal(tx, of.owner(), of.secret(), value, cmp.Or(by.ID, by.Kind))
	return err
}

// forgetConsent destroys a consent and what is sealed of it, or a bearer's token.
func (s consents) forgetConsent(tx *sqldb.Tx, of Server) error {
	if err := endConsent(tx, of.ID); err != nil {
		return err
	}
	_, err := s.Secrets.Delete(tx, of.owner(), of.secret())
	return err
}

func endConsent(tx *sqldb.Tx, server string) error {
	return tx.Do("end consent", "DELETE FROM mcp_consents WHERE server = $1", server)
}

// consentIn is the consent for a server that is still set up as it was, or the zero consent: one for another address is nothing for
// this one.
func (s consents) consentIn(tx *sqldb.Tx, of Server) (consent, error) {
	c, found, err := sqldb.First(tx, "find consent", scanConsent, `SELECT c.issuer, c.token_endpoint, c.resource, c.basic FROM mcp_consents c JOIN mcp_servers s ON s.id = c.server
		WHERE s.id = $1 AND s.setting = $2`, of.ID, of.setting)
	if err != nil || !found {
		return consent{}, err
	}
	value, err := s.Secrets.OpenIn(tx, of.owner(), of.secret())
	if errors.Is(err, secret.ErrNotFound) {
		return consent{}, nil
	}
	if err != nil {
		return consent{}, err
	}
	defer clear(value)
	if err := json.Unmarshal(value, &c.tokens); err != nil {
		return consent{}, errors.New("read tokens: not what was sealed") // the cause would quote them
	}
	return c, nil
}

func scanConsent(row sqldb.Row) (c consent, err error) {
	err = row.Scan(&c.Issuer, &c.Endpoint, &c.Resource, &c.Basic)
	return c, err
}
