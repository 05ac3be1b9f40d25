package device

import (
	"crypto/rand"
	"strings"
)

// Prefix lets scanners recognise the code of a program that leaked.
const Prefix = "svcd_"

// letters are those of the codes that people type: no vowels, so that they spell no words, and no Y.
const letters = "BCDFGHJKLMNPQRSTVWXZ"

// half is how many of them stand on each side of the hyphen.
const half = 4

// newUserCode is a code that a person can type.
func newUserCode() string {
	const even = 256 - 256%len(letters) // from here on some letters would be likelier than others
	code := make([]byte, 0, 2*half)
	for block := make([]byte, 4*half); len(code) < cap(code); {
		_, _ = rand.Read(block) // never fails
		for _, b := range block {
			if int(b) < even && len(code) < cap(code) {
				code = append(code, letters[int(b)%len(letters)])
			}
		}
	}
	return hyphened(string(code))
}

func hyphened(code string) string { return code[:half] + "-" + code[half:] }

// Normal is a code as it is shown, of what somebody typed: in any case, with or without hyphens and spaces. ok is false for what no code
// can be. No other character stands for a letter, however alike they look.
func Normal(typed string) (code string, ok bool) {
	var plain []byte
	for i := range len(typed) {
		b := typed[i]
		switch {
		case b == ' ' || b == '-':
			continue
		case b >= 'a' && b <= 'z':
			b -= 'a' - 'A'
		}
		if strings.IndexByte(letters, b) < 0 || len(plain) == 2*half {
			return "", false
		}
		plain = append(plain, b)
	}
	if len(plain) < 2*half {
		return "", false
	}
	return hyphened(string(plain)), true
}

// plausible reports whether a value can be a program's code.
func plausible(code string) bool {
	return len(code) == len(Prefix)+43 && strings.HasPrefix(code, Prefix)
}
