package typing

import (
	"strings"

	"svc.dev/svc/internal/cli/screen"
)

// draft is a text with a cursor in it. The cursor steps over whole letters as people see them, however many characters they are
// written with.
type draft struct{ before, behind string }

func (l *draft) text() string { return l.before + l.behind }

func (l *draft) isEmpty() bool { return l.before == "" && l.behind == "" }

func (l *draft) set(text string) { *l = draft{before: text} }

// longestLine is how many bytes a line has at most; what is more is not taken.
const longestLine = 1 << 20

func (l *draft) insert(text string) {
	if len(l.before)+len(l.behind)+len(text) <= longestLine {
		l.before += text
	}
}

func (l *draft) left()  { l.to(len(l.before) - lastLetter(l.before)) }
func (l *draft) right() { l.to(len(l.before) + firstLetter(l.behind)) }
func (l *draft) home()  { l.to(0) }
func (l *draft) end()   { l.to(len(l.before) + len(l.behind)) }

func (l *draft) leftWord()  { l.to(wordBefore(l.before)) }
func (l *draft) rightWord() { l.to(len(l.before) + wordBehind(l.behind)) }

// to puts the cursor behind so many bytes.
func (l *draft) to(at int) {
	text := l.text()
	l.before, l.behind = text[:at], text[at:]
}

func (l *draft) deleteLeft()  { l.before = l.before[:len(l.before)-lastLetter(l.before)] }
func (l *draft) deleteRight() { l.behind = l.behind[firstLetter(l.behind):] }

func (l *draft) deleteLeftWord()  { l.before = l.before[:wordBefore(l.before)] }
func (l *draft) deleteRightWord() { l.behind = l.behind[wordBehind(l.behind):] }

func (l *draft) deleteToHome() { l.before = "" }
func (l *draft) deleteToEnd()  { l.behind = "" }

// lastLetter is how many bytes the last letter of a text has.
func lastLetter(text string) (n int) {
	for letter := range screen.Letters(text) {
		n = len(letter)
	}
	return n
}

// firstLetter is how many bytes the first letter of a text has.
func firstLetter(text string) int {
	for letter := range screen.Letters(text) {
		return len(letter)
	}
	return 0
}

// wordBefore is where the last word of a text begins.
func wordBefore(text string) int { return strings.LastIndexByte(strings.TrimRight(text, " "), ' ') + 1 }

// wordBehind is where the word behind the first one of a text begins.
func wordBehind(text string) int {
	end := strings.IndexByte(text, ' ')
	if end < 0 {
		return len(text)
	}
	return len(text) - len(strings.TrimLeft(text[end:], " "))
}
