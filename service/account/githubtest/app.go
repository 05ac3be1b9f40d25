package githubtest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// App is a registered app with its credentials.
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
	Description string
	Public      bool
	Events      []string          `json:"default_events"`
	Permissions map[string]string `json:"default_permissions"`
	OnInstall   bool              `json:"request_oauth_on_install"`
	OnUpdate    bool              `json:"setup_on_update"`
}

// parseManifest also returns what is wrong with it, in the words of the real one; empty: nothing.
func parseManifest(text []byte) (manifest, string) {
	var m manifest
	switch {
	case json.Unmarshal(text, &m) != nil:
		return m, "The configuration does not appear to be a valid GitHub App manifest."
	case m.URL == "" || (m.Hook != nil && m.Hook.URL == ""):
		// The real one does not say which url either.
		return m, `Error: "url" wasn't supplied.`
	case utf8.RuneCountInString(m.Name) > 34:
		return m, "Name is too long (maximum is 34 characters)"
	case len(m.Callbacks) > 10:
		return m, "Callback urls can't be more than 10"
	}
	for name, level := range m.Permissions {
		if !permissions[name] || (level != "read" && level != "write" && level != "admin") {
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
	if name, ok := c.vars["org"]; ok {
		o := s.world.organizationNamed(name)
		if o == nil || !s.world.mayActFor(user.ID, o.ID) {
			return page(http.StatusNotFound, "Page not found", notice("This is not the web page you are looking for."))
		}
		owner = account{o.ID, o.Login, "Organization"}
	}
	m, wrong := parseManifest([]byte(form.Get("manifest")))
	if wrong == "" && m.RedirectURL == "" {
		wrong = `Error: "redirect_url" wasn't supplied.`
	}
	if wrong != "" {
		return page(http.StatusUnprocessableEntity, "Invalid GitHub App configuration", notice(wrong))
	}
	if s.pages && !form.Has("decision") {
		return page(http.StatusOK, "Create GitHub App for "+owner.login, approveApp(c.URL.String(), form.Get("manifest"), m.Name))
	}
	if form.Get("decision") == "cancel" {
		return page(http.StatusOK, "Not created", notice("Nothing was created."))
	}
	if name := form.Get("name"); name != "" {
		m.Name = name
	}
	code := random(hexDigits, 40)
	s.world.conversions[code] = &conversion{s.register(m, owner), s.now()}
	return moved(withQuery(m.RedirectURL, "code", code, "state", c.URL.Query().Get("state")))
}

// AddApp registers an app of the person who is signed in, as if its manifest had been approved and converted.
func (s *Server) AddApp(manifest []byte) (App, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, wrong := parseManifest(manifest)
	if wrong != "" {
		return App{}, fmt.Errorf("add app: %s", wrong)
	}
	return s.register(m, s.world.account(s.world.current)).shown(), nil
}

// shown is a copy that the caller may keep.
func (a *app) shown() App {
	out := a.App
	out.Permissions = maps.Clone(a.Permissions)
	return out
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
	a := &app{key: key, callbacks: m.Callbacks, setup: m.SetupURL, onUpdate: m.OnUpdate, owner: owner.id, created: s.now()}
	a.ID, a.Name = s.world.next(), m.Name
	// A name that is taken is changed by the person.
	for n := 2; find(s.world.apps, func(b *app) bool { return b.Name == a.Name }) != nil; n++ {
		a.Name = fmt.Sprintf("%s-%d", m.Name[:min(len(m.Name), 30)], n)
	}
	a.Slug = strings.Trim(notSlug.ReplaceAllString(strings.ToLower(a.Name), "-"), "-")
	a.ClientID, a.ClientSecret = "Iv23li"+random(alnum, 14), random(hexDigits, 40)
	a.PEM = string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
	if m.Hook != nil {
		a.hook, a.WebhookSecret = m.Hook.URL, random(hexDigits, 40)
	}
	a.HTMLURL = s.URL + "/apps/" + a.Slug
	a.Owner, a.OwnerType = owner.login, owner.kind
	a.Permissions, a.Events = maps.Clone(m.Permissions), append([]string{}, m.Events...)
	if a.Permissions == nil {
		a.Permissions = map[string]string{}
	}
	s.world.apps = append(s.world.apps, a)
	return a
}

// convert hands over an app, once.
func (s *Server) convert(c *call) answer {
	found := s.world.conversions[c.vars["code"]]
	if found == nil || s.now().Sub(found.at) > time.Hour {
		return refuse(http.StatusNotFound, "Not Found")
	}
	delete(s.world.conversions, c.vars["code"])
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
		"owner": s.accountBody(s.world.account(a.owner)), "name": a.Name, "description": nil,
		"external_url": s.URL, "html_url": a.HTMLURL, "created_at": stamp(a.created), "updated_at": stamp(a.created),
		"permissions": a.Permissions, "events": a.Events,
	}
}

func (s *Server) appPage(c *call) answer {
	if find(s.world.apps, func(a *app) bool { return a.Slug == c.vars["slug"] }) == nil {
		return page(http.StatusNotFound, "Page not found", notice("This is not the web page you are looking for."))
	}
	return page(http.StatusOK, c.vars["slug"], notice("A GitHub App."))
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// withQuery is an address with more in its query.
func withQuery(address string, pairs ...string) string {
	u, err := url.Parse(address)
	if err != nil {
		panic("githubtest: " + err.Error())
	}
	q := u.Query()
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	u.RawQuery = q.Encode()
	return u.String()
}
