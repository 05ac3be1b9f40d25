package config

import (
	"fmt"

	"svc.dev/svc/service/secret"
)

// hidden is a secret that holds what the check asks for. No error repeats it.
type hidden struct {
	field *secret.Secret
	check func(string) error
}

func (h hidden) String() string {
	if h.field.Reveal() == "" {
		return ""
	}
	return h.field.String()
}

func (h hidden) Set(s string) error {
	if err := h.check(s); err != nil {
		return err
	}
	*h.field = secret.Hide(s)
	return nil
}

// atLeast asks for so many bytes.
func atLeast(least int) func(string) error {
	return func(s string) error {
		if len(s) < least {
			return fmt.Errorf("it has %d bytes and needs %d or more", len(s), least)
		}
		return nil
	}
}

// checkRing asks for the JSON of a key ring.
func checkRing(s string) error {
	_, err := secret.ParseRing([]byte(s))
	return err
}

// Ring reads the ring where the configuration says it is.
func (c Config) Ring() (*secret.Ring, error) {
	if given := c.KeysRing.Reveal(); given != "" {
		return secret.ParseRing([]byte(given))
	}
	return secret.ReadRing(c.KeysFile)
}
