package account

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"svc.dev/svc/service/strictjson"
)

// Lengths of a password: in code points, and in bytes.
const (
	minPassword      = 12
	maxPassword      = 256
	maxPasswordBytes = 1024
)

// normalPassword is the one change made to a password: composed characters and plain spaces, because keyboards type
// different forms of the same text.
func normalPassword(password string) string {
	composed := norm.NFC.String(password)
	return strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII && unicode.Is(unicode.Zs, r) {
			return ' '
		}
		return r
	}, composed)
}

// weakness says what is wrong with a new password that is normal, and nothing when it will do. Personal are words that
// everybody guesses first.
func weakness(password string, personal ...string) string {
	n := utf8.RuneCountInString(password)
	switch {
	case n < minPassword:
		return strictjson.TooShort
	case n > maxPassword || len(password) > maxPasswordBytes:
		return strictjson.TooLong
	case tooGuessable(strings.ToLower(password), personal):
		return strictjson.TooCommon
	}
	return ""
}

func tooGuessable(password string, personal []string) bool {
	named := func(word string) bool { return decorated(password, strings.ToLower(word)) }
	return slices.ContainsFunc(personal, named) || repeats([]rune(password)) || sequential(password) || common()[password]
}

// decorated reports whether a password is the word with only digits and signs around it.
func decorated(password, word string) bool {
	before, after, found := strings.Cut(password, word)
	return found && len(word) > 1 && !strings.ContainsFunc(before+after, unicode.IsLetter)
}

// repeats reports whether a pattern makes up the whole, three times or more.
func repeats(password []rune) bool {
	for period := 1; period <= len(password)/3; period++ {
		if slices.Equal(password[period:], password[:len(password)-period]) {
			return true
		}
	}
	return false
}

// rows are what fingers and minds run along, there and back, and over the end to the beginning.
var rows = bothWays("abcdefghijklmnopqrstuvwxyz", "0123456789", "1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm",
	"qwertzuiop", "yxcvbnm", "azertyuiop", "qsdfghjklm", "wxcvbn", "!@#$%^&*()", "qazwsxedcrfvtgbyhnujmikolp", "1qaz2wsx3edc4rfv5tgb6yhn7ujm")

func bothWays(all ...string) []string {
	var both []string
	for _, row := range all {
		back := []byte(row)
		slices.Reverse(back)
		both = append(both, row+row, string(back)+string(back))
	}
	return both
}

// sequential reports whether runs of three and more along a row make up all but two characters.
func sequential(password string) bool {
	left := 0
	for i := 0; i < len(password); {
		n := runLength(password[i:])
		if n < 3 {
			left, n = left+1, 1
		}
		i += n
	}
	return left <= 2
}

// runLength is how far the text begins as some row goes on.
func runLength(text string) int {
	longest := 0
	for _, row := range rows {
		for at := 0; at < len(row)/2; at++ {
			n := 0
			for n < len(text) && at+n < len(row) && text[n] == row[at+n] {
				n++
			}
			longest = max(longest, n)
		}
	}
	return longest
}

//go:embed common.txt
var commonText string

// common are passwords of twelve characters and more that are tried first.
var common = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for line := range strings.Lines(commonText) {
		all[strings.TrimSuffix(line, "\n")] = true
	}
	return all
})
