package account

import (
	"cmp"
	"context"
	"fmt"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
)

// signInVisitor is the rule by which somebody comes in. A known identity is all that counts. For a new one an address can
// stand in the way, and never opens an account:
//   - nobody has it: a new account;
//   - the provider did not prove it: a new account without it;
//   - its holder proved it too: a ticket, for whoever can sign in as the holder;
//   - its holder did not prove it, and could have: the address goes to the visitor, with an account of their own. Where
//     no mail is sent nobody could have, and the visitor is asked.
func (a *Accounts) signInVisitor(ctx context.Context, tx *sqldb.Tx, v visitor, j journey, s *settled) error {
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
func (a *Accounts) reenter(ctx context.Context, tx *sqldb.Tx, v visitor, id identity, s *settled) error {
	p, err := a.refreshIdentity(tx, v, id)
	if err != nil {
		return err
	}
	in, err := a.start(ctx, tx, p, byGitHub, id.id)
	if err != nil {
		return err
	}
	s.SignedIn = &in
	s.tell(p, "login.github")
	return nil
}

// refreshIdentity takes over what a provider says now of a known identity, and returns its account.
func (a *Accounts) refreshIdentity(tx *sqldb.Tx, v visitor, id identity) (Account, error) {
	p, found, err := locked(tx, id.account)
	if err != nil {
		return p, err
	}
	if !found || p.deletedAt != 0 {
		return p, noAccount()
	}
	if p.Suspended {
		return p, suspended()
	}
	n, err := tx.Exec(`UPDATE identities SET login = $3, no_email = $4, status = $5, lease = '', refreshing_until = 0, updated_at = $6
		WHERE id = $1 AND account = $2`, id.id, p.ID, v.Login, bit(v.NoEmail), connected, a.Now().UnixMilli())
	if err != nil {
		return p, fmt.Errorf("update identity: %w", err)
	}
	if n == 0 {
		return p, errTaken
	}
	if err := a.keepGrant(tx, p.ID, id.id, v.Grant); err != nil {
		return p, err
	}
	p, _, err = locked(tx, p.ID)
	return p, err
}

func noAccount() error {
	return fault.New(InvalidCredentials, "No account can be entered this way.", "")
}

// welcome makes the account of a new visitor.
func (a *Accounts) welcome(ctx context.Context, tx *sqldb.Tx, v visitor, b birth, s *settled) error {
	p, _, err := a.create(tx, b)
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
	in, err := a.start(ctx, tx, p, byGitHub, id)
	if err != nil {
		return err
	}
	s.SignedIn = &in
	s.tell(p, "account.created")
	s.tell(p, "login.github")
	return nil
}

// evict takes an address from the account that has it, and returns what the log is to be told. The account keeps what is in it,
// and its undo links; the account that gets the address gets nothing of it.
func (a *Accounts) evict(tx *sqldb.Tx, held Account) (released audit.Event, err error) {
	p, found, err := locked(tx, held.ID)
	if err != nil {
		return released, err
	}
	if !found || p.Email != held.Email || p.EmailVerified != held.EmailVerified {
		return released, errTaken
	}
	if err := a.setEmail(tx, p.ID, "", false); err != nil {
		return released, err
	}
	if err := a.expel(tx, p.ID, "e-mail proven by another", ""); err != nil {
		return released, err
	}
	return audit.Event{
		Actor: audit.Actor{Kind: audit.System}, Action: "email.released", Target: p.target(), Scope: p.scope(), Changes: []string{"email"},
	}, a.void(tx, p.ID, forManifest)
}

// linkVisitor adds a visitor's identity to the account that is signed in. One that another account has stays there.
func (a *Accounts) linkVisitor(tx *sqldb.Tx, out *letters, v visitor, who Who, s *settled) error {
	p, err := acting(tx, who)
	if err != nil {
		return err
	}
	if err := a.attach(tx, out, v, p, s); err != nil {
		return err
	}
	in, err := a.rotate(tx, who)
	s.SignedIn = &in
	return err
}

// attach gives an account one more way in, and tells its holder.
func (a *Accounts) attach(tx *sqldb.Tx, out *letters, v visitor, p Account, s *settled) error {
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
	if err != nil {
		return err
	}
	if err := out.linked(tx, p.Email, v.Login); err != nil {
		return err
	}
	s.events = append(s.events, identityEvent(p, id.id, "identity.linked"))
	return nil
}

// rotate is replaceToken for a person whose account may have changed since it was read.
func (a *Accounts) rotate(tx *sqldb.Tx, who Who) (SignedIn, error) {
	in, err := replaceToken(tx, who)
	if err != nil {
		return SignedIn{}, err
	}
	in.Account, _, err = locked(tx, who.Account.ID)
	return in, err
}

// confirmVisitor proves again who is signed in. It takes the identity by which they came in or, if they came in by
// password, one of their own. A provider that has no forced login proves only that its session is alive in this browser.
func (a *Accounts) confirmVisitor(tx *sqldb.Tx, v visitor, who Who, s *settled) error {
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
	in, err := a.renew(tx, who, byGitHub)
	if err != nil {
		return err
	}
	s.SignedIn = &in
	s.tell(who.Account, "session.confirmed")
	return nil
}
