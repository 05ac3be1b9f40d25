package secret

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// keyBytes is the length of every key here: AES-256.
const keyBytes = 32

var kidForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// Ring is a KeyProvider whose keys are in a file or a variable. It does not change; to rotate is to make another.
type Ring struct {
	active string
	keys   map[string]Secret // by kid, 32 bytes each
}

// NewRing makes a ring of one random key. Only where Empty says so may it be used: a new key over old data loses the data.
func NewRing() (*Ring, error) {
	kid, key := newKey()
	return makeRing(kid, map[string]Secret{kid: key})
}

// newKey makes a random key under a random kid, so that no kid ever stands for two keys.
func newKey() (kid string, key Secret) {
	return "k" + strings.ToLower(rand.Text()[:8]), Hide(string(randomBytes(keyBytes)))
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return b
}

func makeRing(active string, keys map[string]Secret) (*Ring, error) {
	if len(keys) == 0 {
		return nil, errors.New("key ring is empty")
	}
	if _, ok := keys[active]; !ok {
		return nil, errors.New("key ring: the active kid is not among the keys")
	}
	kidOf := map[string]string{}
	for _, kid := range slices.Sorted(maps.Keys(keys)) {
		key := keys[kid].Reveal()
		if !kidForm.MatchString(kid) {
			return nil, errKidForm
		}
		if len(key) != keyBytes {
			return nil, fmt.Errorf("key ring: key %s has %d bytes instead of %d", kid, len(key), keyBytes)
		}
		if other, twice := kidOf[key]; twice {
			return nil, fmt.Errorf("key ring: %s and %s are the same key", other, kid)
		}
		kidOf[key] = kid
	}
	return &Ring{active: active, keys: keys}, nil
}

// Active is the kid under which new values are wrapped.
func (r *Ring) Active() string { return r.active }

// Kids are all kids of the ring, sorted.
func (r *Ring) Kids() []string { return slices.Sorted(maps.Keys(r.keys)) }

// Wrap encrypts a key under a kid of the ring: nonce, ciphertext, tag.
func (r *Ring) Wrap(kid string, dek, aad []byte) ([]byte, error) {
	key, err := r.key(kid)
	if err != nil {
		return nil, err
	}
	nonce := randomBytes(nonceBytes)
	return gcm(key).Seal(nonce, nonce, dek, aad), nil
}

// Unwrap opens what Wrap made under the same kid and aad.
func (r *Ring) Unwrap(kid string, wrapped, aad []byte) ([]byte, error) {
	key, err := r.key(kid)
	if err != nil {
		return nil, err
	}
	if len(wrapped) < nonceBytes {
		return nil, errors.New("wrapped key is too short")
	}
	dek, err := gcm(key).Open(nil, wrapped[:nonceBytes], wrapped[nonceBytes:], aad)
	if err != nil {
		return nil, errors.New("wrapped key does not open")
	}
	return dek, nil
}

func (r *Ring) key(kid string) ([]byte, error) {
	key, ok := r.keys[kid]
	if !ok {
		return nil, fmt.Errorf("key %q is not in the ring", kid)
	}
	return []byte(key.Reveal()), nil
}

// Add is the ring with one more random key, which only unwraps until it is activated, and its kid.
func (r *Ring) Add() (*Ring, string, error) {
	kid, key := newKey()
	keys := maps.Clone(r.keys)
	keys[kid] = key
	more, err := makeRing(r.active, keys)
	return more, kid, err
}

// Activate is the ring with another active key.
func (r *Ring) Activate(kid string) (*Ring, error) { return makeRing(kid, r.keys) }

// Remove is the ring without a key, which must not be the active one. Ask Store.Reload before the file is replaced: it
// refuses while the key is in use.
func (r *Ring) Remove(kid string) (*Ring, error) {
	if _, err := r.key(kid); err != nil {
		return nil, err
	}
	keys := maps.Clone(r.keys)
	delete(keys, kid)
	return makeRing(r.active, keys)
}

// encode is the ring as its file holds it, in clear.
func (r *Ring) encode() []byte {
	keys := map[string][]byte{}
	for kid, key := range r.keys {
		keys[kid] = []byte(key.Reveal())
	}
	text, _ := json.MarshalIndent(map[string]any{"active": r.active, "keys": keys}, "", "  ") // texts and bytes always marshal
	return append(text, '\n')
}
