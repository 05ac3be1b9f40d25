package strictjson_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/strictjson"
)

// register is a body of the kind that is read most.
type register struct {
	Email    string  `json:"email"`
	Password string  `json:"password" text:"any"`
	Username *string `json:"username"`
	Name     string  `json:"displayName,omitzero"`
}

// everything has a field of each type.
type everything struct {
	Text    string            `json:"text"`
	Flag    bool              `json:"flag"`
	Count   int64             `json:"count"`
	Rate    float64           `json:"rate"`
	At      time.Time         `json:"at"`
	Tags    []string          `json:"tags"`
	Labels  map[string]string `json:"labels"`
	Inner   inner             `json:"inner"`
	Inners  []inner           `json:"inners"`
	Raw     json.RawMessage   `json:"raw"`
	Small   int8              `json:"small,omitzero"`
	Perhaps *inner            `json:"perhaps"`
	Number  *int64            `json:"number"`
	Ours    string            `json:"-"`
}

type inner struct {
	Name string `json:"name"`
	Role role   `json:"role,omitzero"`
}

type role string

const whole = `{"text":"t","flag":true,"count":-7,"rate":1.5e2,"at":"2026-11-14T10:00:00.5+01:00","tags":["a","b"],` +
	`"labels":{"k":"v"},"inner":{"name":"n","role":"owner"},"inners":[{"name":"x"}],"raw":{"any": [1]},"perhaps":{"name":"p"},"number":9}`

func TestABodyFillsItsStruct(t *testing.T) {
	var got everything
	if err := strictjson.Decode([]byte(whole), &got); err != nil {
		t.Fatal(err)
	}
	nine := int64(9)
	want := everything{
		Text: "t", Flag: true, Count: -7, Rate: 150, At: got.At, Tags: []string{"a", "b"}, Labels: map[string]string{"k": "v"},
		Inner: inner{"n", "owner"}, Inners: []inner{{Name: "x"}}, Raw: json.RawMessage(`{"any": [1]}`), Perhaps: &inner{Name: "p"}, Number: &nine,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	if !got.At.Equal(time.Date(2026, 11, 14, 9, 0, 0, 5e8, time.UTC)) {
		t.Errorf("got %v", got.At)
	}
}

func TestWhatMayBeAbsentKeepsItsValue(t *testing.T) {
	old := "old"
	got := register{Name: "Ada", Username: &old, Email: "before"}
	if err := strictjson.Decode([]byte(" {\"password\":\"\\u0000\", \"email\":\"\"}\r\n"), &got); err != nil {
		t.Fatal(err)
	}
	if got.Name != "Ada" || got.Username != &old || got.Email != "" || got.Password != "\x00" {
		t.Errorf("got %+v", got)
	}
	if err := strictjson.Decode([]byte(`{"email":"e","password":"p","username":null}`), &got); err != nil || got.Username != nil {
		t.Errorf("null is %v, %v", got.Username, err)
	}
}

func TestNothingIsSetWhenSomethingIsRefused(t *testing.T) {
	got := register{Email: "before"}
	for _, body := range []string{`{"email":"after","password":1}`, `{"email":"after","password":"p"`} {
		if err := strictjson.Decode([]byte(body), &got); err == nil || got.Email != "before" {
			t.Errorf("%s: %v, %+v", body, err, got)
		}
	}
}

// notJSON are the bodies that are the fault invalid_json, whatever else is wrong with them.
var notJSON = map[string]string{
	"nothing":                             "",
	"only space":                          " \n\t",
	"two documents":                       `{"email":"e","password":"p"}{"email":"e","password":"p"}`,
	"two documents on two lines":          "{\"email\":\"e\",\"password\":\"p\"}\n{}",
	"text behind it":                      `{"email":"e","password":"p"} x`,
	"a brace behind it":                   `{"email":"e","password":"p"}}`,
	"a zero byte behind it":               "{\"email\":\"e\",\"password\":\"p\"}\x00",
	"a byte order mark":                   "\ufeff" + `{"email":"e","password":"p"}`,
	"no end":                              `{"email":"e","password":"p"`,
	"no end of a string":                  `{"email":"e","password":"p`,
	"a comma at the end":                  `{"email":"e","password":"p",}`,
	"a comment":                           `{"email":"e","password":"p"/**/}`,
	"single quotes":                       `{'email':'e','password':'p'}`,
	"a key without quotes":                `{email:"e","password":"p"}`,
	"a line break in a string":            "{\"email\":\"e\",\"password\":\"p\nq\"}",
	"a zero byte in a string":             "{\"email\":\"e\",\"password\":\"p\x00\"}",
	"an unknown escape":                   `{"email":"e","password":"\x41"}`,
	"a short escape":                      `{"email":"e","password":"\u00e"}`,
	"a number with a leading zero":        `{"email":"e","password":01}`,
	"not a number":                        `{"email":"e","password":NaN}`,
	"infinity":                            `{"email":"e","password":-Infinity}`,
	"a literal in capitals":               `{"email":"e","password":TRUE}`,
	"other space":                         "{\"email\":\"e\",\u00a0\"password\":\"p\"}",
	"a byte that is no UTF-8":             "{\"email\":\"e\",\"password\":\"\xff\"}",
	"half a UTF-8 character":              "{\"email\":\"e\",\"password\":\"\xc3\"}",
	"an overlong character":               "{\"email\":\"e\",\"password\":\"\xc0\xaf\"}",
	"a surrogate in UTF-8":                "{\"email\":\"e\",\"password\":\"\xed\xa0\x80\"}",
	"beyond the last character":           "{\"email\":\"e\",\"password\":\"\xf4\x90\x80\x80\"}",
	"no UTF-8 in a key":                   "{\"email\":\"e\",\"password\":\"p\",\"\xff\":1}",
	"no UTF-8 in a key that is known":     "{\"email\":\"e\",\"pass\xffword\":\"p\"}",
	"UTF-16":                              "\xff\xfe{\x00}\x00",
	"a high surrogate alone":              `{"email":"e","password":"\ud800"}`,
	"another high surrogate alone":        `{"email":"e","password":"\ud801"}`,
	"a high surrogate in capitals":        `{"email":"e","password":"\uD800"}`,
	"a low surrogate alone":               `{"email":"e","password":"\udc00"}`,
	"a pair the wrong way round":          `{"email":"e","password":"\udc00\ud800"}`,
	"two high surrogates":                 `{"email":"e","password":"\ud800\ud800\udc00"}`,
	"a high surrogate and a letter":       `{"email":"e","password":"\ud800A"}`,
	"a high surrogate and an escape":      `{"email":"e","password":"\ud800\n"}`,
	"a high surrogate and a character":    `{"email":"e","password":"\ud800\u0041"}`,
	"a high surrogate behind a pair":      `{"email":"e","password":"\ud83d\ude00\ud83d"}`,
	"a surrogate behind a backslash":      `{"email":"e","password":"\\\ud800"}`,
	"a surrogate in a key":                `{"email":"e","password":"p","\ud800":1}`,
	"a surrogate in what is skipped":      `{"email":"e","password":"p","x":["\ud800"]}`,
	"a key twice":                         `{"email":"e","password":"p","password":"q"}`,
	"a key twice with equal values":       `{"email":"e","password":"p","password":"p"}`,
	"a key twice, once escaped":           `{"email":"e","password":"p","p\u0061ssword":"q"}`,
	"a key twice, escaped as a pair":      `{"email":"e","password":"p","😀":1,"\ud83d\ude00":2}`,
	"an unknown key twice":                `{"email":"e","password":"p","x":1,"x":2}`,
	"an empty key twice":                  `{"email":"e","password":"p","":1,"":2}`,
	"a key twice below":                   `{"email":"e","password":"p","x":{"y":1,"y":2}}`,
	"a key twice in a list":               `{"email":"e","password":"p","x":[{"y":1,"y":2}]}`,
	"a key twice where no object belongs": `{"email":"e","password":{"a":1,"a":1}}`,
	"33 lists":                            strings.Repeat("[", 33) + strings.Repeat("]", 33),
	"33 objects":                          strings.Repeat(`{"a":`, 32) + "{}" + strings.Repeat("}", 32),
	"32 lists in an object":               `{"email":"e","password":` + strings.Repeat("[", 32) + strings.Repeat("]", 32) + "}",
	"a depth bomb":                        strings.Repeat("[", 8000) + strings.Repeat("]", 8000),
	"a depth bomb of objects":             strings.Repeat(`{"a":`, 3000) + "1" + strings.Repeat("}", 3000),
	"a depth bomb without an end":         strings.Repeat("[", 16000),
	"a depth bomb beyond all bounds":      strings.Repeat("[", 20000) + strings.Repeat("]", 20000),
}

func TestABodyThatIsNotOneJSONDocumentIsRefused(t *testing.T) {
	for name, body := range notJSON {
		t.Run(name, func(t *testing.T) {
			var got register
			err := strictjson.Decode([]byte(body), &got)
			if !fault.Is(err, fault.InvalidJSON) || got != (register{}) {
				t.Errorf("got %v, %+v", err, got)
			}
			if f := fault.From(err); f.Meta != nil || f.Message == "" {
				t.Errorf("got %+v", f)
			}
		})
	}
}

// refused are bodies that are JSON and not the request, with the fields that are named.
var refused = map[string]struct {
	body   string
	fields []string
}{
	"an empty object":           {`{}`, []string{"email", "password"}},
	"null":                      {`null`, []string{"email", "password"}},
	"a list":                    {`[{"email":"e","password":"p"}]`, []string{"email", "password"}},
	"a string":                  {`"email"`, []string{"email", "password"}},
	"a number":                  {`1`, []string{"email", "password"}},
	"a boolean":                 {`true`, []string{"email", "password"}},
	"null for a string":         {`{"email":"e","password":null}`, []string{"password"}},
	"a number for a string":     {`{"email":"e","password":123456789012}`, []string{"password"}},
	"a boolean for a string":    {`{"email":"e","password":true}`, []string{"password"}},
	"a list for a string":       {`{"email":"e","password":["p"]}`, []string{"password"}},
	"an object for a string":    {`{"email":"e","password":{"p":"p"}}`, []string{"password"}},
	"null where one may be not": {`{"email":"e","password":"p","displayName":null}`, []string{"displayName"}},
	"a number for a pointer":    {`{"email":"e","password":"p","username":1}`, []string{"username"}},
	"a list for a pointer":      {`{"email":"e","password":"p","username":[]}`, []string{"username"}},
	"an unknown key":            {`{"email":"e","password":"p","admin":true}`, []string{"admin"}},
	"an empty key":              {`{"email":"e","password":"p","":1}`, []string{""}},
	"a key in other case":       {`{"email":"e","Password":"p"}`, []string{"password", "Password"}},
	"a key in capitals":         {`{"EMAIL":"e","password":"p"}`, []string{"email", "EMAIL"}},
	"a key beside its variant":  {`{"email":"e","password":"p","PASSWORD":"q"}`, []string{"PASSWORD"}},
	"a key with a long s":       {`{"email":"e","paſſword":"p"}`, []string{"password", "paſſword"}},
	"a long s beside the key":   {`{"email":"e","password":"p","pa\u017f\u017fword":"q"}`, []string{"paſſword"}},
	"a key with a kelvin sign":  {`{"email":"e","password":"p","` + "\u212a" + `":"q"}`, []string{"\u212a"}},
	"a key of the struct":       {`{"Email":"e","password":"p","Name":"n"}`, []string{"email", "Email", "Name"}},
	"a key with a space":        {`{"email":"e","password ":"p"}`, []string{"password", "password "}},
	"a key with a zero byte":    {`{"email":"e","password\u0000":"p"}`, []string{"password", "password\x00"}},
	"a prototype":               {`{"email":"e","password":"p","__proto__":{"admin":true}}`, []string{"__proto__"}},
	"all of them at once":       {`{"z":1,"displayName":1,"username":2,"password":[],"a":1}`, []string{"email", "password", "username", "displayName", "z", "a"}},
	"32 lists of nothing":       {`{"email":"e","password":` + strings.Repeat("[", 31) + strings.Repeat("]", 31) + "}", []string{"password"}},
	"a deep unknown value":      {`{"email":"e","password":"p","x":` + strings.Repeat(`{"a":`, 30) + "{}" + strings.Repeat("}", 30) + "}", []string{"x"}},
	"a long unknown key":        {`{"email":"e","password":"p","` + strings.Repeat("k", 1000) + `":1}`, []string{strings.Repeat("k", 64)}},
	"a long key cut in between": {`{"email":"e","password":"p","` + strings.Repeat("k", 63) + `éé":1}`, []string{strings.Repeat("k", 63)}},
}

func TestABodyThatIsNotTheRequestNamesItsFields(t *testing.T) {
	for name, test := range refused {
		t.Run(name, func(t *testing.T) {
			var got register
			err := strictjson.Decode([]byte(test.body), &got)
			expectFields(t, err, test.fields)
			if got != (register{}) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func expectFields(t *testing.T, err error, names []string) {
	t.Helper()
	if !fault.Is(err, fault.InvalidRequest) {
		t.Fatalf("got %v", err)
	}
	var got []string
	for _, f := range strictjson.FieldsOf(fault.From(err)) {
		got = append(got, f.Field)
	}
	if !slices.Equal(got, names) {
		t.Errorf("fields are %q, want %q", got, names)
	}
}

func TestARefusalSaysWhatIsWrongWithEachField(t *testing.T) {
	type inner struct {
		Name string `json:"name"`
	}
	var body struct {
		Name  string  `json:"name"`
		Count int     `json:"count"`
		Items []inner `json:"items"`
	}
	for text, want := range map[string]string{
		`{}`:                                     `[{"field":"name","type":"required"},{"field":"count","type":"required"},{"field":"items","type":"required"}]`,
		`7`:                                      `[{"field":"name","type":"required"},{"field":"count","type":"required"},{"field":"items","type":"required"}]`,
		`{"name":7,"count":null,"items":[{}]}`:   `[{"field":"name","type":"invalid"},{"field":"count","type":"invalid"},{"field":"items[0].name","type":"required"}]`,
		`{"name":"","count":1,"items":[],"x":1}`: `[{"field":"x","type":"unknown"}]`,
		`{"name":"","count":1,"items":[{"name":"","x":1}]}`: `[{"field":"items[0].x","type":"unknown"}]`,
	} {
		got, err := json.Marshal(strictjson.FieldsOf(fault.From(strictjson.Decode([]byte(text), &body))))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	var form struct {
		Name string   `json:"name"`
		Tags []string `json:"tags"`
	}
	for text, want := range map[string]string{
		"name=a&name=b":               `[{"field":"name","type":"duplicate"}]`,
		"name=%zz&x=1":                `[{"field":"name","type":"invalid"},{"field":"x","type":"unknown"}]`,
		strings.Repeat("tags=a&", 65): `[{"field":"tags","type":"too_long"}]`,
	} {
		got, err := json.Marshal(strictjson.FieldsOf(fault.From(strictjson.Form([]byte(strings.TrimSuffix(text, "&")), &form))))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
}

func TestTheFieldsOfARefusalAreAListInJSON(t *testing.T) {
	var none struct {
		Name *string `json:"name"`
	}
	for body, want := range map[string]string{
		`[]`:         `{"fields":[]}`,
		`{"name":0}`: `{"fields":[{"field":"name","type":"invalid"}]}`,
	} {
		meta, err := json.Marshal(fault.From(strictjson.Decode([]byte(body), &none)).Meta)
		if err != nil || string(meta) != want {
			t.Errorf("%s: %s, %v", body, meta, err)
		}
	}
}

// wrong are values that do not fit one field of everything, and the name that is then refused.
var wrong = []struct{ field, value, name string }{
	{"text", `7`, "text"},
	{"flag", `"true"`, "flag"},
	{"flag", `1`, "flag"},
	{"flag", `null`, "flag"},
	{"count", `"1"`, "count"},
	{"count", `1.0`, "count"},
	{"count", `1e2`, "count"},
	{"count", `9223372036854775808`, "count"},
	{"count", `-9223372036854775809`, "count"},
	{"count", `1` + strings.Repeat("0", 5000), "count"},
	{"count", `true`, "count"},
	{"count", `null`, "count"},
	{"small", `128`, "small"},
	{"small", `-129`, "small"},
	{"small", `null`, "small"},
	{"rate", `1e309`, "rate"},
	{"rate", `-1e999999999`, "rate"},
	{"rate", `"1"`, "rate"},
	{"rate", `null`, "rate"},
	{"at", `1700000000`, "at"},
	{"at", `""`, "at"},
	{"at", `"2026-11-14"`, "at"},
	{"at", `"2026-11-14T10:00:00"`, "at"},
	{"at", `"2026-11-14T1:00:00Z"`, "at"},
	{"at", `"2026-11-14T10:00:00,5Z"`, "at"},
	{"at", `"2026-11-14 10:00:00Z"`, "at"},
	{"at", `"2026-02-30T10:00:00Z"`, "at"},
	{"at", `"2026-11-14T24:00:00Z"`, "at"},
	{"at", `"2026-11-14T10:00:00+24:00"`, "at"},
	{"at", `"2026-11-14T10:00:00.1234567891Z"`, "at"},
	{"at", `"٢٠٢٦-11-14T10:00:00Z"`, "at"},
	{"at", `null`, "at"},
	{"tags", `"a"`, "tags"},
	{"tags", `{}`, "tags"},
	{"tags", `null`, "tags"},
	{"tags", `["a",1,2,null]`, "tags[1]"},
	{"tags", `[["a"]]`, "tags[0]"},
	{"labels", `[]`, "labels"},
	{"labels", `null`, "labels"},
	{"labels", `{"a":"b","c":1,"d":2}`, "labels.c"},
	{"inner", `"n"`, "inner"},
	{"inner", `[]`, "inner"},
	{"inner", `null`, "inner"},
	{"inner", `{}`, "inner.name"},
	{"inner", `{"name":"n","Role":"owner"}`, "inner.Role"},
	{"inner", `{"name":"n","role":null}`, "inner.role"},
	{"inners", `[{"name":"n"},{},{}]`, "inners[1].name"},
	{"inners", `[null]`, "inners[0]"},
	{"perhaps", `{"role":"owner"}`, "perhaps.name"},
	{"perhaps", `false`, "perhaps"},
	{"number", `1.5`, "number"},
}

func TestAValueOfTheWrongTypeIsNamed(t *testing.T) {
	for _, test := range wrong {
		t.Run(test.field+" "+test.value[:min(len(test.value), 30)], func(t *testing.T) {
			var got everything
			expectFields(t, strictjson.Decode(with(t, test.field, test.value), &got), []string{test.name})
		})
	}
}

// with is the whole body with one value replaced.
func with(t *testing.T, field, value string) []byte {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(whole), &members); err != nil {
		t.Fatal(err)
	}
	members[field] = json.RawMessage(value)
	body, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestTheLimitsOfNumbersAreTaken(t *testing.T) {
	var got everything
	for value, want := range map[string]int64{"9223372036854775807": math.MaxInt64, "-9223372036854775808": math.MinInt64, "-0": 0} {
		if err := strictjson.Decode(with(t, "count", value), &got); err != nil || got.Count != want {
			t.Errorf("%s: %d, %v", value, got.Count, err)
		}
	}
	if err := strictjson.Decode(with(t, "rate", "1.7976931348623157e308"), &got); err != nil || got.Rate != math.MaxFloat64 {
		t.Errorf("%v, %v", got.Rate, err)
	}
	if err := strictjson.Decode(with(t, "raw", "null"), &got); err != nil || string(got.Raw) != "null" {
		t.Errorf("%s, %v", got.Raw, err)
	}
}

func TestUnknownKeysAreNamedOnlySoFar(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"email":"e","password":"p"`)
	for i := range 1000 {
		fmt.Fprintf(&b, `,"k%d":1`, i)
	}
	var got register
	err := strictjson.Decode([]byte(b.String()+"}"), &got)
	if fields := fault.From(err).Meta["fields"].([]strictjson.Field); len(fields) != 16 || fields[15].Field != "k15" {
		t.Errorf("got %v", fields)
	}
}

// TestDifferentPasswordsStayDifferent reads passwords that encoding/json takes for each other, and some that are neighbours.
func TestDifferentPasswordsStayDifferent(t *testing.T) {
	read := map[string]string{}
	for _, quoted := range []string{
		`"\ud800aaaaaaaaaaaa"`, `"\ud801aaaaaaaaaaaa"`, `"\udfffaaaaaaaaaaaa"`, `"\ufffdaaaaaaaaaaaa"`, "\"\xffaaaaaaaaaaaa\"", "\"\xfeaaaaaaaaaaaa\"",
		"\"\ufffd\ufffdaaaaaaaaaaaa\"", `"aaaaaaaaaaaa"`, `"aaaaaaaaaaaa\u0000"`, `"aaaaaaaaaaaa "`, `"AAAAAAAAAAAA"`, `"aaaaaaaaaaa\u00e4"`, `"aaaaaaaaaaaa\u0308"`,
		`"\ud83d\ude00aaaaaaaaaaaa"`, `"\ud83d\ude01aaaaaaaaaaaa"`, `"\\ud800aaaaaaaaaaaa"`,
	} {
		var got register
		err := strictjson.Decode([]byte(`{"email":"e","password":`+quoted+`}`), &got)
		if fault.Is(err, fault.InvalidJSON) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if other, twice := read[got.Password]; twice {
			t.Errorf("%q and %q are both %q", quoted, other, got.Password)
		}
		read[got.Password] = quoted
	}
	if len(read) != 11 {
		t.Errorf("%d passwords were read: %q", len(read), read)
	}
}

func TestOneTextHasOnlyItsOwnSpellings(t *testing.T) {
	for _, quoted := range []string{`"pä😀/\\"`, `"p\u00e4\ud83d\ude00\/\u005c"`, `"\u0070\u00E4\uD83D\uDE00/\\"`} {
		var got register
		if err := strictjson.Decode([]byte(`{"email":"e","p\u0061ssword":`+quoted+`}`), &got); err != nil || got.Password != `pä😀/\` {
			t.Errorf("%s: %q, %v", quoted, got.Password, err)
		}
	}
}

type signIn struct {
	Email string `json:"email"`
}

func TestAnEmbeddedStructCountsAsTheStructsOwn(t *testing.T) {
	var got struct {
		signIn
		ReturnTo string `json:"returnTo,omitzero"`
	}
	if err := strictjson.Decode([]byte(`{"returnTo":"/","email":"e"}`), &got); err != nil || got.Email != "e" || got.ReturnTo != "/" {
		t.Errorf("%+v, %v", got, err)
	}
	if err := strictjson.Form([]byte(`returnTo=%2F&email=f`), &got); err != nil || got.Email != "f" {
		t.Errorf("%+v, %v", got, err)
	}
	expectFields(t, strictjson.Decode([]byte(`{"signIn":{}}`), &got), []string{"email", "signIn"})
}

func TestAMistakeOfOursIsNoFault(t *testing.T) {
	for name, into := range map[string]any{
		"nil":           nil,
		"no pointer":    register{},
		"a nil pointer": (*register)(nil),
		"no struct":     new(string),
		"no tag":        &struct{ Name string }{},
		"no name": &struct {
			Name string `json:",omitzero"`
		}{},
		"another option": &struct {
			Name string `json:"name,omitempty"`
		}{},
		"a text as number": &struct {
			N int64 `json:"n,string"`
		}{},
		"bytes": &struct {
			B []byte `json:"b"`
		}{},
		"any": &struct {
			A any `json:"a"`
		}{},
		"another map": &struct {
			M map[string]int `json:"m"`
		}{},
		"two pointers": &struct {
			P **string `json:"p"`
		}{},
		"an unsigned one": &struct {
			U uint `json:"u"`
		}{},
		"one name twice": &struct {
			signIn
			Other string `json:"email"`
		}{},
		"an inner one": &struct {
			In struct {
				C chan int `json:"c"`
			} `json:"in"`
		}{},
	} {
		t.Run(name, func(t *testing.T) {
			for _, err := range []error{strictjson.Decode([]byte(`{"in":{}}`), into), strictjson.Form(nil, into)} {
				var f *fault.Error
				if err == nil || errors.As(err, &f) {
					t.Errorf("got %v", err)
				}
			}
		})
	}
}

func TestTheTimeTakenIsLinear(t *testing.T) {
	for name, body := range map[string]func(n int) string{
		"many keys":    func(n int) string { return manyKeys(n) },
		"long string":  func(n int) string { return `{"x":"` + strings.Repeat(`\u0041`, n) + `"}` },
		"many lists":   func(n int) string { return `{"x":[` + strings.Repeat("[],", n) + `[]]}` },
		"many objects": func(n int) string { return `{"x":[` + strings.Repeat("{},", n) + `{}]}` },
		"long number":  func(n int) string { return `{"n":` + strings.Repeat("1", 4*n) + `}` },
		"bad elements": func(n int) string { return `{"l":[` + strings.Repeat("1,", n) + `1]}` },
	} {
		t.Run(name, func(t *testing.T) {
			small, large := took(body(2_000)), took(body(32_000))
			if large > 16*8*small && large > time.Second {
				t.Errorf("%v became %v with 16 times as much", small, large)
			}
		})
	}
}

func manyKeys(n int) string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf(`"k%d":%d`, i, i)
	}
	return "{" + strings.Join(keys, ",") + "}"
}

func took(body string) time.Duration {
	text := []byte(body)
	times := make([]time.Duration, 3)
	for i := range times {
		var into struct {
			N int64    `json:"n"`
			L []string `json:"l"`
		}
		begun := time.Now()
		_ = strictjson.Decode(text, &into)
		times[i] = time.Since(begun)
	}
	return slices.Min(times)
}

// TestATextHoldsNoControlCharacterThatNobodyWrites in any kind of field, of a body and of a form, but for those that may.
func TestATextHoldsNoControlCharacterThatNobodyWrites(t *testing.T) {
	type fields struct {
		Text   string            `json:"text,omitzero"`
		Secret string            `json:"secret,omitzero" text:"any"`
		Maybe  *string           `json:"maybe"`
		List   []string          `json:"list,omitzero"`
		Labels map[string]string `json:"labels,omitzero"`
		Raw    json.RawMessage   `json:"raw,omitzero"`
		Inner  []struct {
			Name string `json:"name"`
		} `json:"inner,omitzero"`
	}
	for _, c := range []struct{ body, bad string }{
		{`{"text":"a\nb\r\tc é \u202e 😀"}`, ""},
		{`{"text":"a\u0000b"}`, "text"},
		{`{"text":"\u001b[31m"}`, "text"},
		{`{"text":"a\u007f"}`, "text"},
		{`{"text":"a\u0085"}`, "text"},
		{`{"secret":"a\u0000\u001b\u007f"}`, ""},
		{`{"maybe":"a\u0000"}`, "maybe"},
		{`{"maybe":null}`, ""},
		{`{"list":["a","b\u0000"]}`, "list"},
		{`{"labels":{"a":"\u0000"}}`, "labels"},
		{`{"labels":{"\u0000":"a"}}`, "labels"},
		{`{"raw":{"a":"\u0000"}}`, ""},
		{`{"inner":[{"name":"a"},{"name":"\u0000"}]}`, "inner[1].name"},
	} {
		var got fields
		err := strictjson.Decode([]byte(c.body), &got)
		if c.bad == "" {
			if err != nil {
				t.Errorf("%s: %v", c.body, err)
			}
			continue
		}
		if all := strictjson.FieldsOf(fault.From(err)); len(all) != 1 || all[0] != (strictjson.Field{Field: c.bad, Type: strictjson.Invalid}) {
			t.Errorf("%s: %v, want %s", c.body, err, c.bad)
		}
	}
	type form struct {
		Text   string   `json:"text"`
		Secret string   `json:"secret" text:"any"`
		List   []string `json:"list"`
	}
	for body, bad := range map[string]string{"text=a%00": "text", "secret=a%00": "", "list=a&list=%1b": "list", "text=a%0d%0ab": ""} {
		var got form
		err := strictjson.Form([]byte(body), &got)
		if all := strictjson.FieldsOf(fault.From(err)); bad == "" && err != nil || bad != "" && (len(all) != 1 || all[0].Field != bad) {
			t.Errorf("%s: %v, want %q", body, err, bad)
		}
	}
}
