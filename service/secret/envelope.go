package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"strconv"
)

const nonceBytes = 12

// binding is what a value is bound to: whoever changes any of it cannot open the value.
type binding struct {
	owner   Owner
	name    string
	id      string
	version int64
}

// envelope is a value as it is stored.
type envelope struct {
	version int64
	kid     string
	wrapped []byte // the DEK, under kid
	nonce   []byte
	sealed  []byte
}

// seal encrypts a value under a DEK of its own, used this once, and wraps the DEK under the active kid.
func seal(keys KeyProvider, a binding, plain []byte) (envelope, error) {
	dek := randomBytes(keyBytes)
	defer clear(dek)
	e := envelope{version: a.version, kid: keys.Active(), nonce: randomBytes(nonceBytes)}
	e.sealed = gcm(dek).Seal(nil, e.nonce, plain, a.aad())
	var err error
	e.wrapped, err = keys.Wrap(e.kid, dek, dekAAD(a.id, a.version, e.kid))
	return e, err
}

// open decrypts a value, and is an error when anything is not as seal left it.
func (e envelope) open(keys KeyProvider, a binding) ([]byte, error) {
	if e.version != a.version {
		return nil, errors.New("value is of another version")
	}
	dek, err := keys.Unwrap(e.kid, e.wrapped, dekAAD(a.id, a.version, e.kid))
	if err != nil {
		return nil, err
	}
	defer clear(dek)
	// GCM panics on a nonce of another length.
	if len(dek) != keyBytes || len(e.nonce) != nonceBytes {
		return nil, errors.New("value is malformed")
	}
	plain, err := gcm(dek).Open(nil, e.nonce, e.sealed, a.aad())
	if err != nil {
		return nil, errors.New("value does not open")
	}
	return plain, nil
}

// rewrap puts the DEK under the active kid; the value is not touched.
func (e envelope) rewrap(keys KeyProvider, id string) (envelope, error) {
	dek, err := keys.Unwrap(e.kid, e.wrapped, dekAAD(id, e.version, e.kid))
	if err != nil {
		return e, err
	}
	defer clear(dek)
	e.kid = keys.Active()
	e.wrapped, err = keys.Wrap(e.kid, dek, dekAAD(id, e.version, e.kid))
	return e, err
}

func (a binding) aad() []byte {
	return tuple("svc-secret-v1", a.owner.Kind, a.owner.Scope, a.name, a.id, decimal(a.version))
}

func dekAAD(id string, version int64, kid string) []byte {
	return tuple("svc-dek-v1", id, decimal(version), kid)
}

// tuple encodes texts so that no two lists of texts encode alike: each with its length before it.
func tuple(parts ...string) []byte {
	size := 0
	for _, p := range parts {
		size += 8 + len(p)
	}
	b := make([]byte, 0, size)
	for _, p := range parts {
		b = binary.BigEndian.AppendUint64(b, uint64(len(p)))
		b = append(b, p...)
	}
	return b
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// gcm is AES-256-GCM; every key that gets here has 32 bytes.
func gcm(key []byte) cipher.AEAD {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return aead
}
