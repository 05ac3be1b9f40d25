package githubtest

import (
	"cmp"
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

// conversion is a code that stands for a new app, once and for an hour.
type conversion struct {
	app *app
	at  time.Time
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

// parseManifest also returns what is wrong with it, in the words of the real one; empty: nothing.
func parseManifest(text []byte) (manifest, string) {
	var m manifest
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
		if !slices.Contains(permissions, name) || (level != "read" && level != "write" && level != "admin") {
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

// newApp is where a browser posts a manifest. Where pages are shown the person approves first, and may change the name.
func (s *Server) newApp(c *call) answer {
	form, _ := url.ParseQuery(string(c.body))
	user := s.person(c, form.Get("as"))
	owner := account{user.ID, user.Login, "User"}
	if name := c.PathValue("org"); name != "" {
		o := s.world.organizationNamed(name)
		if o == nil || !s.world.mayActFor(user.ID, o.ID) {
			return noPage()
		}
		owner = account{o.ID, o.Login, "Organization"}
	}
	m, wrong := parseManifest([]byte(form.Get("manifest")))
	if wrong != "" {
		return page(http.StatusUnprocessableEntity, "Invalid GitHub App configuration", notice(wrong))
	}
	if s.pages && !form.Has("decision") {
		return page(http.StatusOK, "Create GitHub App for "+owner.login, pageContent{
			Action: c.URL.String(), Hidden: map[string]string{"manifest": form.Get("manifest")}, Name: m.Name,
		})
	}
	if form.Get("decision") == "cancel" {
		return page(http.StatusOK, "Not created", notice("Nothing was created."))
	}
	m.Name = cmp.Or(form.Get("name"), m.Name)
	code := random(hexDigits, 40)
	s.world.conversions[code] = &conversion{s.register(m, owner), s.now()}
	return home(m.RedirectURL, url.Values{"code": {code}}, c.URL.Query())
}

// AddApp registers an app of octocat, as if its manifest had been approved and converted.
func (s *Server) AddApp(manifest []byte) (App, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, wrong := parseManifest(manifest)
	if wrong != "" {
		return App{}, fmt.Errorf("add app: %s", wrong)
	}
	return s.register(m, s.world.account(Octocat)).App, nil
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

func (s *Server) register(m manifest, owner account) *app {
	makeKey := newKey
	if n := len(s.world.apps); n < len(keys) {
		makeKey = keys[n]
	}
	key := makeKey()
	a := &app{key: key, callbacks: m.Callbacks, setup: m.SetupURL, created: s.now()}
	a.ID, a.Name = s.world.next(), m.Name
	// A name that is taken is changed by the person.
	for n := 2; find(s.world.apps, func(b *app) bool { return b.Name == a.Name }) != nil; n++ {
		a.Name = fmt.Sprintf("%s-%d", m.Name[:min(len(m.Name), 30)], n)
	}
	a.Slug = strings.Trim(notSlug.ReplaceAllString(strings.ToLower(a.Name), "-"), "-")
	a.HTMLURL = s.URL + "/apps/" + a.Slug
	a.ClientID, a.ClientSecret = "Iv23li"+random(alnum, 14), random(hexDigits, 40)
	a.PEM = string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
	if m.Hook != nil {
		a.WebhookSecret = random(hexDigits, 40)
	}
	a.Owner, a.OwnerType, a.owner = owner.login, owner.kind, owner
	a.Permissions, a.Events = m.Permissions, m.Events
	s.world.apps = append(s.world.apps, a)
	return a
}

// convert hands over an app, once.
func (s *Server) convert(c *call) answer {
	found := s.world.conversions[c.PathValue("code")]
	if found == nil || s.now().Sub(found.at) > time.Hour {
		return refuse(http.StatusNotFound, "Not Found")
	}
	delete(s.world.conversions, c.PathValue("code"))
	body := s.appBody(found.app)
	body["client_secret"], body["pem"], body["webhook_secret"] = found.app.ClientSecret, found.app.PEM, nil
	if found.app.WebhookSecret != "" && !s.knobs.noSecret {
		body["webhook_secret"] = found.app.WebhookSecret
	}
	if other := s.knobs.owner; other != "" {
		owner := account{s.world.next(), other, "Organization"}
		if u := s.world.userNamed(other); u != nil {
			owner = account{u.ID, u.Login, "User"}
		}
		body["owner"] = s.accountBody(owner)
	}
	return reply(http.StatusCreated, body)
}

func (s *Server) appBody(a *app) map[string]any {
	return map[string]any{
		"id": a.ID, "slug": a.Slug, "node_id": "A_" + strconv.FormatInt(a.ID, 36), "client_id": a.ClientID,
		"owner": s.accountBody(a.owner), "name": a.Name, "description": nil,
		"external_url": s.URL, "html_url": a.HTMLURL, "created_at": stamp(a.created), "updated_at": stamp(a.created),
		"permissions": a.Permissions, "events": a.Events,
	}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
