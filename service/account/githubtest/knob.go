package githubtest

import "time"

// knobs are ways of the whole server.
type knobs struct {
	skew     time.Duration
	expire   bool
	long     bool
	noSecret bool
	owner    string
	denial   int
	deny     string
	install  int64
	request  bool
}

func (s *Server) turn(f func(*knobs)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.knobs)
}

// Skew sets the server's clock apart from ours: codes grow old, and proofs are early or late.
func (s *Server) Skew(d time.Duration) { s.turn(func(k *knobs) { k.skew = d }) }

// ExpireTokens says whether tokens end after eight hours and come with one to refresh. They do by default.
func (s *Server) ExpireTokens(on bool) { s.turn(func(k *knobs) { k.expire = on }) }

// LongTokens gives installation tokens in their long form.
func (s *Server) LongTokens(on bool) { s.turn(func(k *knobs) { k.long = on }) }

// NoWebhookSecret lets conversions say null.
func (s *Server) NoWebhookSecret(on bool) { s.turn(func(k *knobs) { k.noSecret = on }) }

// ConvertAs lets conversions name another owner than was asked for; empty: the true one.
func (s *Server) ConvertAs(login string) { s.turn(func(k *knobs) { k.owner = login }) }

// DenyEmailsWith is the status, 403 or 404, for tokens that may not read addresses. It is 403 by default.
func (s *Server) DenyEmailsWith(status int) { s.turn(func(k *knobs) { k.denial = status }) }

// Deny sends browsers back with an error, such as access_denied, instead of a code; empty: it does not.
func (s *Server) Deny(code string) { s.turn(func(k *knobs) { k.deny = code }) }

// InstallOn is the account that a browser installs apps on; 0: the person's own.
func (s *Server) InstallOn(account int64) { s.turn(func(k *knobs) { k.install = account }) }

// RequestInstall lets a browser only ask an owner for an installation.
func (s *Server) RequestInstall(on bool) { s.turn(func(k *knobs) { k.request = on }) }

// SetPermission changes what an app may do, and takes it away where the level is empty. As with the real one, tokens that
// are already out keep what they had.
func (s *Server) SetPermission(app int64, name, level string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	allowed := s.world.app(app).Permissions
	if allowed[name] = level; level == "" {
		delete(allowed, name)
	}
}
