package redact

import (
	"bytes"
	"regexp"
)

// credential is one with all that belongs to it. Inside of a word it must be long to count: "highs_and_lows" is no token. A key
// that is cut off goes on to the end of the text.
var credential = regexp.MustCompile(`(?:\b|_)(?:gh[urs]_[\w.-]*[\w-]|(?:svc[dks]|sk_live)_[\w-]+|whsec_[\w+/=-]+)` +
	`|(?:gh[urs]|svc[dks]|sk_live|whsec)_[\w+/=-]{16,}|(?s)-----BEGIN.*?(?:-----END[^-]*-----|\z)`)

// credentials are the places of a text that look like a credential, known or not.
func credentials(text []byte) (all []span) {
	if !tells(text) {
		return nil
	}
	for _, at := range credential.FindAllIndex(text, -1) {
		all = append(all, span{at[0], at[1]})
	}
	return all
}

// tells reports whether a credential may be there, in a fraction of the time that it takes to find it.
func tells(text []byte) bool {
	for i, c := range text {
		if c != '_' || i < 3 {
			continue
		}
		switch string(text[i-3 : i]) {
		case "ghu", "ghr", "ghs", "vcd", "vck", "vcs", "ive", "sec":
			return true
		}
	}
	return bytes.Contains(text, []byte("-----BEGIN"))
}
