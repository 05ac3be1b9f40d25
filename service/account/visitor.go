package account

import (
	"context"
	"errors"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
)

// visitor is somebody whom a provider vouches for. Issuer and subject alone say who; the login shows, and an address is
// only a way to reach them.
type visitor struct {
	Provider string
	Issuer   string
	Subject  string
	Login    string
	Name     string
	Email    string // normal; empty: none that can be used
	Verified bool   // the provider knows that the address is theirs
	NoEmail  bool   // the app may not read addresses
	Grant    grant
}

// settled is what a visit comes to in one transaction: how it ends, and what is told of it.
type settled struct {
	Outcome
	events []audit.Event
}

// receive decides what a visitor gets. Where somebody else decided the same question at the same moment, it is asked again.
func (a *Accounts) receive(ctx context.Context, v visitor, j journey, c Callback) (Outcome, error) {
	var s settled
	err := a.insist(ctx, func(tx *sqldb.Tx, out *letters) error {
		s = settled{Outcome: Outcome{ReturnTo: j.ReturnTo}}
		if err := noteEmails(tx, v.Provider, !v.NoEmail); err != nil {
			return err
		}
		if err := a.settle(ctx, tx, out, v, j, c, &s); err != nil {
			return err
		}
		if v.NoEmail && s.SignedIn != nil {
			s.Notice = WarnNoEmail
			s.tell(s.SignedIn.Account, WarnNoEmail)
		}
		return a.Audit.Append(ctx, tx, s.events...)
	})
	if err != nil {
		return Outcome{}, err
	}
	return s.Outcome, nil
}

func (a *Accounts) settle(ctx context.Context, tx *sqldb.Tx, out *letters, v visitor, j journey, c Callback, s *settled) error {
	switch j.Intent {
	case IntentReauth:
		return a.confirmVisitor(tx, v, *c.Who, s)
	case IntentLink, IntentConnect:
		return a.linkVisitor(tx, out, v, *c.Who, s)
	}
	if err := a.signInVisitor(ctx, tx, v, j, s); err != nil {
		return err
	}
	if s.SignedIn != nil && c.Who != nil {
		// The value that this browser had dies with the one it gets.
		return a.end(tx, "signed in anew", "id = $3", c.Who.Session.ID)
	}
	return nil
}

// insist posts again when another transaction took what this one wanted to take.
func (a *Accounts) insist(ctx context.Context, fn func(tx *sqldb.Tx, out *letters) error) error {
	for try := 0; ; try++ {
		err := a.post(ctx, fn)
		if try == 4 || !errors.Is(err, errTaken) {
			return err
		}
	}
}

func (s *settled) tell(p Account, action string, changes ...string) {
	s.events = append(s.events, audit.Event{Actor: p.Actor(), Action: action, Target: p.target(), Scope: p.scope(), Changes: changes})
}

// source is where the address of a visitor came from.
func (v visitor) source() string {
	switch {
	case v.Email == "":
		return ""
	case v.Verified:
		return sourceProvider
	}
	return sourcePublicProfile
}

// shorten cuts a name to what an account can be called.
func shorten(name string) string {
	runes := []rune(name)
	return string(runes[:min(len(runes), maxDisplayName)])
}
