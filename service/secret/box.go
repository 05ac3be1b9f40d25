package secret

import (
	"crypto/hkdf"
	"crypto/sha256"
)

// Derive is a key of 32 bytes for one purpose, the same on every node and for ever: it comes from a secret that is sealed
// in the database, and rotating the ring does not change it. Two labels give two unrelated keys.
func (s *Store) Derive(label string) []byte { return derive(s.root, tuple("svc-derive-v1", label)) }

func derive(key Secret, info []byte) []byte {
	b, err := hkdf.Key(sha256.New, []byte(key.Reveal()), nil, string(info), keyBytes)
	if err != nil {
		panic(err) // only for lengths that no hash can give
	}
	return b
}

// Box seals small things that leave the process and come back, such as a state in a cookie.
type Box struct {
	label string
	key   Secret
}

const saltBytes = 16

// Box is a box of its own for each label; any node opens what another sealed.
func (s *Store) Box(label string) *Box {
	return &Box{label: label, key: Hide(string(derive(s.root, tuple("svc-box-v1", label))))}
}

// Seal encrypts plain and binds it to aad. Each call has a key and a nonce of its own, so there is no number of calls after
// which a box wears out.
func (b *Box) Seal(aad string, plain []byte) []byte {
	random := randomBytes(saltBytes + nonceBytes)
	salt, nonce := random[:saltBytes], random[saltBytes:]
	return gcm(b.subkey(salt)).Seal(random, nonce, plain, tuple("svc-box-v1", b.label, aad))
}

// Open is the way back from Seal under the same aad; anything else is ErrBox.
func (b *Box) Open(aad string, sealed []byte) ([]byte, error) {
	if len(sealed) < saltBytes+nonceBytes {
		return nil, ErrBox
	}
	salt, nonce, rest := sealed[:saltBytes], sealed[saltBytes:saltBytes+nonceBytes], sealed[saltBytes+nonceBytes:]
	plain, err := gcm(b.subkey(salt)).Open(nil, nonce, rest, tuple("svc-box-v1", b.label, aad))
	if err != nil {
		return nil, ErrBox
	}
	return plain, nil
}

func (b *Box) subkey(salt []byte) []byte { return derive(b.key, tuple("svc-box-key-v1", string(salt))) }
