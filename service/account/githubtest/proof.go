package githubtest

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// asApp checks the proof of an app by hand: RS256 with the key that was handed out, made in the past, for ten minutes at
// most.
func (s *Server) asApp(c *call) (*app, *answer) {
	undecodable := new(refuse(http.StatusUnauthorized, "A JSON web token could not be decoded"))
	parts := strings.Split(c.bearer(), ".")
	if len(parts) != 3 {
		return nil, undecodable
	}
	var header struct{ Alg, Typ string }
	var claims struct {
		Iat, Exp *int64
		Iss      json.RawMessage
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || !decode(parts[0], &header) || !decode(parts[1], &claims) || header.Alg != "RS256" {
		return nil, undecodable
	}
	a := s.issuer(strings.Trim(string(claims.Iss), `"`))
	if a == nil {
		return nil, new(refuse(http.StatusNotFound, "Integration not found"))
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if rsa.VerifyPKCS1v15(&a.key.PublicKey, crypto.SHA256, sum[:], signature) != nil {
		return nil, undecodable
	}
	if message := s.untimely(claims.Iat, claims.Exp); message != "" {
		return nil, new(refuse(http.StatusUnauthorized, message))
	}
	return a, nil
}

func decode(part string, into any) bool {
	text, err := base64.RawURLEncoding.DecodeString(part)
	return err == nil && json.Unmarshal(text, into) == nil
}

// issuer is an app by its number or its client id.
func (s *Server) issuer(iss string) *app {
	if id, err := strconv.ParseInt(iss, 10, 64); err == nil {
		return s.world.app(id)
	}
	return s.world.appOf(iss)
}

// untimely says what is wrong with the times of a proof, as the real one words it.
func (s *Server) untimely(iat, exp *int64) string {
	now := s.now().Unix()
	switch {
	case iat == nil || *iat > now:
		return "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued"
	case exp == nil || *exp <= now:
		return "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires"
	case *exp > now+600 || *exp > *iat+600:
		return "'Expiration time' claim ('exp') is too far in the future"
	}
	return ""
}

func (s *Server) getApp(c *call) answer {
	a, refused := s.asApp(c)
	if refused != nil {
		return *refused
	}
	body := s.appBody(a)
	body["installations_count"] = len(slices.DeleteFunc(slices.Clone(s.world.installations), func(i *installation) bool { return i.App != a.ID }))
	return reply(http.StatusOK, body)
}

// ours is an installation of the app that asks.
func (s *Server) ours(c *call) (*app, *installation, *answer) {
	a, refused := s.asApp(c)
	if refused != nil {
		return nil, nil, refused
	}
	id, _ := strconv.ParseInt(c.vars["id"], 10, 64)
	i := s.world.installation(id)
	if i == nil || i.App != a.ID {
		return nil, nil, new(refuse(http.StatusNotFound, "Not Found"))
	}
	return a, i, nil
}

func (s *Server) getInstallation(c *call) answer {
	_, i, refused := s.ours(c)
	if refused != nil {
		return *refused
	}
	return reply(http.StatusOK, s.installationBody(i))
}

// scope is what an installation token is asked for.
type scope struct {
	Repositories  []string
	RepositoryIDs []int64 `json:"repository_ids"`
	Permissions   map[string]string
}

func (s *Server) newInstallationToken(c *call) answer {
	a, i, refused := s.ours(c)
	if refused != nil {
		return *refused
	}
	if i.Suspended {
		return refuse(http.StatusForbidden, "This installation has been suspended")
	}
	var want scope
	if len(c.body) > 0 && json.Unmarshal(c.body, &want) != nil {
		return refuse(http.StatusBadRequest, "Problems parsing JSON")
	}
	list, message := s.narrow(a, i, want)
	if message != "" {
		return refuse(http.StatusUnprocessableEntity, message)
	}
	p := &pass{installation: i, expires: s.now().Add(time.Hour)}
	out := map[string]any{"permissions": a.granted(), "repository_selection": "all", "expires_at": stamp(p.expires)}
	if want.Permissions != nil {
		out["permissions"] = want.Permissions
	}
	if list != nil {
		bodies := []map[string]any{}
		for _, r := range list {
			p.repositories = append(p.repositories, r.ID)
			bodies = append(bodies, s.repositoryBody(r))
		}
		out["repositories"], out["repository_selection"] = bodies, "selected"
	}
	token := "ghs_" + random(alnum, 36)
	if s.knobs.long {
		token = "ghs_" + strconv.FormatInt(a.ID, 10) + "_" + random(alnum, 60) + "." + random(alnum, 700) + "." + random(alnum, 342)
	}
	s.world.passes[token] = p
	out["token"] = token
	return reply(http.StatusCreated, out)
}

// narrow is the list of repositories that a token is for, nil for all, or why it cannot be.
func (s *Server) narrow(a *app, i *installation, want scope) ([]*Repository, string) {
	levels, granted := []string{"read", "write", "admin"}, a.granted()
	for name, level := range want.Permissions {
		if slices.Index(levels, granted[name]) < max(slices.Index(levels, level), 0) {
			return nil, "The permissions requested are not granted to this installation."
		}
	}
	if want.Repositories == nil && want.RepositoryIDs == nil {
		return nil, ""
	}
	if len(want.Repositories)+len(want.RepositoryIDs) > 500 {
		return nil, "There are too many repositories."
	}
	list := []*Repository{}
	for _, r := range s.world.repositoriesOf(i) {
		if slices.Contains(want.RepositoryIDs, r.ID) || slices.Contains(want.Repositories, r.Name) {
			list = append(list, r)
		}
	}
	if len(list) != len(want.Repositories)+len(want.RepositoryIDs) {
		return nil, "There is at least one repository that does not exist or is not accessible to the parent installation."
	}
	return list, ""
}
