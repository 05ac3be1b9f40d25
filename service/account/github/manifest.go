package github

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strings"

	"svc.dev/svc/fault"
)

// manifest is the app that an administrator is asked to approve, in the order of the contract.
type manifest struct {
	Name         string            `json:"name"`
	URL          string            `json:"url"`
	RedirectURL  string            `json:"redirect_url"`
	CallbackURLs []string          `json:"callback_urls"`
	SetupURL     string            `json:"setup_url"`
	OnUpdate     bool              `json:"setup_on_update"`
	OnInstall    bool              `json:"request_oauth_on_install"`
	Public       bool              `json:"public"`
	Hook         *hook             `json:"hook_attributes,omitempty"`
	Permissions  map[string]string `json:"default_permissions"`
	Events       []string          `json:"default_events"`
}

type hook struct {
	URL    string `json:"url"`
	Active bool   `json:"active"`
}

// wanted are the permissions that the app asks for. The one for addresses is called emails: a manifest that says
// email_addresses is refused.
func wanted() map[string]string {
	return map[string]string{"emails": "read", "metadata": "read", "contents": "write", "pull_requests": "write"}
}

// Manifest describes the app of a service to GitHub. Where GitHub could not deliver to the service the app has no webhook.
func Manifest(brand, platformURL string) ([]byte, error) {
	u, err := url.Parse(platformURL)
	if err != nil || u.Hostname() == "" || (u.Scheme != "https" && u.Scheme != "http") || strings.Trim(u.Path, "/") != "" {
		return nil, fault.Invalid("The address of the platform is not one.")
	}
	base := u.Scheme + "://" + u.Host
	routes := base + "/api/auth/oauth/github"
	m := manifest{
		Name: appName(brand, u.Hostname()), URL: base, RedirectURL: routes + "/manifest/callback",
		CallbackURLs: []string{routes + "/callback"}, SetupURL: routes + "/setup", OnUpdate: true, Public: true,
		Permissions: wanted(), Events: []string{"push", "pull_request"},
	}
	if u.Scheme == "https" && !unreachable(u.Hostname()) {
		m.Hook = &hook{URL: routes + "/webhook", Active: true}
	}
	return json.Marshal(m)
}

// maxName is the longest name of an app.
const maxName = 34

// appName is the brand and the host, cut to what GitHub takes.
func appName(brand, host string) string {
	name := []rune(brand + "-" + host)
	if len(name) > maxName {
		name = name[:maxName]
	}
	return strings.Trim(string(name), "-. ")
}

var ownerName = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9-]{0,37}[A-Za-z0-9])?$`)

// ValidOwner reports whether a name can be that of an organization.
func ValidOwner(owner string) bool {
	return ownerName.MatchString(owner) && !strings.Contains(owner, "--")
}

// ManifestURL is where the browser posts the manifest; an empty owner is whoever is signed in there.
func (c *Client) ManifestURL(owner, state string) (string, error) {
	query := url.Values{"state": {state}}
	if owner == "" {
		return c.page(query, "settings", "apps", "new"), nil
	}
	if !ValidOwner(owner) {
		return "", invalidField("owner", "The owner is not the name of an organization.")
	}
	return c.page(query, "organizations", owner, "settings", "apps", "new"), nil
}

func invalidField(name, details string) *fault.Error {
	return fault.Invalid("%s", details).With("fields", []map[string]string{{"field": name, "type": "invalid"}})
}
