package page

import (
	"cmp"
	"slices"
)

// Person is whoever is signed in.
type Person struct {
	Username, DisplayName string
	// Email is empty for an account without one.
	Email         string
	EmailVerified bool
	// Staff may open the Admin surface.
	Staff bool
	// Stale is true when the last proof of identity lies further back than sensitive acts allow. Their forms then lead
	// to the page that asks for another, before anything is typed that would be lost.
	Stale bool
	// MailOff is true on a server that sends no mail, where no address can be verified.
	MailOff bool
	// Printed is true on a server that prints its mails to the log, for development.
	Printed bool
	// Warnings stay until they are solved.
	Warnings []Warning
}

// Name is what a person is called.
func (p Person) Name() string { return cmp.Or(p.DisplayName, p.Username) }

// Unverified reports whether the person can be asked to verify an address.
func (p Person) Unverified() bool { return p.Email != "" && !p.EmailVerified && !p.MailOff }

func (p *Person) warned(typ string) bool {
	return p != nil && slices.ContainsFunc(p.Warnings, func(w Warning) bool { return w.Type == typ })
}

// Desk is what the pages of a signed-in person share.
type Desk struct {
	Form
	Person Person
}

func (d Desk) person() *Person { return &d.Person }

// unlessStale are the fields of a form that is shown only after a fresh proof.
func (d Desk) unlessStale(fields ...string) []string {
	if d.Person.Stale {
		return nil
	}
	return fields
}
