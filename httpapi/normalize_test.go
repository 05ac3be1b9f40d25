package httpapi

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func FuzzNormalize(f *testing.F) {
	for _, seed := range []string{
		`{}`, ` [ 1 , 2.50 , -0 , 1E+400 ] `, "\"\xff\"", `"\ud800"`, `"\ud83d\ude00"`, `"\ud800\ud83d\ude00\udc00"`, `"\\ud800"`, `"\uD800\u0041"`,
		"\"\xed\xa0\x80\"", "\"\u2028\"", `{"a":1,"a":2}`, "{\"\xff\":\"\\udfff\"}", `nul`, `"\u12"`, "\"a\nb\"", `1 2`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		kept, err := normalize(text)
		if (err == nil) != json.Valid(text) {
			t.Fatalf("%q: %v", text, err)
		}
		if err != nil {
			return
		}
		if !json.Valid(kept) || !utf8.Valid(kept) || bytes.ContainsAny(kept, "\r\n") {
			t.Fatalf("%q became %q", text, kept)
		}
		if sent, got := decode(t, text), decode(t, kept); !reflect.DeepEqual(sent, got) {
			t.Fatalf("%q means %v, became %q, which means %v", text, sent, kept, got)
		}
		if again, err := normalize(kept); err != nil || !bytes.Equal(again, kept) {
			t.Fatalf("%q became %q at last, %v", kept, again, err)
		}
	})
}

// TestATextIsKeptInLinearTime: whatever a string holds, no byte of it is looked for again and again. Eight times as much may take eight times as
// long, and not sixty-four, however often it is tried.
func TestATextIsKeptInLinearTime(t *testing.T) {
	for name, item := range map[string]string{"escapes": `\n`, "quotes": `\"`, "backslashes": `\\`, "strings": `","`, "letters": "xx"} {
		took := func(n int) time.Duration {
			text := []byte(`["` + strings.Repeat(item, n) + `"]`)
			began := time.Now()
			if kept, err := normalize(text); err != nil || len(kept) != len(text) {
				t.Fatalf("%s: %d bytes of %d, %v", name, len(kept), len(text), err)
			}
			return time.Since(began)
		}
		once, eightfold := time.Hour, time.Hour
		for range 8 {
			once, eightfold = min(once, took(128<<10)), min(eightfold, took(1<<20))
			if eightfold <= 24*once {
				break
			}
		}
		if eightfold > 24*once {
			t.Errorf("%s: %v for so much, %v for eight times as much", name, once, eightfold)
		}
	}
}

// decode keeps the digits of numbers.
func decode(t *testing.T, text []byte) any {
	var v any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}
