package account

// OnDerive tells a test of every derivation and its cost.
func (a *Accounts) OnDerive(fn func(Scrypt)) { a.hasher.derived = fn }

// Fingerprint is what is stored of a token.
func Fingerprint(value string) string { return fingerprint(value) }

// ParseKey reads the public part of a key.
func ParseKey(value string) (string, bool) { return parseKey(value) }

// Sealed is a text with the checksum of a key.
func Sealed(text string) string { return text + checksum(text) }
