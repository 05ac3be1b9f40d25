package sqldb

import (
	"database/sql"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrText says that an argument is a text which no database here keeps: it is not UTF-8, or holds a zero byte. The statement
// was not run. PostgreSQL would refuse it, and SQLite, which takes any bytes, refuses it alike.
var ErrText = errors.New("text is not UTF-8 or holds a zero byte")

// Storable reports whether both databases keep the texts.
func Storable(texts ...string) bool {
	for _, t := range texts {
		if strings.IndexByte(t, 0) >= 0 || !utf8.ValidString(t) {
			return false
		}
	}
	return true
}

// storable reports whether all arguments that are texts can be stored.
func storable(args []any) bool {
	for _, arg := range args {
		if text, is := textOf(arg); is && !Storable(text) {
			return false
		}
	}
	return true
}

// textOf is the text of an argument that is one, or leads to one.
func textOf(arg any) (text string, is bool) {
	switch a := arg.(type) {
	case string:
		return a, true
	case nil, []byte, int, int64, bool:
		return "", false
	case sql.NullString:
		return a.String, a.Valid
	}
	v := reflect.ValueOf(arg)
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() != reflect.String {
		return "", false
	}
	return v.String(), true
}

// Text is a text that somebody else wrote, such as a header, as it can be stored and shown on one line: what is no character
// is U+FFFD, what controls or hides something is a space, and no more than so many bytes are left, cut between characters.
func Text(s string, most int) string {
	clean := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.In(r, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r // one that is broken is U+FFFD already
	}, s)
	if len(clean) <= most {
		return clean
	}
	for most > 0 && !utf8.RuneStart(clean[most]) {
		most--
	}
	return clean[:most]
}

// Contains is the pattern of LIKE … ESCAPE '\' for texts that contain this one, whatever characters it is of.
func Contains(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(text) + "%"
}

// List is the parameters of a statement that asks for some texts, the first of them $1.
func List(texts []string) (marks string, args []any) {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i], args = "$"+strconv.Itoa(i+1), append(args, text)
	}
	return strings.Join(all, ", "), args
}
