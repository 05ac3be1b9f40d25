package secret

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
)

// Random is 256 bits that nobody can guess, as a token shows them.
func Random() string { return base64.RawURLEncoding.EncodeToString(randomBytes(32)) }

// Fingerprint is what is stored of a value that has enough entropy of its own.
func Fingerprint(value string) string {
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:])
}
