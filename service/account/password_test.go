package account

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestANewPasswordIsJudgedByLengthAndHowSoonItIsGuessed(t *testing.T) {
	for password, want := range map[string]string{
		"elevenchars":  tooShort,
		"twelve chars": "",
		"":             tooShort,
		"𝒶𝒷𝒸𝒹𝒾𝒻𝓀𝒽𝓂𝒿𝓍𝓁": "", // twelve code points of four bytes
		"naïve Zürich":                     "",
		strings.Repeat("xq7 ", 64):         tooCommon, // repeated
		strings.Repeat("x", 257):           tooLong,
		strings.Repeat("é𝒷c", 86):          tooLong,
		"aaaaaaaaaaaa":                     tooCommon,
		"abcabcabcabc":                     tooCommon,
		"abcdefghijkl":                     tooCommon,
		"lkjihgfedcba":                     tooCommon,
		"123456789012":                     tooCommon,
		"098765432109":                     tooCommon,
		"qwertyuiop[]":                     tooCommon,
		"qwerty123456":                     tooCommon,
		"asdfghjkl123":                     tooCommon,
		"ZXCVBNM12345":                     tooCommon,
		"password1234":                     tooCommon,
		"PassWord1234":                     tooCommon,
		"svc123456789":                     tooCommon, // the brand and digits
		"!!svc-----!!":                     tooCommon,
		"ada.lovelace":                     tooCommon, // the local part
		"ada.lovelace99!":                  tooCommon,
		"ada.lovelace@example.com":         tooCommon,
		"##countess##1815":                 tooCommon, // the username
		"ada.lovelace is my name":          "",
		"correct horse battery staple now": "",
		"tr0ub4dor&3-and-more":             "",
		"            ":                     tooCommon,
		"nul\x00nul nul!":                  "",
	} {
		if got := weakness(normalPassword(password), "ada.lovelace@example.com", "ada.lovelace", "countess", "svc"); got != want {
			t.Errorf("weakness(%q) = %q, want %q", password, got, want)
		}
	}
}

func TestAPasswordTypedOnAnotherKeyboardIsTheSame(t *testing.T) {
	composed, apart := "Zürich caf\u00e9!", "Zu\u0308rich cafe\u0301!"
	if normalPassword(composed) != normalPassword(apart) {
		t.Error("composed and decomposed differ")
	}
	if normalPassword("a\u00a0b\u3000c") != "a b c" {
		t.Error("wide spaces differ from plain ones")
	}
	if normalPassword("A b  c\x00 ") != "A b  c\x00 " {
		t.Error("more was changed than forms and spaces")
	}
}

func TestTheListIsLongAndOfPasswordsThatLengthAllows(t *testing.T) {
	if len(common()) < 500 {
		t.Errorf("%d entries", len(common()))
	}
	for entry := range common() {
		if utf8.RuneCountInString(entry) < minPassword || entry != strings.ToLower(entry) {
			t.Errorf("%q", entry)
		}
	}
}
