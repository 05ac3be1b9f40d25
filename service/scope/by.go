package scope

import "strings"

// By is whose prompt or run something is, as its record keeps it: enough to judge them again when nobody is there.
type By struct {
	Actor     string // as claims have it
	Authority string // Customer or StaffAuth; empty: nothing is theirs to do
	Account   string // of the actor; empty: no person acts
	Key       string // id of the API key that they used; empty: none
}

// By is whose work the claims ask for. A channel has no authority but that of customers.
func (c Claims) By() By {
	switch {
	case Person(c.Actor) && c.ActorID != "":
		return By{Actor: c.Actor, Authority: c.Authority, Account: c.ActorID, Key: c.Key}
	case channelOf(c.Actor) != "" && c.Authority == Customer:
		return By{Actor: c.Actor, Authority: Customer}
	}
	return By{Actor: c.Actor}
}

// Channel is the name of the channel that acts; empty: none does. The name alone makes no channel: a record has the authority
// beside it, which only claims of the gateway give.
func (b By) Channel() string {
	if b.Authority != Customer || b.Account != "" || b.Key != "" {
		return ""
	}
	return channelOf(b.Actor)
}

// String is what ParseBy reads: the actor alone, a person with authority, account and key, or a channel with its authority.
func (b By) String() string {
	switch {
	case b.Channel() != "":
		return b.Actor + " " + b.Authority
	case b.Account == "":
		return b.Actor
	}
	return strings.TrimSuffix(strings.Join([]string{b.Actor, b.Authority, b.Account, b.Key}, " "), " ")
}

// ParseBy reads what a record says. What is no person of ours has no account, whatever it is called: of the actors with a colon
// only a channel is followed by anything that counts, and that is the one authority it can have.
func ParseBy(text string) By {
	words := strings.Split(text, " ")
	if b := (By{Actor: words[0], Authority: Customer}); len(words) == 2 && words[1] == Customer && b.Channel() != "" {
		return b
	}
	if words[0] == "" || !Person(words[0]) || len(words) < 3 || len(words) > 4 {
		return By{Actor: text}
	}
	b := By{Actor: words[0], Authority: words[1], Account: words[2]}
	if len(words) == 4 {
		b.Key = words[3]
	}
	return b
}
