package mail

import (
	"errors"
	"strings"
	"testing"
)

func TestAnAddressHasOneNormalForm(t *testing.T) {
	for address, want := range map[string]string{
		"ada@example.com": "ada@example.com", "Ada.Lovelace+x@EXAMPLE.com": "ada.lovelace+x@example.com", "a@b.co": "a@b.co",
		"ada@bücher.example": "ada@xn--bcher-kva.example", "ada@BÜCHER.example": "ada@xn--bcher-kva.example",
		"a.d.a@example.com": "a.d.a@example.com", "o'brien@example.com": "o'brien@example.com",
		strings.Repeat("a", 64) + "@example.com": strings.Repeat("a", 64) + "@example.com",
	} {
		got, err := Normal(address)
		if err != nil || got != want {
			t.Errorf("Normal(%q) = %q, %v", address, got, err)
		}
		if again, err := Normal(got); err != nil || again != got {
			t.Errorf("Normal(%q) = %q, %v", got, again, err)
		}
	}
}

func TestWhatIsNoAddressIsRefused(t *testing.T) {
	for _, address := range []string{
		"", "ada", "@example.com", "ada@", "ada@example", "ada@@example.com", "ada@a@example.com", "ada＠example.com", "ada@exa＠mple.com",
		"ada @example.com", " ada@example.com", "ada@example.com ", "ada@example.com\n", "ada@example.com\r\nBcc: x@y.z", "a\x00b@example.com",
		`"ada"@example.com`, "ada(c)@example.com", "ada@[127.0.0.1]", ".ada@example.com", "ada.@example.com", "a..da@example.com",
		"ädä@example.com", "аda@example.com", "ada@example.com.", "ada@-example.com", "ada@exa_mple.com", "ada@.com", "ada@example..com",
		"<ada@example.com>", "ada@example.com,eve@example.com", "\u212a@example.com", strings.Repeat("a", 65) + "@example.com",
		"ada@" + strings.Repeat("a.", 130) + "com", strings.Repeat("a", 300) + "@example.com", "ada@xn--.com",
	} {
		if got, err := Normal(address); err == nil {
			t.Errorf("Normal(%q) = %q", address, got)
		}
	}
}

// TestAnAddressThatIsTooLongIsCalledSo holds the two refusals apart.
func TestAnAddressThatIsTooLongIsCalledSo(t *testing.T) {
	for address, want := range map[string]error{
		strings.Repeat("a", 65) + "@example.com": errLong, strings.Repeat("a", 300) + "@example.com": errLong, strings.Repeat("a", 2000): errLong,
		"ada@" + strings.Repeat("a.", 130) + "com": errLong, "ada@" + strings.Repeat("a", 64) + ".com": errInvalid, strings.Repeat("a", 64) + "@example": errInvalid,
		strings.Repeat("a", 65) + "@-.com": errLong, strings.Repeat(".", 65) + "@example.com": errInvalid, "": errInvalid, "ada": errInvalid,
	} {
		if _, err := Normal(address); !errors.Is(err, want) {
			t.Errorf("%.40q: %v, want %v", address, err, want)
		}
	}
}

func FuzzNormal(f *testing.F) {
	f.Add("Ada@Bücher.example")
	f.Add("ada＠example.com")
	f.Add("00@\xbc.0")
	f.Fuzz(func(t *testing.T, address string) {
		got, err := Normal(address)
		if err != nil {
			return
		}
		if strings.ContainsFunc(got, isForeign) || strings.Count(got, "@") != 1 || strings.ContainsAny(got, " \t\r\n\"()<>,;:\\") || len(got) > maxAddress {
			t.Fatalf("Normal(%q) = %q", address, got)
		}
		if again, err := Normal(got); err != nil || again != got {
			t.Fatalf("Normal(%q) = %q, and again %q, %v", address, got, again, err)
		}
	})
}
