package githubtest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// App is a registered app with its credentials. It converts to a github.App.
type App struct {
	ID            int64
	Slug          string
	Name          string
	ClientID      string
	ClientSecret  string
	PEM           string
	WebhookSecret string // empty: it has no webhook
	HTMLURL       string
	Owner         string
	OwnerType     string
	Permissions   map[string]string
	Events        []string
}

// app is a registered app, with what GitHub alone knows of it.
type app struct {
	App
	key       *rsa.PrivateKey
	callbacks []string
	setup     string
	created   time.Time
}

// manifest is what an app is made from.
type manifest struct {
	Name        string
	URL         string
	Hook        *struct{ URL string } `json:"hook_attributes"`
	RedirectURL string                `json:"redirect_url"`
	Callbacks   []string              `json:"callback_urls"`
	SetupURL    string                `json:"setup_url"`
	Events      []string              `json:"default_events"`
	Permissions map[string]string     `json:"default_permissions"`
}

// permissions are the names that a manifest may use, of the real ones those that an app like ours may want. The one for
// addresses is emails; email_addresses is refused.
var permissions = strings.Fields("actions administration checks contents emails issues members metadata pull_requests statuses workflows")

// levels of a permission, from the least.
var levels = []string{"read", "write", "admin"}

// parseManifest also returns what is wrong with it, in the words of the real one; empty: nothing.
func parseManifest(text []byte) (m manifest, wrong string) {
	switch {
	case json.Unmarshal(text, &m) != nil:
		return m, "The configuration does not appear to be a valid GitHub App manifest."
	case m.URL == "" || m.RedirectURL == "" || (m.Hook != nil && m.Hook.URL == ""):
		// The real one does not say which url either.
		return m, `Error: "url" wasn't supplied.`
	case utf8.RuneCountInString(m.Name) > 34:
		return m, "Name is too long (maximum is 34 characters)"
	}
	for name, level := range m.Permissions {
		if !slices.Contains(permissions, name) || !slices.Contains(levels, level) {
			return m, "Default permission records resource is not included in the list: " + name
		}
	}
	for _, event := range m.Events {
		// These are delivered without asking, and asking is refused.
		if strings.HasPrefix(event, "installation") || event == "github_app_authorization" {
			return m, "Default events unsupported: " + event
		}
	}
	return m, ""
}

// newApp is where a browser posts a manifest.
func (c *call) newApp() answer {
	owner := c.account(c.browser().ID)
	if name := c.PathValue("org"); name != "" {
		by := owner.id
		if owner = c.accountNamed(name); owner.kind != "Organization" || !c.mayActFor(by, owner.id) {
			return noPage()
		}
	}
	m, wrong := parseManifest([]byte(c.FormValue("manifest")))
	switch {
	case wrong != "":
		return notice(http.StatusUnprocessableEntity, wrong)
	case c.undecided():
		return c.ask("Create "+m.Name+" for "+owner.login, choice{})
	case c.canceled():
		return notice(http.StatusOK, "Nothing was created.")
	}
	code := rand.Text()
	c.conversions[code] = c.register(m, owner)
	return c.home(m.RedirectURL, url.Values{"code": {code}})
}

// AddApp registers an app of octocat, as if its manifest had been approved and converted.
func (s *Server) AddApp(manifest []byte) (App, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, wrong := parseManifest(manifest)
	if wrong != "" {
		return App{}, fmt.Errorf("add app: %s", wrong)
	}
	return s.register(m, s.account(Octocat)).App, nil
}

// keys are those of a server's first apps. Servers share them, for they take long to make; apps of one server never do.
var keys = [...]func() *rsa.PrivateKey{sync.OnceValue(newKey), sync.OnceValue(newKey), sync.OnceValue(newKey), sync.OnceValue(newKey)}

func newKey() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic("githubtest: " + err.Error())
	}
	return key
}

var notSlug = regexp.MustCompile(`[^a-z0-9]+`)

func (w *world) register(m manifest, owner account) *app {
	makeKey := newKey
	if n := len(w.apps); n < len(keys) {
		makeKey = keys[n]
	}
	a := &app{key: makeKey(), callbacks: m.Callbacks, setup: m.SetupURL, created: w.now()}
	a.ID, a.Name = w.next(), m.Name
	// A name that is taken is changed by the person.
	for n := 2; find(w.apps, func(b *app) bool { return b.Name == a.Name }) != nil; n++ {
		a.Name = fmt.Sprintf("%s-%d", m.Name[:min(len(m.Name), 30)], n)
	}
	a.Slug = strings.Trim(notSlug.ReplaceAllString(strings.ToLower(a.Name), "-"), "-")
	a.HTMLURL = w.origin + "/apps/" + a.Slug
	a.ClientID, a.ClientSecret = "Iv23li"+rand.Text(), rand.Text()
	a.PEM = string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(a.key)}))
	if m.Hook != nil {
		a.WebhookSecret = rand.Text()
	}
	a.Owner, a.OwnerType = owner.login, owner.kind
	a.Permissions, a.Events = m.Permissions, m.Events
	w.apps = append(w.apps, a)
	return a
}

// convert hands over an app, once and for an hour.
func (c *call) convert() answer {
	a := c.conversions[c.PathValue("code")]
	if a == nil || c.now().Sub(a.created) > time.Hour {
		return c.nothing()
	}
	delete(c.conversions, c.PathValue("code"))
	owner := c.accountNamed(a.Owner)
	if other := c.convertAs; other != "" {
		if owner = c.accountNamed(other); owner.kind == "" {
			owner = account{c.next(), other, "Organization"}
		}
	}
	return reply(http.StatusCreated, map[string]any{
		"id": a.ID, "slug": a.Slug, "name": a.Name, "client_id": a.ClientID, "client_secret": a.ClientSecret, "pem": a.PEM,
		"webhook_secret": null(a.WebhookSecret), "html_url": a.HTMLURL, "owner": c.accountBody(owner), "created_at": stamp(a.created),
		"permissions": a.Permissions, "events": a.Events,
	})
}

func null(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// asApp answers an app that proves itself, about the installation of its own that the path names. A proof is RS256 with the key
// that was handed out, made in the past, for ten minutes at most.
func asApp(handle func(*call, *Installation) answer) handler {
	const most = 10 * time.Minute
	return func(c *call) answer {
		var claims jwt.Claims
		proof, err := jwt.ParseSigned(c.bearer(), []jose.SignatureAlgorithm{jose.RS256})
		if err != nil || proof.UnsafeClaimsWithoutVerification(&claims) != nil {
			return refuse(http.StatusUnauthorized, "A JSON web token could not be decoded")
		}
		id, _ := strconv.ParseInt(claims.Issuer, 10, 64)
		a := c.app(id)
		if a == nil {
			return refuse(http.StatusNotFound, "Integration not found")
		}
		now, made, ends := c.now(), claims.IssuedAt.Time(), claims.Expiry.Time()
		switch {
		case proof.Claims(&a.key.PublicKey) != nil:
			return refuse(http.StatusUnauthorized, "A JSON web token could not be decoded")
		case made.IsZero() || made.After(now):
			return refuse(http.StatusUnauthorized, "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued")
		case !ends.After(now):
			return refuse(http.StatusUnauthorized, "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires")
		case ends.After(now.Add(most)) || ends.After(made.Add(most)):
			return refuse(http.StatusUnauthorized, "'Expiration time' claim ('exp') is too far in the future")
		}
		return c.about(a, handle)
	}
}
