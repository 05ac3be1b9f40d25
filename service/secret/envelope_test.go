package secret_test

import (
	"slices"
	"strings"
	"testing"

	"svc.dev/svc/service/secret"
)

func TestTuplesThatDifferEncodeDifferently(t *testing.T) {
	lists := [][]string{
		{}, {""}, {"", ""}, {"a"}, {"a", ""}, {"", "a"}, {"ab"}, {"a", "b"}, {"a\x00b"}, {"a", "", "b"}, {"ab", ""}, {"", "ab"},
		{string(secret.Tuple("a"))}, {string(secret.Tuple("a", "b"))}, {string(secret.Tuple("a")), "b"},
		{"svc-secret-v1", "business", "users/eve", "/shop"}, {"svc-secret-v1", "business", "users/eve/", "shop"},
		{"business", "users/a/b", "A", "1", "11"}, {"business", "users/a/b", "A", "11", "1"},
	}
	seen := map[string][]string{}
	for _, list := range lists {
		text := string(secret.Tuple(list...))
		if other, ok := seen[text]; ok {
			t.Errorf("%q and %q encode alike", list, other)
		}
		seen[text] = list
	}
}

// TestEnvelopeOpensOnlyInItsPlace proves the binding by itself, without the row that vouches for the value: the key is
// wrapped anew for the place where it is opened, as if it were bound to nothing.
func TestEnvelopeOpensOnlyInItsPlace(t *testing.T) {
	ring, _, err := newRing(t).Add()
	must(t, err)
	here := secret.Place{Owner: shop, Name: "A", ID: "sec_1", Version: 2}
	same := func(kid string, wrapped []byte) (string, []byte) { return kid, wrapped }
	if got, err := secret.Reopen(ring, here, here, same); err != nil || string(got) != "value" {
		t.Fatalf("%q, %v", got, err)
	}
	for what, there := range map[string]secret.Place{
		"kind":    {Owner: secret.Owner{Kind: secret.Account, Scope: shop.Scope}, Name: "A", ID: "sec_1", Version: 2},
		"scope":   {Owner: bakery, Name: "A", ID: "sec_1", Version: 2},
		"name":    {Owner: shop, Name: "B", ID: "sec_1", Version: 2},
		"id":      {Owner: shop, Name: "A", ID: "sec_2", Version: 2},
		"version": {Owner: shop, Name: "A", ID: "sec_1", Version: 1},
	} {
		if got, err := secret.Reopen(ring, here, there, same); err == nil {
			t.Errorf("another %s: %q", what, got)
		}
		rewrap := func(kid string, wrapped []byte) (string, []byte) {
			_, from := secret.Bound(here, kid)
			_, to := secret.Bound(there, kid)
			dek, err := ring.Unwrap(kid, wrapped, from)
			must(t, err)
			wrapped, err = ring.Wrap(kid, dek, to)
			must(t, err)
			return kid, wrapped
		}
		if got, err := secret.Reopen(ring, here, there, rewrap); err == nil {
			t.Errorf("another %s, its key wrapped for it: %q", what, got)
		}
	}
}

func TestWhatIsBoundIsWhatIsWritten(t *testing.T) {
	value, key := secret.Bound(secret.Place{Owner: shop, Name: "A", ID: "sec_1", Version: 2}, "k1")
	if want := secret.Tuple("svc-secret-v1", "business", "users/eve/shop", "A", "sec_1", "2"); string(value) != string(want) {
		t.Errorf("value: %q", value)
	}
	if want := secret.Tuple("svc-dek-v1", "sec_1", "2", "k1"); string(key) != string(want) {
		t.Errorf("key: %q", key)
	}
	if want := "\x00\x00\x00\x00\x00\x00\x00\x01a\x00\x00\x00\x00\x00\x00\x00\x00"; string(secret.Tuple("a", "")) != want {
		t.Errorf("tuple: %q", secret.Tuple("a", ""))
	}
}

// FuzzAAD cuts two texts into lists at a character and holds their encodings against each other.
func FuzzAAD(f *testing.F) {
	f.Add("a,b", "a,,b", byte(','))
	f.Add("", ",", byte(','))
	f.Add("\x00\x00\x00\x00\x00\x00\x00\x01a,b", "a,b", byte(','))
	f.Add("users/eve/shop", "users/eve\x00shop", byte('/'))
	f.Fuzz(func(t *testing.T, a, b string, cut byte) {
		one, two := strings.Split(a, string(rune(cut))), strings.Split(b, string(rune(cut)))
		same := slices.Equal(one, two)
		if (string(secret.Tuple(one...)) == string(secret.Tuple(two...))) != same {
			t.Fatalf("%q and %q: equal is %v", one, two, same)
		}
		if a != "" && string(secret.Tuple(a)) == string(secret.Tuple(one...)) && len(one) > 1 {
			t.Fatalf("%q and %q encode alike", a, one)
		}
	})
}
