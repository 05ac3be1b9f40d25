package httpapi

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
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
