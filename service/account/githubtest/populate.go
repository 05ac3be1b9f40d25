package githubtest

import (
	"cmp"
	"slices"
)

// AddUser adds a person and returns their id, a new one where it is 0.
func (s *Server) AddUser(u User) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	u.ID = cmp.Or(u.ID, s.world.next())
	s.world.users = append(s.world.users, &u)
	return u.ID
}

// SetUser changes a person: another login, other addresses.
func (s *Server) SetUser(id int64, change func(*User)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s.world.user(id))
}

// AddOrganization adds an organization and returns its id, a new one where it is 0.
func (s *Server) AddOrganization(o Organization) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.ID = cmp.Or(o.ID, s.world.next())
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
	i.ID = cmp.Or(i.ID, s.world.next())
	s.world.installations = append(s.world.installations, &installation{i, s.now(), s.now()})
	return i.ID
}

// AddInstallations installs an app for n new organizations of a person, and returns the ids.
func (s *Server) AddInstallations(app, user int64, n int) (ids []int64) {
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
	i.Suspended, i.asleep = asleep, s.now()
}

// Uninstall ends an installation.
func (s *Server) Uninstall(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world.installations = slices.DeleteFunc(s.world.installations, func(i *installation) bool { return i.ID == id })
}
