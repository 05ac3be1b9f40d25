package scope

import "strings"

// By is whose prompt or run something is, as its record keeps it: enough to judge them again when nobody is there.
type By struct {
	Actor     string // as claims have it
	Authority string // Customer or StaffAuth
	Account   string // of the actor; empty: no person acts, and nothing is theirs to do
	Key       string // id of the API key that they used; empty: none
}

// By is whose work the claims ask for.
func (c Claims) By() By {
	if !Person(c.Actor) {
		return By{Actor: c.Actor}
	}
	return By{Actor: c.Actor, Authority: c.Authority, Account: c.ActorID, Key: c.Key}
}

// String is what ParseBy reads: the actor alone, or a person with authority, account and key.
func (b By) String() string {
	if b.Account == "" {
		return b.Actor
	}
	return strings.TrimSuffix(strings.Join([]string{b.Actor, b.Authority, b.Account, b.Key}, " "), " ")
}

// ParseBy reads what a record says. What is no person of ours has no account, whatever it is called: an actor with a colon is
// never followed by anything that counts.
func ParseBy(text string) By {
	words := strings.Split(text, " ")
	if words[0] == "" || !Person(words[0]) || len(words) < 3 || len(words) > 4 {
		return By{Actor: text}
	}
	b := By{Actor: words[0], Authority: words[1], Account: words[2]}
	if len(words) == 4 {
		b.Key = words[3]
	}
	return b
}
