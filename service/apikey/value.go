package apikey

import (
	"crypto/rand"
	"hash/crc32"
	"strings"
)

// Prefix lets scanners recognise a key that leaked.
const Prefix = "svck_"

// The parts of a key's value, in characters.
const (
	idSize     = 12
	secretSize = 32
	sumSize    = 6
	size       = len(Prefix) + idSize + 1 + secretSize + sumSize
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// randomBase62 is n characters that nobody can guess.
func randomBase62(n int) string {
	out := make([]byte, 0, n)
	block := make([]byte, 2*n)
	for len(out) < n {
		_, _ = rand.Read(block) // never fails
		for _, b := range block {
			// Values from 248 on would make some characters likelier than others.
			if b < 248 && len(out) < n {
				out = append(out, base62[b%62])
			}
		}
	}
	return string(out)
}

// checksum is six characters that tell a key from a text that looks like one, without asking anybody.
func checksum(text string) string {
	sum := crc32.ChecksumIEEE([]byte(text))
	var out [sumSize]byte
	for i := sumSize - 1; i >= 0; i-- {
		out[i] = base62[sum%62]
		sum /= 62
	}
	return string(out[:])
}

func makeValue() (value, prefix string) {
	prefix = randomBase62(idSize)
	text := Prefix + prefix + "_" + randomBase62(secretSize)
	return text + checksum(text), prefix
}

// parse is the public part of a well-formed key.
func parse(value string) (prefix string, ok bool) {
	const at = len(Prefix) + idSize
	if len(value) != size || !strings.HasPrefix(value, Prefix) || value[at] != '_' || strings.Trim(value[len(Prefix):at]+value[at+1:], base62) != "" {
		return "", false
	}
	text := value[:len(value)-sumSize]
	return value[len(Prefix):at], checksum(text) == value[len(text):]
}

// Find finds what looks like a key within a text.
func Find(text string) (string, bool) {
	for {
		_, rest, found := strings.Cut(text, Prefix)
		if !found {
			return "", false
		}
		if value := Prefix + rest[:min(len(rest), size-len(Prefix))]; len(value) == size {
			if _, ok := parse(value); ok {
				return value, true
			}
		}
		text = rest
	}
}
