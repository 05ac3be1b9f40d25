package githubtest

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

// asApp answers an app that proves itself: RS256 with the key that was handed out, made in the past, for ten minutes at most.
func (s *Server) asApp(c *call, answered func(*app) answer) answer {
	var header struct{ Alg string }
	var claims struct {
		Iat, Exp int64
		Iss      string
	}
	parts := strings.Split(c.bearer(), ".")
	if len(parts) != 3 || !decode(parts[0], &header) || !decode(parts[1], &claims) || header.Alg != "RS256" {
		return refuse(http.StatusUnauthorized, "A JSON web token could not be decoded")
	}
	id, _ := strconv.ParseInt(claims.Iss, 10, 64)
	a := s.world.app(id)
	if a == nil {
		return refuse(http.StatusNotFound, "Integration not found")
	}
	signature, _ := base64.RawURLEncoding.DecodeString(parts[2])
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	now := s.now().Unix()
	switch {
	case rsa.VerifyPKCS1v15(&a.key.PublicKey, crypto.SHA256, sum[:], signature) != nil:
		return refuse(http.StatusUnauthorized, "A JSON web token could not be decoded")
	case claims.Iat == 0 || claims.Iat > now:
		return refuse(http.StatusUnauthorized, "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued")
	case claims.Exp <= now:
		return refuse(http.StatusUnauthorized, "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires")
	case claims.Exp > now+600 || claims.Exp > claims.Iat+600:
		return refuse(http.StatusUnauthorized, "'Expiration time' claim ('exp') is too far in the future")
	}
	return answered(a)
}

func decode(part string, into any) bool {
	text, err := base64.RawURLEncoding.DecodeString(part)
	return err == nil && json.Unmarshal(text, into) == nil
}
