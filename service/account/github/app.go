package github

import (
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// App is a GitHub App with what it proves itself by. It prints as its name alone.
type App struct {
	ID            int64
	Slug          string
	Name          string
	ClientID      string `json:"client_id"`
	ClientSecret  string `json:"client_secret"`
	PEM           string
	WebhookSecret string `json:"webhook_secret"` // empty: the app has no webhook
	HTMLURL       string `json:"html_url"`
	Owner         string // the login of whom it belongs to
	OwnerType     string // User or Organization
	Permissions   map[string]string
	Events        []string
}

// Format keeps the secrets out of every verb.
func (a App) Format(s fmt.State, _ rune) { fmt.Fprintf(s, "github app %q", a.Slug) }

// LogValue keeps the secrets out of the log.
func (a App) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(a)) }

// OwnedBy reports whether the app belongs to the owner that was asked for; an empty one is any person.
func (a App) OwnedBy(owner string) bool {
	if owner == "" {
		return a.OwnerType == "User"
	}
	return strings.EqualFold(a.Owner, owner)
}

// MissingPermissions are those that were asked for and not granted, such as emails:read, in order.
func (a App) MissingPermissions() []string {
	var missing []string
	for name, level := range wanted() {
		if rank(a.Permissions[name]) < rank(level) {
			missing = append(missing, name+":"+level)
		}
	}
	slices.Sort(missing)
	return missing
}

func rank(level string) int { return slices.Index([]string{"read", "write", "admin"}, level) }

var (
	codeGrammar = regexp.MustCompile(`^[A-Za-z0-9_-]{1,255}$`)
	slugGrammar = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,98}$`)
)

const spent = "The code has expired or was already used; start again."

// Convert fetches the app that the code stands for. It asks once: after a failure the code may be spent and the app may
// exist, its credentials lost.
func (c *Client) Convert(ctx context.Context, code string) (App, error) {
	if !codeGrammar.MatchString(code) {
		return App{}, manifestFailed(spent, errors.New("the code is not one"))
	}
	q := request{what: "convert manifest", method: http.MethodPost, path: "/app-manifests/" + code + "/conversions", want: http.StatusCreated}
	body, err := c.ask(ctx, q)
	for _, gone := range []status{http.StatusNotFound, http.StatusUnprocessableEntity} {
		if errors.Is(err, gone) {
			return App{}, manifestFailed(spent, fmt.Errorf("%s: %w", q.what, gone))
		}
	}
	if err != nil {
		return App{}, err
	}
	app, err := c.parseApp(body)
	if err != nil {
		return App{}, manifestFailed("What GitHub sent is not a usable app.", fmt.Errorf("%s: %w", q.what, err))
	}
	return app, nil
}

// parseApp reads a conversion and checks that the app can do what it is for.
func (c *Client) parseApp(body []byte) (App, error) {
	var v struct {
		App
		Owner struct{ Login, Type string }
	}
	if json.Unmarshal(body, &v) != nil {
		return App{}, errNotUnderstood
	}
	app := v.App
	app.Owner, app.OwnerType = v.Owner.Login, v.Owner.Type
	page, err := url.Parse(app.HTMLURL)
	switch {
	case app.ID <= 0 || !slugGrammar.MatchString(app.Slug):
		return App{}, errors.New("the id or the slug is not one")
	case !usable(app.ClientID) || !usable(app.ClientSecret):
		return App{}, errors.New("the client id or secret is missing")
	case err != nil || !strings.EqualFold(page.Host, c.web.Host):
		return App{}, errors.New("the page of the app is at another host")
	case app.Owner == "":
		return App{}, errors.New("the owner is missing")
	}
	_, err = app.key()
	return app, err
}

// minKey is the shortest key, in bits, that the app may sign with.
const minKey = 2048

// key is the private key of the app. Its errors say nothing of it.
func (a App) key() (*rsa.PrivateKey, error) {
	block, rest := pem.Decode([]byte(a.PEM))
	if block == nil || strings.TrimSpace(string(rest)) != "" {
		return nil, errors.New("the private key is not one PEM block")
	}
	var key any
	var err error
	switch block.Type {
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case "PRIVATE KEY":
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	}
	private, ok := key.(*rsa.PrivateKey)
	if err != nil || !ok {
		return nil, errors.New("the private key is not an RSA key")
	}
	if private.N.BitLen() < minKey {
		return nil, fmt.Errorf("the private key has fewer than %d bits", minKey)
	}
	return private, nil
}

// maxToken is the longest token that is kept, in bytes.
const maxToken = 4 << 10

// usable reports whether a token or an id can be sent and kept: visible ASCII, not empty, not too long.
func usable(token string) bool {
	invisible := func(r rune) bool { return r <= ' ' || r > '~' }
	return token != "" && len(token) <= maxToken && !strings.ContainsFunc(token, invisible)
}
