package page

import (
	"cmp"
	"time"
)

// Providers is the page at ProvidersPath on the Admin surface, where the GitHub app is set up. It has a form that chooses
// the owner, by GET with kind and owner, and one at ReplaceProviderPath with confirm, kind and owner.
type Providers struct {
	Desk
	// App is the one that is set up. Nil: none is.
	App *App
	// Outcome is how the last attempt ended, when it did not end well: exchanging, where a crash may have left an app behind, or the
	// type of the refusal, manifest_owner_mismatch or manifest_exchange_failed.
	Outcome string
	// Attempt is what is known of an attempt that did not end well.
	Attempt Attempt
	// Web is the address of the provider. Defaults to https://github.com.
	Web string
	// Kind is the chosen kind of owner, and Owner the organization's name. With a Kind that was not refused the page
	// goes on to the approval.
	Kind  OwnerKind
	Owner string
	// Replace is true once the app was named that is to be replaced.
	Replace bool
	Confirm string // as typed
	// Linked is true when the person has signed in with this provider before.
	Linked bool
}

// OwnerKind says whose account at the provider owns the app.
type OwnerKind string

// The kinds of owners.
const (
	OwnerMe           OwnerKind = "me"
	OwnerOrganization OwnerKind = "org"
)

// Attempt is a set-up that did not end well.
type Attempt struct {
	Name        string // of the app that may exist
	Wanted, Got string // owners
}

// App is an app at the provider.
type App struct {
	Name, Slug, Owner string
	Organization      bool // the owner is one
	URL               string
	InstallURL        string
	ConfiguredAt      time.Time
	// Missing are the permissions that it lacks, as "emails:read".
	Missing []string
}

func (p Providers) sheet() sheet {
	s := sheet{name: "providers", title: "Sign-in providers", shell: desk, admin: true, here: ProvidersPath}
	switch {
	case p.App != nil && !p.Replace:
		s.fields = p.unlessStale("confirm", "kind", "owner")
	case !p.Chosen() && !p.Replace:
		s.fields = p.unlessStale("kind", "owner")
	}
	return s
}

// Site is the address of the provider.
func (p Providers) Site() string { return origin(cmp.Or(p.Web, "https://github.com")) }

// Chosen reports whether an owner is chosen that can be asked to approve.
func (p Providers) Chosen() bool {
	if len(p.Fields) > 0 {
		return false
	}
	return p.Kind == OwnerMe || p.Kind == OwnerOrganization && p.Owner != ""
}

// OnOrganization reports whether an organization was chosen to own the app.
func (p Providers) OnOrganization() bool { return p.Kind == OwnerOrganization }

// Approve is where the manifest is approved, at the platform.
func (p Providers) Approve(platform string) string {
	var owner, replace string
	if p.OnOrganization() {
		owner = p.Owner
	}
	if p.Replace {
		replace = "true"
	}
	return query(platform+githubPath+"/manifest", "owner", owner, "replace", replace)
}

// Try is where sign-in is tried without leaving the account: it links the person's own, or confirms it.
func (p Providers) Try(platform, admin string) string {
	intent := "link"
	if p.Linked {
		intent = "reauth"
	}
	return query(platform+githubPath+"/start", "intent", intent, "returnTo", admin+ProvidersPath)
}

// AppsURL is where the provider lists the apps of the wanted owner.
func (p Providers) AppsURL() string {
	return p.Site() + settings(p.Attempt.Wanted, p.Attempt.Wanted != "")
}

// PermissionsURL is where the app's permissions are changed.
func (p Providers) PermissionsURL() string {
	return p.Site() + settings(p.App.Owner, p.App.Organization) + "/" + p.App.Slug + "/permissions"
}

func settings(owner string, organization bool) string {
	if organization {
		return "/organizations/" + owner + "/settings/apps"
	}
	return "/settings/apps"
}

// permission is one of those that the app asks for.
type permission struct {
	Key, Name, Why string
}

// Asked are the permissions of the manifest.
func (Providers) Asked() []permission {
	return []permission{
		{"emails:read", "Email addresses, read", "to know the verified address of whoever signs in"},
		{"metadata:read", "Metadata, read", "to list the repositories that somebody may connect"},
		{"contents:write", "Contents, read and write", "to work on the files of connected repositories"},
		{"pull_requests:write", "Pull requests, read and write", "to open pull requests and answer on them"},
	}
}

// Step is the part of the set-up that waits for the person, counted from 1.
func (p Providers) Step() int {
	if p.Chosen() {
		return 3
	}
	return 1
}
