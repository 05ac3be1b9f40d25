package account

import (
	"cmp"
	"context"
	"errors"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/mail"
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

// settled is what a visit comes to in one transaction: how it ends, and what is told of it. After an error nothing of it counts.
type settled struct {
	Outcome
	events []audit.Event
}

// receive decides what a visitor gets. Where somebody else decided the same question at the same moment, it is asked again.
func (a *Identities) receive(ctx context.Context, v visitor, j journey, c Callback) (Outcome, error) {
	return a.visit(ctx, func(tx *sqldb.Tx, out *letters, s *settled) error {
		s.ReturnTo = j.ReturnTo
		if err := cmp.Or(a.Apps.NoteEmails(tx, v.Provider, !v.NoEmail), a.settle(ctx, tx, out, v, j, c, s)); err != nil {
			return err
		}
		if v.NoEmail && s.SignedIn != nil {
			s.Notice = WarnNoEmail
			s.tell(s.SignedIn.Account, WarnNoEmail)
		}
		return nil
	})
}

// visit settles a visit in one transaction, and tells of it there.
func (a *Identities) visit(ctx context.Context, settle func(tx *sqldb.Tx, out *letters, s *settled) error) (Outcome, error) {
	var s settled
	err := a.insist(ctx, func(tx *sqldb.Tx, out *letters) error {
		s = settled{}
		if err := settle(tx, out, &s); err != nil {
			return err
		}
		return a.Audit.Append(ctx, tx, s.events...)
	})
	if err != nil {
		return Outcome{}, err
	}
	return s.Outcome, nil
}

func (a *Identities) settle(ctx context.Context, tx *sqldb.Tx, out *letters, v visitor, j journey, c Callback, s *settled) error {
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
		return end(tx, a.Now(), "signed in anew", "id = $3", c.Who.Session.ID)
	}
	return nil
}

// insist posts again when another transaction took what this one wanted to take.
func (a *base) insist(ctx context.Context, fn func(tx *sqldb.Tx, out *letters) error) error {
	for try := 0; ; try++ {
		err := a.post(ctx, fn)
		if try == 4 || !errors.Is(err, errTaken) {
			return err
		}
	}
}

func (s *settled) tell(p Account, action string) {
	s.events = append(s.events, p.event(p.Actor(), action))
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

// signInVisitor is the rule by which somebody comes in. A known identity is all that counts. For a new one an address can
// stand in the way, and never opens an account:
//   - nobody has it: a new account;
//   - the provider did not prove it: a new account without it;
//   - its holder proved it too: a ticket, for whoever can sign in as the holder;
//   - its holder did not prove it, and could have: the address goes to the visitor, with an account of their own. Where
//     no mail is sent nobody could have, and the visitor is asked.
func (a *Identities) signInVisitor(ctx context.Context, tx *sqldb.Tx, v visitor, j journey, s *settled) error {
	id, found, err := findIdentity(tx, v)
	if err != nil {
		return err
	}
	if found {
		return a.reenter(ctx, tx, v, id, s)
	}
	held, taken, err := holder(tx, v)
	if err != nil {
		return err
	}
	b := birth{hint: v.Login, displayName: shorten(v.Name), email: v.Email, verified: v.Verified, source: v.source()}
	switch {
	case !taken:
	case !v.Verified, held.EmailVerified && held.deletedAt != 0:
		b.email, b.inUse = "", true
	case held.EmailVerified || !a.Mail.Enabled():
		s.OfferNew = !held.EmailVerified
		s.LinkTicket, err = a.issueTicket(tx, held, ticket{Visitor: v, Browser: j.Browser, Offer: s.OfferNew})
		return err
	default:
		released, err := a.evict(tx, held)
		if err != nil {
			return err
		}
		s.events = append(s.events, released)
	}
	return a.welcome(ctx, tx, v, b, s)
}

// holder is the account that has the address of a visitor who is not known. It is errTaken when the visitor has become
// known: the holder may be the account that they got in another tab, a moment ago.
func holder(tx *sqldb.Tx, v visitor) (Account, bool, error) {
	if v.Email == "" {
		return Account{}, false, nil
	}
	held, taken, err := byEmail(tx, v.Email)
	if err != nil || !taken {
		return held, false, err
	}
	if _, found, err := findIdentity(tx, v); err != nil || found {
		return held, true, cmp.Or(err, errTaken)
	}
	return held, true, nil
}

// reenter signs in to the account of a known identity. An identity whose account is gone opens none, and no address is
// asked instead.
func (a *Identities) reenter(ctx context.Context, tx *sqldb.Tx, v visitor, id identity, s *settled) error {
	p, err := a.refreshIdentity(tx, v, id)
	if err != nil {
		return err
	}
	in, err := a.sessions.start(ctx, tx, p, ByGitHub, id.id)
	s.SignedIn = &in
	s.tell(p, "login.github")
	return err
}

// refreshIdentity takes over what a provider says now of a known identity, and returns its account.
func (a *Identities) refreshIdentity(tx *sqldb.Tx, v visitor, id identity) (Account, error) {
	p, found, err := locked(tx, id.account)
	if err != nil {
		return p, err
	}
	if !found || p.deletedAt != 0 {
		return p, fault.New(InvalidCredentials, "No account can be entered this way.", "")
	}
	if p.Suspended {
		return p, suspended()
	}
	if err := change(tx, "update identity", errTaken, `UPDATE identities SET login = $3, no_email = $4, status = $5, lease = '', refreshing_until = 0, updated_at = $6
		WHERE id = $1 AND account = $2`, id.id, p.ID, v.Login, sqldb.Bit(v.NoEmail), connected, a.Now().UnixMilli()); err != nil {
		return p, err
	}
	if err := a.keepGrant(tx, p.ID, id.id, v.Grant); err != nil {
		return p, err
	}
	p, _, err = locked(tx, p.ID)
	return p, err
}

// welcome makes the account of a new visitor.
func (a *Identities) welcome(ctx context.Context, tx *sqldb.Tx, v visitor, b birth, s *settled) error {
	p, _, err := create(tx, a.Now(), b)
	if err != nil {
		return err
	}
	id, err := a.addIdentity(tx, p.ID, v)
	if err != nil {
		return err
	}
	if p, _, err = locked(tx, p.ID); err != nil {
		return err
	}
	in, err := a.sessions.start(ctx, tx, p, ByGitHub, id)
	s.SignedIn = &in
	s.tell(p, "account.created")
	s.tell(p, "login.github")
	return err
}

// evict takes an address from the account that has it, and returns what the log is to be told. The account keeps what is in it,
// and its undo links; the account that gets the address gets nothing of it.
func (a *base) evict(tx *sqldb.Tx, held Account) (released audit.Event, err error) {
	p, found, err := locked(tx, held.ID)
	if err != nil {
		return released, err
	}
	if !found || p.Email != held.Email || p.EmailVerified != held.EmailVerified {
		return released, errTaken
	}
	return p.event(audit.Actor{Kind: audit.System}, "email.released", "email"), cmp.Or(
		setEmail(tx, a.Now(), p.ID, "", false),
		a.expel(tx, p.ID, "e-mail proven by another", ""),
		void(tx, a.Now(), p.ID, ForManifest),
	)
}

// linkVisitor adds a visitor's identity to the account that is signed in. One that another account has stays there.
func (a *Identities) linkVisitor(tx *sqldb.Tx, out *letters, v visitor, who Who, s *settled) error {
	p, err := Acting(tx, who)
	if err != nil {
		return err
	}
	if err := a.attach(tx, out, v, p, s); err != nil {
		return err
	}
	in, err := replaceToken(tx, who)
	if err != nil {
		return err
	}
	s.SignedIn = &in
	in.Account, _, err = locked(tx, p.ID) // it may have changed since it was read
	return err
}

// attach gives an account one more way in, and tells its holder.
func (a *Identities) attach(tx *sqldb.Tx, out *letters, v visitor, p Account, s *settled) error {
	id, found, err := findIdentity(tx, v)
	if err != nil {
		return err
	}
	if found && id.account != p.ID {
		return fault.New(IdentityAlreadyLinked, "This GitHub account belongs to another account here.", "Unlink it there first.")
	}
	if found {
		_, err := a.refreshIdentity(tx, v, id)
		return err
	}
	id.id, err = a.addIdentity(tx, p.ID, v)
	s.events = append(s.events, identityEvent(p, id.id, "identity.linked"))
	return cmp.Or(err, out.send(tx, p.Email, mail.ProviderLinked("GitHub", v.Login)))
}

// confirmVisitor proves again who is signed in. It takes the identity by which they came in or, if they came in by
// password, one of their own. A provider that has no forced login proves only that its session is alive in this browser.
func (a *Identities) confirmVisitor(tx *sqldb.Tx, v visitor, who Who, s *settled) error {
	id, found, err := findIdentity(tx, v)
	if err != nil {
		return err
	}
	if !found || id.account != who.Account.ID || who.Session.identity != "" && who.Session.identity != id.id {
		return fault.New(InvalidCredentials, "This is not the GitHub account that you signed in with.", "Choose that one on GitHub, then try again.")
	}
	if who.Account, err = a.refreshIdentity(tx, v, id); err != nil {
		return err
	}
	in, err := a.sessions.renew(tx, who, ByGitHub)
	s.SignedIn = &in
	s.tell(who.Account, "session.confirmed")
	return err
}
