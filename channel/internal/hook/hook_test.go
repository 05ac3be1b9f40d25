package hook_test

import (
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"svc.dev/svc/channel/internal/hook"
	"svc.dev/svc/fault"
)

// The examples of GitHub's and of Slack's documentation.
func TestPublishedSignaturesHold(t *testing.T) {
	for _, c := range []struct{ name, secret, header, scheme, prefix, body string }{
		{
			"GitHub", "It's a Secret to Everybody",
			"sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17", "sha256=", "", "Hello, World!",
		},
		{
			"Slack", "8f742231b10e8888abcd99yyyzzz85a5",
			"v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503", "v0=", "v0:1531420618:",
			"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar" +
				"&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=" +
				"&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN" +
				"&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c",
		},
	} {
		mac, err := hook.MAC(http.Header{"X": {c.header}}, "X", c.scheme)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		s := hook.Signature{MAC: mac, Prefix: c.prefix}
		if !s.Holds([][]byte{[]byte("another"), []byte(c.secret)}, []byte(c.body)) {
			t.Errorf("%s: the signature does not hold", c.name)
		}
		if s.Holds([][]byte{[]byte(c.secret)}, []byte(c.body+" ")) || s.Holds([][]byte{[]byte("another")}, []byte(c.body)) {
			t.Errorf("%s: a wrong signature holds", c.name)
		}
	}
}

// With an empty secret everybody signs alike: this is the well-known HMAC-SHA256 of nothing by nothing.
func TestEmptySecretNeverHolds(t *testing.T) {
	mac, err := hex.DecodeString("b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")
	if s := (hook.Signature{MAC: mac}); err != nil || s.Holds([][]byte{nil, {}}, nil) {
		t.Errorf("it holds: %v", err)
	}
}

func TestTimestampIsPlainDigits(t *testing.T) {
	now := time.Unix(1790000000, 0)
	for _, sent := range []string{"", "+1790000000", "-1790000000", " 1790000000", "1790000000.5", "0x6ab13b80", "1_790_000_000", "99999999999999999999"} {
		if _, err := hook.Timestamp(http.Header{"X": {sent}}, "X", now); !fault.Is(err, fault.InvalidSignature) {
			t.Errorf("%q: %v", sent, err)
		}
	}
}

func TestLongJSONIsCutBetweenCharacters(t *testing.T) {
	text, cut := hook.Compact([]byte(` { "long" : "` + strings.Repeat("é", 20_000) + `" } `))
	if !cut || len(text) > 32<<10 || len(text) < 32<<10-3 || !utf8.ValidString(text) || !strings.HasPrefix(text, `{"long":"é`) {
		t.Errorf("cut %v, %d bytes", cut, len(text))
	}
}

func FuzzHeaders(f *testing.F) {
	f.Add("sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17", "1790000000", "72d3162e-cc78-11e3-81ab-4c9367dc0958")
	f.Add("", "-1", "\x00")
	now := time.Unix(1790000000, 0)
	f.Fuzz(func(t *testing.T, signature, at, id string) {
		h := http.Header{"S": {signature}, "T": {at}, "I": {id}}
		mac, err := hook.MAC(h, "S", "sha256=")
		if err == nil && len(mac) != 32 {
			t.Errorf("mac of %d bytes", len(mac))
		}
		_, late := hook.Timestamp(h, "T", now)
		_, bad := hook.Header(h, "I")
		for _, err := range []error{err, late, bad} {
			if _, told := errors.AsType[*fault.Error](err); err != nil && !told {
				t.Errorf("not a fault: %v", err)
			}
		}
	})
}
