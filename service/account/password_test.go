package account

import (
	"strings"
	"testing"
	"unicode/utf8"

	"svc.dev/svc/service/strictjson"
)

func TestANewPasswordIsJudgedByLengthAndHowSoonItIsGuessed(t *testing.T) {
	for password, want := range map[string]string{
		"elevenchars":  strictjson.TooShort,
		"twelve chars": "",
		"":             strictjson.TooShort,
		"𝒶𝒷𝒸𝒹𝒾𝒻𝓀𝒽𝓂𝒿𝓍𝓁": "", // twelve code points of four bytes
		"naïve Zürich":                     "",
		strings.Repeat("xq7 ", 64):         strictjson.TooCommon, // repeated
		strings.Repeat("x", 257):           strictjson.TooLong,
		strings.Repeat("é𝒷c", 86):          strictjson.TooLong,
		"aaaaaaaaaaaa":                     strictjson.TooCommon,
		"abcabcabcabc":                     strictjson.TooCommon,
		"abcdefghijkl":                     strictjson.TooCommon,
		"lkjihgfedcba":                     strictjson.TooCommon,
		"123456789012":                     strictjson.TooCommon,
		"098765432109":                     strictjson.TooCommon,
		"qwertyuiop[]":                     strictjson.TooCommon,
		"qwerty123456":                     strictjson.TooCommon,
		"asdfghjkl123":                     strictjson.TooCommon,
		"ZXCVBNM12345":                     strictjson.TooCommon,
		"password1234":                     strictjson.TooCommon,
		"PassWord1234":                     strictjson.TooCommon,
		"svc123456789":                     strictjson.TooCommon, // the brand and digits
		"!!svc-----!!":                     strictjson.TooCommon,
		"ada.lovelace":                     strictjson.TooCommon, // the local part
		"ada.lovelace99!":                  strictjson.TooCommon,
		"ada.lovelace@example.com":         strictjson.TooCommon,
		"##countess##1815":                 strictjson.TooCommon, // the username
		"ada.lovelace is my name":          "",
		"correct horse battery staple now": "",
		"tr0ub4dor&3-and-more":             "",
		"            ":                     strictjson.TooCommon,
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
