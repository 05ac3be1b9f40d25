package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"
)

// The outcomes of an act.
const (
	Allow = "allow"
	Deny  = "deny"
	Error = "error"
)

const (
	maxText    = 256 // bytes of any text; a longer one is cut
	maxChanges = 100 // names; more are left out
)

var actionForm = regexp.MustCompile(`^[a-z0-9._-]{1,64}$`)

// Target is what was acted upon.
type Target struct {
	Kind string
	ID   string
}

// Event is one act. Text that cannot be printed is escaped and long text is cut, so that no value can pass for another
// line or another field.
type Event struct {
	Actor   Actor  // zero: the Source's, else Anonymous
	Subject *Actor // whom it was done to, or in whose name
	Action  string // lower case, digits, and . _ -
	Target  Target
	Scope   string   // whose chain it belongs to; "" is the service
	Outcome string   // "" is Allow, and Deny for what is Refused
	Changes []string // names of what changed, never values
	Service bool     // it belongs to the service's chain too, as an act of staff on a customer does

	// What follows is set by the log, and what a caller sets here is not looked at.

	Source   Source // of the context
	Chain    string
	Seq      int64 // from 1, within the chain
	At       time.Time
	Count    int64 // how many refusals the event stands for; 0: it is an act
	PrevHash []byte
	Hash     []byte
}

// MarshalJSON gives the event as people and programs get it. Without "hash", and with its keys as they stand, it is the
// text whose SHA-256, after the bytes of prevHash, is the hash.
func (e Event) MarshalJSON() ([]byte, error) { return e.canonical(true), nil }

// resolve fills in what the context and the clock know, and makes every text fit to be stored.
func (l *Log) resolve(ctx context.Context, e Event) (Event, error) {
	if err := e.check(); err != nil {
		return Event{}, err
	}
	s := From(ctx)
	e.Actor = cmp.Or(e.Actor, s.Actor, Actor{Kind: Anonymous})
	e.Outcome = cmp.Or(e.Outcome, Allow)
	// What staff do by the authority of the service, wherever it is done, the service is told too.
	e.Service = e.Service || s.Authority == "admin"
	e.Source = s
	e.At = l.config.Now().UTC()
	e.Count = 0
	return e.printable(), nil
}

// check refuses an event that would land in a wrong chain or under a wrong name.
func (e Event) check() error {
	switch {
	case !actionForm.MatchString(e.Action):
		return fmt.Errorf("audit event: %.80q is no action", e.Action)
	case e.Outcome != "" && e.Outcome != Allow && e.Outcome != Deny && e.Outcome != Error:
		return fmt.Errorf("audit event: %.80q is no outcome", e.Outcome)
	case printable(e.Scope) != e.Scope:
		return errors.New("audit event: the scope is too long or cannot be printed")
	}
	return nil
}

func (e Event) printable() Event {
	e.Actor = e.Actor.printable()
	e.Subject = printableActor(e.Subject)
	e.Target = Target{Kind: printable(e.Target.Kind), ID: printable(e.Target.ID)}
	changes := make([]string, 0, min(len(e.Changes), maxChanges))
	for _, name := range e.Changes[:cap(changes)] {
		changes = append(changes, printable(name))
	}
	e.Changes = changes
	s := e.Source
	e.Source = Source{
		RequestID: printable(s.RequestID), IP: printable(s.IP), UserAgent: printable(s.UserAgent),
		Surface: printable(s.Surface), Authority: printable(s.Authority),
		Actor: e.Actor, Impersonator: printableActor(s.Impersonator),
	}
	return e
}

func (a Actor) printable() Actor {
	return Actor{Kind: printable(a.Kind), ID: printable(a.ID), Username: printable(a.Username)}
}

// printableActor is nil for nobody.
func printableActor(a *Actor) *Actor {
	if a == nil {
		return nil
	}
	return somebody(a.printable())
}
