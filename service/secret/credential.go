package secret

import "bytes"

// prefixes are how credentials begin that tell what they are. Their characters are letters, digits and those named.
var prefixes = []struct{ text, more string }{
	{"ghu_", "_-."}, {"ghr_", "_-."}, {"ghs_", "_-."}, {"ghp_", "_-."}, {"gho_", "_-."}, {"github_pat_", "_-."},
	{"svck_", "_-"}, {"svcs_", "_-"}, {"sk_live_", "_-"}, {"whsec_", "_-+/="},
}

const (
	pemBegin = "-----BEGIN"
	pemEnd   = "-----END"
	pemDash  = "-----"
)

// credentials are the places of a text that look like a credential, known or not.
func credentials(text []byte) (all []span) {
	if bytes.IndexByte(text, '_') >= 0 {
		for _, p := range prefixes {
			all = append(all, prefixed(text, p.text, p.more)...)
		}
	}
	for from := 0; ; {
		i := bytes.Index(text[from:], []byte(pemBegin))
		if i < 0 {
			return all
		}
		begin := from + i
		from = pemTo(text, begin)
		all = append(all, span{begin, from})
	}
}

// prefixed finds tokens by their prefix. One inside of a word must be long to count: "highs_and_lows" is no token.
func prefixed(text []byte, prefix, more string) (all []span) {
	for from := 0; ; {
		i := bytes.Index(text[from:], []byte(prefix))
		if i < 0 {
			return all
		}
		begin := from + i
		from = begin + len(prefix)
		end := from
		for end < len(text) && (isLetter(text[end]) || isDigit(text[end]) || bytes.IndexByte([]byte(more), text[end]) >= 0) {
			end++
		}
		end = from + len(bytes.TrimRight(text[from:end], ".")) // the end of a sentence
		alone := begin == 0 || !isLetter(text[begin-1]) && !isDigit(text[begin-1])
		if end-from >= 16 || alone && end > from {
			all = append(all, span{begin, end})
			from = end
		}
	}
}

// pemTo is where a PEM block ends that begins at i: with its last line, or where no PEM can go on.
func pemTo(text []byte, i int) int {
	end := i
	for end < len(text) && (isBase64(text[end]) || bytes.IndexByte([]byte(" \t\r\n=:,.\\%()"), text[end]) >= 0) {
		end++
	}
	block := text[i:end]
	last := bytes.Index(block, []byte(pemEnd))
	if last < 0 {
		return end
	}
	last += len(pemEnd)
	if dash := bytes.Index(block[last:], []byte(pemDash)); dash >= 0 {
		return i + last + dash + len(pemDash)
	}
	return end
}
