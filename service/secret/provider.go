package secret

// KeyProvider wraps the keys of secrets under keys that it alone holds: a Ring, or a key service behind a network. Its
// answers are needed inside transactions, so a provider that waits for others bounds that by itself.
type KeyProvider interface {
	// Active is the kid under which new values are wrapped.
	Active() string
	// Kids are all that can unwrap, the active one among them.
	Kids() []string
	// Wrap encrypts 32 bytes under a kid and binds them to aad.
	Wrap(kid string, dek, aad []byte) ([]byte, error)
	// Unwrap is the way back, and an error when anything differs from what Wrap was given.
	Unwrap(kid string, wrapped, aad []byte) ([]byte, error)
}

var _ KeyProvider = (*Ring)(nil)
