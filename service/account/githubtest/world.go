package githubtest

import (
	"cmp"
	"crypto/rsa"
	"fmt"
	"slices"
	"strings"
	"time"
)

// What there is from the beginning. Octocat is a member of Acme, and who browsers are that have no cookie "user" with another login.
const (
	Octocat int64 = 583231
	Hubot   int64 = 480938
	Acme    int64 = 9919
	Widgets int64 = 724712480 // acme/widgets
	Gadgets int64 = 724712481 // acme/gadgets
	Hello   int64 = 1296269   // octocat/hello-world
	Scripts int64 = 1296270   // hubot/scripts
)

// User is a person.
type User struct {
	ID     int64
	Login  string
	Name   string
	Email  string // on the public profile; empty: null
	Emails []Email

	// Unverified people get no token: the answer is unverified_user_email.
	Unverified bool
}

// Email is an address of a person.
type Email struct {
	Email      string
	Verified   bool
	Primary    bool
	Visibility string // public, private; empty: null
}

// Organization is a group of people.
type Organization struct {
	ID      int64
	Login   string
	Members []int64 // who may install apps and make them
}

// Repository belongs to a person or an organization.
type Repository struct {
	ID      int64
	Owner   int64
	Name    string
	Private bool
}

// Installation is an app on an account.
type Installation struct {
	ID           int64   // 0: the next one
	App          int64   // the app's id
	Account      int64   // a person's or an organization's
	Repositories []int64 // nil: all of the account
	Suspended    bool
}

type world struct {
	users         []*User
	organizations []*Organization
	repositories  []*Repository
	installations []*installation
	apps          []*app
	codes         map[string]*code
	conversions   map[string]*conversion
	grants        []*grant
	lastID        int64
}

type installation struct {
	Installation
	created time.Time
	asleep  time.Time // when it was suspended
}

// app is a registered app.
type app struct {
	App
	key       *rsa.PrivateKey
	callbacks []string
	setup     string
	owner     account
	created   time.Time
}

// account is a person or an organization.
type account struct {
	id    int64
	login string
	kind  string // User or Organization
}

func newWorld() world {
	hidden := func(id int64, login string) string { return fmt.Sprintf("%d+%s@users.noreply.github.com", id, login) }
	return world{
		users: []*User{
			{ID: Octocat, Login: "octocat", Name: "Mona Lisa Octocat", Email: "octocat@example.com", Emails: []Email{
				{hidden(Octocat, "octocat"), true, false, ""},
				{"octocat@example.com", true, true, "public"},
				{"mona@example.net", false, false, ""},
			}},
			{ID: Hubot, Login: "hubot", Name: "Hubot", Emails: []Email{{"hubot@example.com", true, true, "private"}}},
		},
		organizations: []*Organization{{Acme, "acme", []int64{Octocat}}},
		repositories: []*Repository{
			{Widgets, Acme, "widgets", true}, {Gadgets, Acme, "gadgets", false},
			{Hello, Octocat, "hello-world", false}, {Scripts, Hubot, "scripts", true},
		},
		codes: map[string]*code{}, conversions: map[string]*conversion{}, lastID: 48213376,
	}
}

// next is an id that was never given.
func (w *world) next() int64 {
	w.lastID++
	return w.lastID
}

func find[T any](all []*T, is func(*T) bool) *T {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i]
	}
	return nil
}

func (w *world) user(id int64) *User {
	return find(w.users, func(u *User) bool { return u.ID == id })
}

func (w *world) userNamed(login string) *User {
	return find(w.users, func(u *User) bool { return strings.EqualFold(u.Login, login) })
}

func (w *world) organizationNamed(login string) *Organization {
	return find(w.organizations, func(o *Organization) bool { return strings.EqualFold(o.Login, login) })
}

func (w *world) app(id int64) *app {
	return find(w.apps, func(a *app) bool { return a.ID == id })
}

func (w *world) appOf(clientID string) *app {
	return find(w.apps, func(a *app) bool { return a.ClientID == clientID })
}

func (w *world) appNamed(slug string) *app {
	return find(w.apps, func(a *app) bool { return a.Slug == slug })
}

func (w *world) installation(id int64) *installation {
	return find(w.installations, func(i *installation) bool { return i.ID == id })
}

func (w *world) account(id int64) account {
	if u := w.user(id); u != nil {
		return account{u.ID, u.Login, "User"}
	}
	o := w.organization(id)
	return account{o.ID, o.Login, "Organization"}
}

func (w *world) organization(id int64) *Organization {
	return find(w.organizations, func(o *Organization) bool { return o.ID == id })
}

// mayActFor reports whether a person decides for an account.
func (w *world) mayActFor(user, owner int64) bool {
	o := w.organization(owner)
	return user == owner || (o != nil && slices.Contains(o.Members, user))
}

// repositoriesOf are those that an installation reaches, in order of their ids.
func (w *world) repositoriesOf(i *installation) []*Repository {
	var all []*Repository
	for _, r := range w.repositories {
		if r.Owner == i.Account && (i.Repositories == nil || slices.Contains(i.Repositories, r.ID)) {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b *Repository) int { return cmp.Compare(a.ID, b.ID) })
	return all
}
