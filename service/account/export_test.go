package account

// OnDerive tells a test of every derivation and its cost.
func (a *Accounts) OnDerive(fn func(Scrypt)) { a.hasher.derived = fn }

// Fingerprint is what is stored of a token.
func Fingerprint(value string) string { return fingerprint(value) }

// ParseKey reads the public part of a key.
func ParseKey(value string) (string, bool) { return parseKey(value) }

// Sealed is a text with the checksum of a key.
func Sealed(text string) string { return text + checksum(text) }

// SetMostWaiting bounds how many deliveries wait, of one installation and of all.
func (a *Accounts) SetMostWaiting(one, all int64) { a.mostOfOne.count, a.mostOfAll.count = one, all }

// WakeCourier lets deliveries that are due by the test's clock be passed on.
func (a *Accounts) WakeCourier() { a.wakeCourier() }
