package githubtest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// What there is from the beginning. Octocat is a member of Acme, and the person of browsers that have no cookie "user" with
// another login.
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
	Members []int64 // they may install apps and make them
}

// Repository belongs to a person or an organization.
type Repository struct {
	ID      int64
	Owner   int64
	Name    string
	Private bool
}

// Installation is an app on an account, with all of its repositories.
type Installation struct {
	ID        int64 // 0: the next one
	App       int64 // the app's id
	Account   int64 // a person's or an organization's
	Suspended bool
}

// world is all that there is at GitHub, and how it behaves.
type world struct {
	origin string
	now    func() time.Time

	asks         bool   // pages are shown
	eternal      bool   // tokens do not expire
	onlyRequests bool   // installations are asked for
	convertAs    string // an owner of apps; empty: the true one

	users         []*User
	organizations []*Organization
	repositories  []*Repository
	installations []*Installation
	apps          []*app
	conversions   map[string]*app // by their codes
	codes         map[string]*code
	grants        []*grant
	lastID        int64
}

// account is a person or an organization.
type account struct {
	id    int64
	login string
	kind  string // User or Organization
}

func newWorld() world {
	return world{
		now: time.Now,
		users: []*User{
			{ID: Octocat, Login: "octocat", Name: "Mona Lisa Octocat", Email: "octocat@example.com", Emails: []Email{
				{"583231+octocat@users.noreply.github.com", true, false, ""},
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
		conversions: map[string]*app{}, codes: map[string]*code{}, lastID: 48213376,
	}
}

// next is an id that was never given.
func (w *world) next() int64 {
	w.lastID++
	return w.lastID
}

// find is the first that is so, and zero where none is.
func find[T any](all []T, is func(T) bool) (found T) {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i]
	}
	return found
}

func (w *world) person(id int64) *User {
	return find(w.users, func(u *User) bool { return u.ID == id })
}

func (w *world) app(id int64) *app {
	return find(w.apps, func(a *app) bool { return a.ID == id })
}

func (w *world) appOf(clientID string) *app {
	return find(w.apps, func(a *app) bool { return a.ClientID == clientID })
}

func (w *world) installationOf(id int64) *Installation {
	return find(w.installations, func(i *Installation) bool { return i.ID == id })
}

func (w *world) accounts() (all []account) {
	for _, u := range w.users {
		all = append(all, account{u.ID, u.Login, "User"})
	}
	for _, o := range w.organizations {
		all = append(all, account{o.ID, o.Login, "Organization"})
	}
	return all
}

func (w *world) account(id int64) account {
	return find(w.accounts(), func(a account) bool { return a.id == id })
}

func (w *world) accountNamed(login string) account {
	return find(w.accounts(), func(a account) bool { return strings.EqualFold(a.login, login) })
}

// mayActFor reports whether a person decides for an account.
func (w *world) mayActFor(user, owner int64) bool {
	o := find(w.organizations, func(o *Organization) bool { return o.ID == owner })
	return user == owner || o != nil && slices.Contains(o.Members, user)
}

func (w *world) accountBody(a account) map[string]any {
	return map[string]any{"login": a.login, "id": a.id, "type": a.kind, "html_url": w.origin + "/" + a.login}
}

// repositoryBodies tell of the repositories that are so.
func (w *world) repositoryBodies(are func(*Repository) bool) []any {
	all := []any{}
	for _, r := range w.repositories {
		if !are(r) {
			continue
		}
		owner := w.account(r.Owner)
		all = append(all, map[string]any{
			"id": r.ID, "name": r.Name, "full_name": owner.login + "/" + r.Name, "private": r.Private, "owner": w.accountBody(owner),
		})
	}
	return all
}

// among holds for repositories with one of the ids.
func among(ids []int64) func(*Repository) bool {
	return func(r *Repository) bool { return slices.Contains(ids, r.ID) }
}

// change lets one party at a time change the world.
func (s *Server) change(fn func(*world)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn(&s.world)
}

// ExpireTokens says whether tokens end after eight hours and come with one to refresh. They do by default.
func (s *Server) ExpireTokens(on bool) { s.change(func(w *world) { w.eternal = !on }) }

// ConvertAs lets conversions name another owner than was asked for; empty: the true one.
func (s *Server) ConvertAs(login string) { s.change(func(w *world) { w.convertAs = login }) }

// RequestInstall lets a browser only ask an owner for an installation.
func (s *Server) RequestInstall(on bool) { s.change(func(w *world) { w.onlyRequests = on }) }

// SetPermission changes what an app may do, and takes it away where the level is empty. As with the real one, tokens that
// are already out keep what they had.
func (s *Server) SetPermission(app int64, name, level string) {
	s.change(func(w *world) {
		allowed := w.app(app).Permissions
		if allowed[name] = level; level == "" {
			delete(allowed, name)
		}
	})
}

// SetUser changes a person: another login, other addresses.
func (s *Server) SetUser(id int64, change func(*User)) {
	s.change(func(w *world) { change(w.person(id)) })
}

// AddUser adds a person and returns their id, a new one where it is 0.
func (s *Server) AddUser(u User) int64 { return add(s, &s.users, &u, &u.ID) }

// AddOrganization adds an organization and returns its id, a new one where it is 0.
func (s *Server) AddOrganization(o Organization) int64 { return add(s, &s.organizations, &o, &o.ID) }

// AddRepository adds a repository and returns its id, a new one where it is 0.
func (s *Server) AddRepository(r Repository) int64 { return add(s, &s.repositories, &r, &r.ID) }

// AddInstallation installs an app and returns the id of the installation.
func (s *Server) AddInstallation(i Installation) int64 { return add(s, &s.installations, &i, &i.ID) }

func add[T any](s *Server, all *[]*T, one *T, id *int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	*id = cmp.Or(*id, s.next())
	*all = append(*all, one)
	return *id
}

// AddInstallations installs an app for n new organizations of a person, and returns the ids.
func (s *Server) AddInstallations(app, user int64, n int) (ids []int64) {
	for i := range n {
		o := s.AddOrganization(Organization{Login: fmt.Sprint("org-", i), Members: []int64{user}})
		ids = append(ids, s.AddInstallation(Installation{App: app, Account: o}))
	}
	return ids
}
