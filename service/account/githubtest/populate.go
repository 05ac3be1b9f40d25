package githubtest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// AddUser adds a person and returns their id, a new one where it is 0. A login that is taken is a mistake of the test.
func (s *Server) AddUser(u User) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	u.ID = cmp.Or(u.ID, s.world.next())
	s.claim(u.Login, 0)
	s.world.users = append(s.world.users, &u)
	return u.ID
}

// SetUser changes a person: another login, other addresses.
func (s *Server) SetUser(id int64, change func(*User)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.world.user(id)
	if u == nil {
		panic(fmt.Sprintf("githubtest: no user %d", id))
	}
	change(u)
	u.ID = id
	s.claim(u.Login, id)
}

// claim panics where another has the login.
func (s *Server) claim(login string, by int64) {
	for _, u := range s.world.users {
		if strings.EqualFold(u.Login, login) && u.ID != by {
			panic("githubtest: the login is taken: " + login)
		}
	}
	if s.world.organizationNamed(login) != nil {
		panic("githubtest: the login is taken: " + login)
	}
}

// AddOrganization adds an organization and returns its id, a new one where it is 0.
func (s *Server) AddOrganization(o Organization) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.ID = cmp.Or(o.ID, s.world.next())
	s.claim(o.Login, 0)
	s.world.organizations = append(s.world.organizations, &o)
	return o.ID
}

// AddRepository adds a repository and returns its id, a new one where it is 0.
func (s *Server) AddRepository(r Repository) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.ID = cmp.Or(r.ID, s.world.next())
	s.world.repositories = append(s.world.repositories, &r)
	return r.ID
}

// AddInstallation installs an app and returns the id of the installation.
func (s *Server) AddInstallation(i Installation) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addInstallation(i)
}

func (s *Server) addInstallation(i Installation) int64 {
	if s.world.app(i.App) == nil || s.world.account(i.Account).id == 0 {
		panic("githubtest: an installation needs an app and an account that there are")
	}
	i.ID = cmp.Or(i.ID, s.world.next())
	made := &installation{Installation: i, created: s.now()}
	if i.Suspended {
		made.asleep = s.now()
	}
	s.world.installations = append(s.world.installations, made)
	return i.ID
}

// AddInstallations installs an app for n new organizations of a person, and returns the ids.
func (s *Server) AddInstallations(app, user int64, n int) []int64 {
	var ids []int64
	for range n {
		o := s.AddOrganization(Organization{Login: "org-" + random(hexDigits, 12), Members: []int64{user}})
		ids = append(ids, s.AddInstallation(Installation{App: app, Account: o}))
	}
	return ids
}

// Suspend puts an installation to sleep, or wakes it.
func (s *Server) Suspend(id int64, asleep bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.world.installation(id)
	if i == nil {
		panic(fmt.Sprintf("githubtest: no installation %d", id))
	}
	if i.Suspended = asleep; asleep {
		i.asleep = s.now()
	}
}

// Uninstall ends an installation.
func (s *Server) Uninstall(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world.installations = slices.DeleteFunc(s.world.installations, func(i *installation) bool { return i.ID == id })
}

// SignIn makes a person the one that browsers are, unless they have a cookie of their own from GET /login?as=LOGIN.
func (s *Server) SignIn(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.world.user(id) == nil {
		panic(fmt.Sprintf("githubtest: no user %d", id))
	}
	s.world.current = id
}
