package hook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc.dev/svc/fault"
)

// Unsigned refuses a sender. What was wrong with its signature is not told.
func Unsigned(details string) *fault.Error {
	return fault.New(fault.InvalidSignature, "The signature does not hold.", details)
}

// Signature is a claim: an HMAC-SHA256 of a prefix and the body that follows it.
type Signature struct {
	MAC    []byte
	Prefix string
}

// Holds reports whether one of the secrets made the signature.
func (s Signature) Holds(secrets [][]byte, body []byte) bool {
	return slices.ContainsFunc(secrets, func(secret []byte) bool {
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(s.Prefix))
		mac.Write(body)
		// Everybody can sign with an empty secret.
		return len(secret) > 0 && hmac.Equal(s.MAC, mac.Sum(nil))
	})
}

// MAC reads the one header that holds a signature: a scheme, such as "sha256=", and hexadecimal digits.
func MAC(h http.Header, name, scheme string) ([]byte, error) {
	digits, ok := strings.CutPrefix(once(h, name), scheme)
	mac, err := hex.DecodeString(digits)
	if !ok || err != nil || len(mac) != sha256.Size {
		return nil, Unsigned("")
	}
	return mac, nil
}

// Tolerance is how far a sender's clock may be from ours.
const Tolerance = 5 * time.Minute

// Timestamp reads the one header that says when a request was signed, in seconds since 1970, and returns it as sent. A time
// too far from now is refused: the request may be an old one, sent again.
func Timestamp(h http.Header, name string, now time.Time) (string, error) {
	value := once(h, name)
	// As many bits as no clock needs, and few enough to be subtracted.
	at, err := strconv.ParseUint(value, 10, 40)
	if err != nil {
		return "", Unsigned("")
	}
	if apart := now.Sub(time.Unix(int64(at), 0)).Abs(); apart > Tolerance {
		return "", Unsigned("The timestamp is more than five minutes away.")
	}
	return value, nil
}

// Header reads a header that must stand once, with 1 to 255 visible characters of ASCII.
func Header(h http.Header, name string) (string, error) {
	value := once(h, name)
	hidden := func(r rune) bool { return r <= ' ' || r > '~' }
	if value == "" || len(value) > 255 || strings.ContainsFunc(value, hidden) {
		return "", fault.Invalid("%s must be sent once, with 1 to 255 visible characters.", name)
	}
	return value, nil
}

// once is the value of a header that stands once; of any other it is empty.
func once(h http.Header, name string) string {
	if values := h.Values(name); len(values) == 1 {
		return values[0]
	}
	return ""
}
