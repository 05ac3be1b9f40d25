package config

import (
	"fmt"

	"svc.dev/svc/service/secret"
)

// hidden is a secret of so many bytes at least. No error repeats it.
type hidden struct {
	field *secret.Secret
	least int
}

func (h hidden) String() string { return shownSecret(*h.field) }

func (h hidden) Set(s string) error {
	if len(s) < h.least {
		return fmt.Errorf("it has %d bytes and needs %d or more", len(s), h.least)
	}
	*h.field = secret.Hide(s)
	return nil
}

// shownSecret says that there is one.
func shownSecret(s secret.Secret) string {
	if s.Reveal() == "" {
		return ""
	}
	return s.String()
}

// keyring is the JSON of a key ring.
type keyring secret.Secret

func (k *keyring) String() string { return shownSecret(secret.Secret(*k)) }

func (k *keyring) Set(s string) error {
	if _, err := secret.ParseRing([]byte(s)); err != nil {
		return err
	}
	*k = keyring(secret.Hide(s))
	return nil
}

// Ring reads the ring where the configuration says it is.
func (c Config) Ring() (*secret.Ring, error) {
	if given := c.KeysRing.Reveal(); given != "" {
		return secret.ParseRing([]byte(given))
	}
	return secret.ReadRing(c.KeysFile)
}
