package github

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// proof signs as the app itself.
func proof(app App) signer {
	return signer{dated: true, sign: func(r *http.Request, now time.Time) error {
		token, err := app.proof(now)
		r.Header.Set("Authorization", "Bearer "+token)
		return err
	}}
}

// proof is good for nine minutes. It is dated back a minute and ends a minute early, for GitHub's clock is not ours.
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

// untimely reports whether a proof was refused for when it was made, and what time GitHub has.
func (a response) untimely() (theirs time.Time, refused bool) {
	m := a.message()
	if a.status != http.StatusUnauthorized || !strings.Contains(m, "'exp'") && !strings.Contains(m, "'iat'") {
		return theirs, false
	}
	theirs, err := http.ParseTime(a.header.Get("Date"))
	return theirs, err == nil
}
