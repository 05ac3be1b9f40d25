package github

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// AppJWT is a proof, good for nine minutes, that the bearer is the app.
func (c *Client) AppJWT(app App) (string, error) { return app.proof(c.now()) }

// proof is dated back a minute and ends a minute early, for GitHub's clock is not ours.
func (a App) proof(now time.Time) (string, error) {
	key, err := a.key()
	if err != nil {
		return "", fmt.Errorf("sign as app: %w", err)
	}
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: key}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return "", fmt.Errorf("sign as app: %w", err)
	}
	return jwt.Signed(s).Claims(jwt.Claims{
		// The number, not the client id: every GitHub knows it.
		Issuer:   strconv.FormatInt(a.ID, 10),
		IssuedAt: jwt.NewNumericDate(now.Add(-time.Minute)),
		Expiry:   jwt.NewNumericDate(now.Add(9 * time.Minute)),
	}).Serialize()
}

// askAs asks as the app. Where GitHub refuses the proof for its times, its own clock is taken and it is asked once more:
// what was refused had no effect.
func (c *Client) askAs(ctx context.Context, app App, q request) (response, error) {
	now := c.now()
	for again := false; ; again = true {
		token, err := app.proof(now)
		if err != nil {
			return response{}, unavailable(q.what, err)
		}
		a, err := c.send(ctx, bearer(token), q)
		if err != nil {
			return response{}, unavailable(q.what, reason(err))
		}
		theirs, err := http.ParseTime(a.header.Get("Date"))
		if again || err != nil || !untimely(a) {
			return a, nil
		}
		now = theirs
	}
}

// untimely reports whether a proof was refused for when it was made.
func untimely(a response) bool {
	m := a.message()
	return a.status == http.StatusUnauthorized && (strings.Contains(m, "'exp'") || strings.Contains(m, "'iat'"))
}
