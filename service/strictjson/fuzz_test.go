package strictjson_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/strictjson"
)

// anything has no required field, so that most objects a fuzzer finds get far.
type anything struct {
	Text   string            `json:"text,omitzero"`
	Flag   bool              `json:"flag,omitzero"`
	Count  int64             `json:"count,omitzero"`
	Rate   float64           `json:"rate,omitzero"`
	Tags   []string          `json:"tags,omitzero"`
	Labels map[string]string `json:"labels,omitzero"`
	Next   *anything         `json:"next"`
	List   []anything        `json:"list,omitzero"`
	Text2  *string           `json:"text2"`
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte(`{"text":"\ud83d\ude00\\","next":{"next":null,"list":[{},{"rate":-0e5}]},"labels":{"":""},"text2":"\u0000"}`))
	for _, body := range notJSON {
		f.Add([]byte(body))
	}
	for _, test := range refused {
		f.Add([]byte(test.body))
	}
	for _, test := range wrong {
		f.Add([]byte(`{"` + test.field + `":` + test.value + `}`))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		sent := bytes.Clone(body)
		var loose everything
		_ = strictjson.Decode(body, &loose)
		var got anything
		err := strictjson.Decode(body, &got)
		if !bytes.Equal(body, sent) {
			t.Fatal("the body was changed")
		}
		if sound := isSound(body); sound == fault.Is(err, fault.InvalidJSON) {
			t.Fatalf("sound is %v, and the answer %v", sound, err)
		}
		if err != nil {
			if f := fault.From(err); f.Type != fault.InvalidJSON && f.Type != fault.InvalidRequest {
				t.Fatalf("not a refusal: %v", err)
			}
			return
		}
		sameAgain(t, got)
		sameAsLoose(t, body, got)
	})
}

// isSound is the rule of invalid_json told in another way: by what encoding/json reads token by token.
func isSound(body []byte) bool {
	if !utf8.Valid(body) || !json.Valid(body) || strings.Contains(spelled(body), "\ufffd") {
		return false
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	return soundValue(d, 0) == nil
}

// spelled is every string of the body as encoding/json reads it, where half a character is U+FFFD and a whole U+FFFD is not.
func spelled(body []byte) string {
	var b strings.Builder
	hidden := strings.NewReplacer("\ufffd", "-", `\ufffd`, "-", `\uFFFD`, "-", `\uFffd`, "-", `\ufFfd`, "-", `\uffFd`, "-", `\ufffD`, "-",
		`\uFFfd`, "-", `\uFfFd`, "-", `\uFffD`, "-", `\ufFFd`, "-", `\ufFfD`, "-", `\uffFD`, "-", `\uFFFd`, "-", `\uFFfD`, "-", `\uFfFD`, "-", `\ufFFD`, "-",
		`\\`, "-")
	d := json.NewDecoder(strings.NewReader(hidden.Replace(string(body))))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			return b.String()
		}
		if s, ok := token.(string); ok {
			b.WriteString(s)
		}
	}
}

func soundValue(d *json.Decoder, depth int) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	open, ok := token.(json.Delim)
	if !ok {
		return nil
	}
	if depth == 32 {
		return io.ErrShortBuffer
	}
	names := map[any]bool{}
	for d.More() {
		if open == '{' {
			name, err := d.Token()
			if err != nil || names[name] {
				return io.ErrNoProgress
			}
			names[name] = true
		}
		if err := soundValue(d, depth+1); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

// sameAgain writes what was read with encoding/json and reads it again.
func sameAgain(t *testing.T, got anything) {
	t.Helper()
	body, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var again anything
	if err := strictjson.Decode(body, &again); err != nil || !reflect.DeepEqual(got, again) {
		t.Fatalf("%s is read as %+v, %v", body, again, err)
	}
}

// sameAsLoose compares with encoding/json, which reads the same where nothing is ambiguous.
func sameAsLoose(t *testing.T, body []byte, got anything) {
	t.Helper()
	var loose anything
	if err := json.Unmarshal(body, &loose); err != nil || !reflect.DeepEqual(got, loose) {
		t.Fatalf("encoding/json reads %+v, %v, and we %+v", loose, err, got)
	}
}

func FuzzForm(f *testing.F) {
	f.Add([]byte("email=ada%40example.com&password=p%C3%A4+%F0%9F%98%80%00%26%3D%2B&username=ada&keep=on&returnTo=%2Fa%3Bb"))
	for body := range badForms {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var got page
		if err := strictjson.Form(body, &got); err != nil {
			if !fault.Is(err, fault.InvalidRequest) {
				t.Fatalf("not a refusal: %v", err)
			}
			return
		}
		values, err := url.ParseQuery(string(body))
		if err != nil {
			t.Fatalf("net/url refuses what we take: %v", err)
		}
		for name, all := range values {
			if len(all) != 1 || !utf8.ValidString(name+all[0]) {
				t.Fatalf("%q is %q", name, all)
			}
		}
		if got.Email != values.Get("email") || got.Password != values.Get("password") || got.ReturnTo != values.Get("returnTo") {
			t.Fatalf("got %+v from %q", got, values)
		}
		if (got.Username != nil) != values.Has("username") || got.Username != nil && *got.Username != values.Get("username") {
			t.Fatalf("got %+v from %q", got, values)
		}
	})
}
