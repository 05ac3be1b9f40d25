package typing

import (
	"bytes"
	"unicode/utf8"
)

// strokes are what keys do to a line, by what a terminal sends for them.
var strokes = map[string]func(*editor){
	"\x01": move((*draft).home), "\x1b[H": move((*draft).home), "\x1bOH": move((*draft).home), "\x1b[1~": move((*draft).home), "\x1b[7~": move((*draft).home),
	"\x05": move((*draft).end), "\x1b[F": move((*draft).end), "\x1bOF": move((*draft).end), "\x1b[4~": move((*draft).end), "\x1b[8~": move((*draft).end),
	"\x02": move((*draft).left), "\x1b[D": move((*draft).left), "\x1bOD": move((*draft).left),
	"\x06": move((*draft).right), "\x1b[C": move((*draft).right), "\x1bOC": move((*draft).right),
	"\x1bb": move((*draft).leftWord), "\x1b[1;3D": move((*draft).leftWord), "\x1b[1;5D": move((*draft).leftWord),
	"\x1bf": move((*draft).rightWord), "\x1b[1;3C": move((*draft).rightWord), "\x1b[1;5C": move((*draft).rightWord),
	"\x7f": move((*draft).deleteLeft), "\x08": move((*draft).deleteLeft),
	"\x04": move((*draft).deleteRight), "\x1b[3~": move((*draft).deleteRight),
	"\x17": move((*draft).deleteLeftWord), "\x1b\x7f": move((*draft).deleteLeftWord), "\x1b\x08": move((*draft).deleteLeftWord),
	"\x1bd": move((*draft).deleteRightWord),
	"\x15":  move((*draft).deleteToHome), "\x0b": move((*draft).deleteToEnd),
	"\x10": (*editor).older, "\x1b[A": (*editor).older, "\x1bOA": (*editor).older,
	"\x0e": (*editor).newer, "\x1b[B": (*editor).newer, "\x1bOB": (*editor).newer,
	"\x0c":   (*editor).clearScreen,
	"\x1b\r": move(func(l *draft) { l.insert(shownBreak) }),
}

func move(do func(*draft)) func(*editor) { return func(e *editor) { do(&e.line) } }

// stroke is the first key of what was typed, whole: a run of letters, or what a terminal sends for another key. It is empty where
// the rest of it has not come yet.
func stroke(typed []byte) string {
	if len(typed) == 0 {
		return ""
	}
	if typed[0] == escape {
		return sequence(typed)
	}
	n := 0
	for n < len(typed) && utf8.FullRune(typed[n:]) {
		r, size := utf8.DecodeRune(typed[n:])
		if !isLetter(r) {
			if n == 0 {
				n = size
			}
			break
		}
		n += size
	}
	return string(typed[:n])
}

const escape = 0x1b

// longestSequence is more than any key sends; what is longer is none.
const longestSequence = 32

// sequence is what begins with an escape.
func sequence(typed []byte) string {
	switch {
	case len(typed) == 1:
		return ""
	case typed[1] == escape:
		return string(typed[:1])
	case typed[1] == 'O' && len(typed) == 2:
		return ""
	case typed[1] == 'O':
		return string(typed[:3])
	case typed[1] != '[':
		return string(typed[:2])
	}
	last := bytes.IndexFunc(typed[2:], func(r rune) bool { return r < ' ' || r >= '@' })
	switch {
	case last < 0 && len(typed) <= longestSequence:
		return ""
	case last < 0:
		return string(typed[:longestSequence])
	case typed[2+last] >= '@' && typed[2+last] <= '~':
		last++
	}
	return string(typed[:2+last]) // what cannot be part of it begins something else
}

// isLetter reports whether a character is one of a text, and nothing that a terminal obeys.
func isLetter(r rune) bool {
	return r >= ' ' && r != 0x7f && (r < 0x80 || r >= 0xa0) && r != utf8.RuneError
}
