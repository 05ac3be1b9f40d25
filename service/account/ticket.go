package account

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/secret"
)

// ticket is a visitor who waits: an account has their address, and they may or may not be its holder.
type ticket struct {
	Visitor visitor
	Browser string // fingerprint
	Offer   bool   // the holder did not prove the address: the visitor may go on without it

	account string // the holder
	email   string
}

// Ticket is what a page can say of somebody who may link.
type Ticket struct {
	Email    string // that an account has
	Login    string // of the visitor, at the provider
	OfferNew bool   // GoOnNew is possible
}

// issueTicket stores a visitor, sealed: the tokens of the provider are in it. It dies with what its account has pending.
func (a *Identities) issueTicket(tx *sqldb.Tx, held Account, t ticket) (string, error) {
	data, err := json.Marshal(t)
	if err != nil {
		return "", fmt.Errorf("issue ticket: %w", err)
	}
	value := secret.Random()
	sealed := a.box.Seal(sealedUnder(value), data)
	return value, keep(tx, a.Now(), value, token{
		purpose: forLink, account: held.ID, email: held.Email, data: base64.StdEncoding.EncodeToString(sealed), life: ticketLife,
	})
}

func sealedUnder(value string) string { return "ticket " + secret.Fingerprint(value) }

// readTicket looks at a ticket without using it. Another browser finds none.
func (a *Identities) readTicket(tx *sqldb.Tx, value, browser string) (ticket, error) {
	var t ticket
	kept, err := peek(tx, a.Now(), value, forLink)
	if err != nil {
		return t, err
	}
	sealed, err := base64.StdEncoding.DecodeString(kept.data)
	if err != nil {
		return t, fmt.Errorf("read ticket: %w", err)
	}
	plain, err := a.box.Open(sealedUnder(value), sealed)
	if err != nil {
		return t, fmt.Errorf("read ticket: %w", err)
	}
	if err := json.Unmarshal(plain, &t); err != nil {
		return t, fmt.Errorf("read ticket: %w", err)
	}
	if !sameBrowser(t.Browser, browser) {
		return ticket{}, invalidToken()
	}
	t.account, t.email = kept.account, kept.email
	return t, nil
}

// Ticket is what a ticket is about, for the browser that it was made for.
func (a *Identities) Ticket(ctx context.Context, value, browser string) (Ticket, error) {
	return sqldb.Read(ctx, a.DB, func(tx *sqldb.Tx) (Ticket, error) {
		t, err := a.readTicket(tx, value, browser)
		return Ticket{Email: t.email, Login: t.Visitor.Login, OfferNew: t.Offer}, err
	})
}

// Link adds the visitor of a ticket to the account of its holder, who has just signed in by what the account had before.
// The session gets a new value.
func (a *Identities) Link(ctx context.Context, who Who, value, browser string) (SignedIn, error) {
	if err := a.sessions.NeedFresh(who); err != nil {
		return SignedIn{}, err
	}
	return a.spend(ctx, value, browser, func(tx *sqldb.Tx, out *letters, t ticket, s *settled) error {
		p, found, err := locked(tx, who.Account.ID)
		if err != nil {
			return err
		}
		if !found || !t.fits(p) {
			return invalidToken()
		}
		return a.linkVisitor(tx, out, t.Visitor, who, s)
	})
}

// spend signs somebody in by a ticket, which is used once it has been judged: what it is of is locked first.
func (a *Identities) spend(ctx context.Context, value, browser string, enter func(tx *sqldb.Tx, out *letters, t ticket, s *settled) error) (SignedIn, error) {
	o, err := a.visit(ctx, func(tx *sqldb.Tx, out *letters, s *settled) error {
		t, err := a.readTicket(tx, value, browser)
		if err != nil {
			return err
		}
		return cmp.Or(enter(tx, out, t, s), mustUse(tx, a.Now(), value, forLink))
	})
	if err != nil {
		return SignedIn{}, err
	}
	return *o.SignedIn, nil
}

// fits reports whether an account is the one that the ticket was made for, and still has the address as it had it then.
func (t ticket) fits(p Account) bool {
	return p.ID == t.account && p.Alive() && p.Email == t.email && (p.EmailVerified || t.Offer)
}

// GoOnNew gives the visitor of a ticket an account of their own, without the address that another has. It needs a ticket
// that offers it.
func (a *Identities) GoOnNew(ctx context.Context, value, browser string) (SignedIn, error) {
	return a.spend(ctx, value, browser, func(tx *sqldb.Tx, _ *letters, t ticket, s *settled) error {
		if !t.Offer {
			return invalidToken()
		}
		return a.goOn(ctx, tx, t.Visitor, s)
	})
}

// goOn makes the account, unless the visitor got one in another tab.
func (a *Identities) goOn(ctx context.Context, tx *sqldb.Tx, v visitor, s *settled) error {
	id, found, err := findIdentity(tx, v)
	if err != nil {
		return err
	}
	if found {
		return a.reenter(ctx, tx, v, id, s)
	}
	return a.welcome(ctx, tx, v, birth{hint: v.Login, displayName: shorten(v.Name), inUse: true}, s)
}
