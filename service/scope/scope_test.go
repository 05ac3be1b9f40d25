package scope

import (
	"errors"
	"strings"
	"testing"
)

func TestAScopeIsReadExactlyAsItIsWritten(t *testing.T) {
	for _, s := range []string{"users/ada/personal", "users/a1/x", "users/a-b-c/n-1", "users/" + strings.Repeat("a", 39) + "/" + strings.Repeat("b", 48)} {
		got, err := Parse(s)
		if err != nil || got.String() != s {
			t.Errorf("Parse(%q) = %v, %v", s, got, err)
		}
	}
}

func TestWhatIsNoScopeIsRefused(t *testing.T) {
	for _, s := range []string{
		"", "admin", "users", "users/", "users//", "users/ada", "users/ada/", "users//x", "users/ada/x/", "users/ada/x/y", "/users/ada/x",
		"Users/ada/x", "users/Ada/x", "users/ada/X", "users/a/x", "users/-ada/x", "users/ada-/x", "users/a--b/x", "users/ada/x-", "users/a_b/x",
		"users/../x", "users/ada/..", "users/ada/.", "users/ada%2fx/y", "users/ada/x%00", "users/ada/x ", " users/ada/x", "users/ada/x\n", "users/ädä/x",
		"users/ａda/x", "users/ada/x, users/eve/y", "users/" + strings.Repeat("a", 40) + "/x", "users/ada/" + strings.Repeat("x", 49), "user/ada/x",
	} {
		if got, err := Parse(s); err == nil {
			t.Errorf("Parse(%q) = %v", s, got)
		}
	}
}

func TestUsernamesThatMisleadAreReserved(t *testing.T) {
	cases := map[string]error{
		"ada": nil, "ada-lovelace": nil, "a1": nil, "administer": nil, "root2": nil,
		"admin": ErrReserved, "adm1n": ErrReserved, "r00t": ErrReserved, "adrnin": ErrReserved, "vvww": ErrReserved, "vvvv": nil, "a": ErrTooShort, "con": ErrReserved,
		"c0n": ErrReserved, "lpt9": ErrReserved, "w-w": nil, "vvvvw": ErrReserved, "bi11ing": ErrReserved, "blll1ng": ErrReserved,
		"": ErrInvalid, "Ada": ErrInvalid, "a.b": ErrInvalid, strings.Repeat("a", 40): ErrTooLong, "xn--a": ErrInvalid,
	}
	for name, want := range cases {
		if err := CheckUsername(name); !errors.Is(err, want) {
			t.Errorf("CheckUsername(%q) = %v, want %v", name, err, want)
		}
	}
}

func TestSlugsThatTheProductUsesAreReserved(t *testing.T) {
	for _, slug := range []string{Personal, "new", "admin", "nul", "com9"} {
		if err := CheckBusiness(slug); !errors.Is(err, ErrReserved) {
			t.Errorf("CheckBusiness(%q) = %v", slug, err)
		}
	}
	if err := CheckProject("ops"); err != nil {
		t.Errorf("CheckProject: %v", err)
	}
}

func TestASlugIsMadeOfWhatATextOffers(t *testing.T) {
	cases := map[string]string{"A.Lo+x": "a-lo-x", "__a__": "a", "ÄÖ": "", "a--b": "a-b", "abcdefghijk": "abcdefgh", "abcdefg-h": "abcdefg"}
	for text, want := range cases {
		if got := Slug(text, 8); got != want {
			t.Errorf("Slug(%q) = %q, want %q", text, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"users/ada/personal", "users/a/b", "admin", "users/ada/x/y", "users/ada%2f/x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, err := Parse(s); err == nil && got.String() != s {
			t.Fatalf("Parse(%q) writes %q", s, got)
		}
	})
}
