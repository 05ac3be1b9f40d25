package config

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"strings"
)

// AssertionPair is what a gateway signs with, and by what a runtime knows it.
type AssertionPair struct {
	Key    string `json:"key"`    // a secret of the gateway
	Public string `json:"public"` // for the runtime
}

// NewAssertionPair makes a pair.
func NewAssertionPair() (AssertionPair, error) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return AssertionPair{}, err
	}
	return AssertionPair{
		Key:    base64.RawURLEncoding.EncodeToString(private.Seed()),
		Public: base64.RawURLEncoding.EncodeToString(public),
	}, nil
}

// SigningKey is what a gateway signs with.
func (c Config) SigningKey() (ed25519.PrivateKey, error) {
	return parseSigningKey(c.AssertionKey.Reveal())
}

// PublicKeys are those by which a runtime knows its gateway.
func (c Config) PublicKeys() ([]ed25519.PublicKey, error) { return parsePublicKeys(c.AssertionPublic) }

func parseSigningKey(text string) (ed25519.PrivateKey, error) {
	seed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, errors.New("it is not a key that svc keys assertion made")
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

func parsePublicKeys(text string) (all []ed25519.PublicKey, err error) {
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		key, err := base64.RawURLEncoding.DecodeString(part)
		if err != nil || len(key) != ed25519.PublicKeySize {
			return nil, errors.New("it is not a public key that svc keys assertion made")
		}
		all = append(all, key)
	}
	return all, nil
}

// checkSigningKey asks for what a gateway signs with. No error repeats it.
func checkSigningKey(s string) error {
	_, err := parseSigningKey(s)
	return err
}

// checkPublicKeys asks for one or two keys, with a comma between them.
func checkPublicKeys(s string) (string, error) {
	keys, err := parsePublicKeys(s)
	if err == nil && (len(keys) == 0 || len(keys) > 2) {
		err = errors.New("write one public key, or two with a comma between them while one replaces the other")
	}
	return s, err
}
