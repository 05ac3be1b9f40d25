package secret_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/secret"
)

// encoders are the ways in which a value may get out. What each gives must not be found in a scrubbed text.
var encoders = map[string]func(string) string{
	"exact":            func(v string) string { return v },
	"base64":           func(v string) string { return base64.StdEncoding.EncodeToString([]byte(v)) },
	"raw base64":       func(v string) string { return base64.RawStdEncoding.EncodeToString([]byte(v)) },
	"base64 after 1":   func(v string) string { return base64.StdEncoding.EncodeToString([]byte("u" + v)) },
	"base64 after 2":   func(v string) string { return base64.StdEncoding.EncodeToString([]byte("u:" + v)) },
	"base64 amid":      func(v string) string { return base64.StdEncoding.EncodeToString([]byte("user:" + v + "@host")) },
	"base64url":        func(v string) string { return base64.URLEncoding.EncodeToString([]byte(v)) },
	"base64url after":  func(v string) string { return base64.RawURLEncoding.EncodeToString([]byte("{" + v + "}")) },
	"base64 in lines":  func(v string) string { return wrapped(base64.StdEncoding.EncodeToString([]byte(v))) },
	"base64 in a URL":  func(v string) string { return url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(v))) },
	"hex":              func(v string) string { return hex.EncodeToString([]byte(v)) },
	"HEX":              func(v string) string { return strings.ToUpper(hex.EncodeToString([]byte(v))) },
	"query":            url.QueryEscape,
	"path":             url.PathEscape,
	"query, lower":     func(v string) string { return lowerEscapes(url.QueryEscape(v)) },
	"every byte":       func(v string) string { return everyByte(v) },
	"query twice":      func(v string) string { return url.QueryEscape(url.QueryEscape(v)) },
	"JSON":             inJSON,
	"JSON, no HTML":    plainJSON,
	"JSON, ASCII":      asciiJSON,
	"JSON in JSON":     func(v string) string { return inJSON(`{"a":"` + inJSON(v) + `"}`) },
	"query in JSON":    func(v string) string { return inJSON("q=" + url.QueryEscape(v)) },
	"JSON in query":    func(v string) string { return url.QueryEscape(inJSON(v)) },
	"base64 of JSON":   func(v string) string { return base64.StdEncoding.EncodeToString([]byte(`{"a":"` + v + `"}`)) },
	"Go":               func(v string) string { q := strconv.Quote(v); return q[1 : len(q)-1] },
	"Go, ASCII":        func(v string) string { q := strconv.QuoteToASCII(v); return q[1 : len(q)-1] },
	"bytes in fmt":     func(v string) string { return fmt.Sprint([]byte(v)) },
	"bytes in Go":      func(v string) string { return fmt.Sprintf("%#v", []byte(v)) },
	"bytes in JSON":    func(v string) string { return strings.ReplaceAll(fmt.Sprint([]byte(v)), " ", ",") },
	"hex in a dump":    func(v string) string { return fmt.Sprintf("0x%x", v) },
	"exact, amid word": func(v string) string { return "xx" + v + "yy" },
}

func wrapped(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i += 76 {
		b.WriteString(text[i:min(i+76, len(text))] + "\n")
	}
	return b.String()
}

func lowerEscapes(text string) string {
	b := []byte(text)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i:], bytes.ToLower(b[i:i+3]))
		}
	}
	return string(b)
}

func everyByte(v string) string {
	var b strings.Builder
	for i := range len(v) {
		fmt.Fprintf(&b, "%%%02X", v[i])
	}
	return b.String()
}

func inJSON(v string) string {
	b, _ := json.Marshal(v)
	return string(b[1 : len(b)-1])
}

func plainJSON(v string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return string(b.Bytes()[1 : b.Len()-2])
}

func asciiJSON(v string) string {
	var b strings.Builder
	for _, r := range v {
		if r < 0x80 {
			b.WriteString(inJSON(string(r)))
		} else if r <= 0xffff {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		}
	}
	return b.String()
}

// plant makes a value of one of the kinds that secrets have.
func plant(r *rand.Rand, kind int) string {
	n := 8 + r.IntN(56)
	if kind%10 == 9 {
		n = 65 + r.IntN(400)
	}
	alphabets := []string{
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", "0123456789abcdef", "0123456789",
		` !"#$%&'()*+,-./:;<=>?@[\]^_{|}~abcABC019`, "aäöüß€🔑漢字 x", "ab\n\r\t\"\\/ +%c", "+/=-_ab12",
	}
	if kind%8 == 7 {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return string(b)
	}
	runes := []rune(alphabets[kind%8])
	var b strings.Builder
	for b.Len() < n {
		b.WriteRune(runes[r.IntN(len(runes))])
	}
	return b.String()
}

func TestThousandPlantedValuesLeaveNoTrace(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	scrubber := secret.NewScrubber(0)
	values := make([]string, 1000)
	for i := range values {
		values[i] = plant(r, i)
		scrubber.Add([]byte(values[i]))
	}
	hits, texts := 0, 0
	for i, value := range values {
		for name, encode := range encoders {
			encoded := encode(value)
			text := encoded + ` level=INFO msg="` + encoded + `" end=` + encoded
			texts++
			out := scrubber.ScrubString(text)
			if strings.Contains(out, encoded) || strings.Contains(out, value) || strings.Count(out, "[redacted]") < 3 {
				if hits++; hits < 10 {
					t.Errorf("value %d as %s: %q gives %q", i, name, text, out)
				}
			}
		}
	}
	t.Logf("%d values in %d encodings, %d texts, %d hits", len(values), len(encoders), texts, hits)
}

// TestScrubbedBase64LeavesNoBits looks at the characters that hold bits of the value and of its neighbours.
func TestScrubbedBase64LeavesNoBits(t *testing.T) {
	scrubber := secret.NewScrubber(0)
	for n := 8; n < 300; n++ {
		value := strings.Repeat("s3cr3t-Value/+", 30)[:n]
		scrubber.Add([]byte(value))
		for before := range 4 {
			for after := range 4 {
				plain := strings.Repeat("b", before) + value + strings.Repeat("a", after)
				out := scrubber.ScrubString("<" + base64.StdEncoding.EncodeToString([]byte(plain)) + ">")
				inner := strings.Trim(out, "<>")
				if rest := strings.Replace(inner, "[redacted]", "", 1); len(rest) > before/3*4+after/3*4+4+2+2 {
					t.Fatalf("%d bytes amid %d and %d: %s", n, before, after, out)
				}
			}
		}
		scrubber.Remove([]byte(value))
	}
}

func TestCredentialsAreKnownByTheirPrefix(t *testing.T) {
	scrubber := secret.NewScrubber(0)
	pem := "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA+/=\nabc\n-----END RSA PRIVATE KEY-----"
	for text, want := range map[string]string{
		"token ghu_16C7e42F292c6912E7710c838347Ae178B4a, next": "token [redacted], next",
		"ghr_abc":                             "[redacted]",
		"x=ghs_1 y":                           "x=[redacted] y",
		"ghs_12345_eyJhbGciOi.eyJpc3Mi.c2ln.": "[redacted].",
		"ghp_a gho_b github_pat_11ABC_def":    "[redacted] [redacted] [redacted]",
		"Bearer svck_0123456789ab_0123456789abcdefghijklmnopqrstuv012345": "Bearer [redacted]",
		"cookie=svcs_abcDEF;":                       "cookie=[redacted];",
		"sk_live_51H8abc":                           "[redacted]",
		"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw+/=": "[redacted]",
		"Bearer%20ghu_abc%26":                       "Bearer%20[redacted]%26",
		`{"a":"ghu_abc","b":1}`:                     `{"a":"[redacted]","b":1}`,
		pem:                                         "[redacted]",
		"key: " + pem + "\nnext":                    "key: [redacted]\nnext",
		`{"key":` + strconv.Quote(pem) + `,"b":1}`:  `{"key":"[redacted]","b":1}`,
		`{"key":"-----BEGIN RSA PRIV","b":1}`:       `{"key":"[redacted]","b":1}`,
		url.QueryEscape(pem):                        "[redacted]",
		"tokens begin with ghu_ or svck_.":          "tokens begin with ghu_ or svck_.",
		"highs_and_lows":                            "highs_and_lows",
		"prefixghs_0123456789abcdef":                "prefix[redacted]",
		"a-----b":                                   "a-----b",
		"":                                          "",
		"short":                                     "short",
	} {
		if got := scrubber.ScrubString(text); got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
		if got := scrubber.Scrub([]byte(text)); string(got) != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
}

func TestOrdinaryTextStaysAsItIs(t *testing.T) {
	scrubber := secret.NewScrubber(0)
	scrubber.Add([]byte("correct horse battery staple"))
	scrubber.Add([]byte("seven77")) // below 8 bytes
	for _, text := range []string{
		"correct horse battery", "horse battery staple", "seven77", `{"path":"C:\\new\\table","q":"100%25+1"}`, "a\nb\r\n", strings.Repeat("x", 10_000),
		"%", "%2", `\`, `\u12`, `\ud800`, `\ud800\u`, `\x`, `\777`, "\xff\xfe", "+",
	} {
		in := []byte(text)
		if out := scrubber.Scrub(in); string(out) != text || &out[0] != &in[0] {
			t.Errorf("%q gives %q", text, out)
		}
	}
}

func TestScrubbedJSONIsJSON(t *testing.T) {
	scrubber := secret.NewScrubber(0)
	for _, v := range []string{"12345678901", `nabcdefgh`, `abcdefgh\`, `one","b":"two-three`, `"quoted" value`, "ends with \\n", "line one\nline two"} {
		scrubber.Add([]byte(v))
	}
	for _, text := range []string{
		`{"a":12345678901,"b":[12345678901,2]}`, `{"a":"x\nabcdefgh"}`, `{"a":"x\\nabcdefgh\"y"}`, `{"a":"abcdefgh\\"}`, `{"a":"abcdefgh\"x"}`,
		`{"a":"one","b":"two-three"}`, `["\"quoted\" value"]`, `{"a":"ends with \\n"}`, `{"12345678901":true}`, ` [ "line one\nline two" , "bGluZSBvbmUKbGluZSB0d28=" ] `,
		`{"html":"\u003c12345678901\u003e"}`,
	} {
		out := scrubber.Scrub([]byte(text))
		if !json.Valid(out) || !bytes.Contains(out, []byte("[redacted]")) {
			t.Errorf("%s gives %s", text, out)
		}
	}
}

func TestPartsOfAValueAreFoundAlone(t *testing.T) {
	scrubber := secret.NewScrubber(0)
	long := plant(rand.New(rand.NewPCG(3, 4)), 0) + strings.Repeat("0123456789abcdefghijklmnopqrstuvwxyz", 40)
	for _, v := range []string{
		long, "first line of it\nsecond line of it\r\n", "  spaced value  \n",
		`{"type":"x","client":{"secret":"leaf-of-a-document"},"list":["another \"leaf\""]}`,
	} {
		scrubber.Add([]byte(v))
	}
	for _, part := range []string{long[64:128], long[64:192], long[len(long)-64:], "second line of it", "spaced value", "leaf-of-a-document", `another "leaf"`, `another \"leaf\"`} {
		if out := scrubber.ScrubString("<" + part + ">"); out != "<[redacted]>" {
			t.Errorf("%q gives %q", part, out)
		}
	}
}

func TestRemovedValueIsShown(t *testing.T) {
	scrubber := secret.NewScrubber(0)
	scrubber.Add([]byte("value number one"))
	scrubber.Add([]byte("value number one"))
	scrubber.Add([]byte("value number two"))
	scrubber.Remove([]byte("value number one"))
	scrubber.Remove([]byte("value number one"))
	scrubber.Remove([]byte("never added"))
	if out := scrubber.ScrubString("value number one, value number two"); out != "value number one, [redacted]" {
		t.Error(out)
	}
	scrubber.Remove([]byte("value number two"))
	if out := scrubber.ScrubString("value number two dmFsdWUgbnVtYmVyIHR3bw=="); strings.Contains(out, "redacted") {
		t.Error(out)
	}
}

func TestScrubberIsBounded(t *testing.T) {
	scrubber := secret.NewScrubber(1200) // some 100 values
	value := func(i int) []byte { return fmt.Appendf(nil, "value number %06d", i) }
	keep := []byte("used all the time")
	for i := range 5000 {
		scrubber.Add(value(i))
		scrubber.Add(keep)
	}
	if out := scrubber.Scrub(value(0)); string(out) != string(value(0)) {
		t.Error("the oldest is still there")
	}
	for _, v := range [][]byte{value(4999), value(4950), keep} {
		if out := scrubber.Scrub(v); string(out) != "[redacted]" {
			t.Errorf("%s was forgotten", v)
		}
	}
	scrubber.Add(bytes.Repeat([]byte("large value "), 4096)) // alone more than the limit
	if out := scrubber.Scrub(bytes.Repeat([]byte("large value "), 40)); !bytes.Contains(out, []byte("[redacted]")) {
		t.Error("a large value is not found")
	}
}

// TestHostileTextTakesNoTime scrubs what is made to match everywhere and nowhere.
func TestHostileTextTakesNoTime(t *testing.T) {
	scrubber := secret.NewScrubber(0)
	for n := 8; n < 400; n++ {
		scrubber.Add([]byte(strings.Repeat("a", n) + "b"))
	}
	scrubber.Add([]byte(strings.Repeat("a", secret.MaxBytes-1) + "b"))
	for name, text := range map[string]string{
		"plain": strings.Repeat("a", 256<<10), "escaped": strings.Repeat(`\u0061%61+`, 25<<10), "backslashes": strings.Repeat(`\`, 256<<10),
		"percents": strings.Repeat("%25", 85<<10), "dashes": strings.Repeat("-----BEGIN", 25<<10), "prefixes": strings.Repeat("ghu_", 64<<10),
	} {
		began := time.Now()
		scrubber.ScrubString(text)
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s took %v", name, took)
		} else {
			t.Logf("%s: %v", name, took)
		}
	}
}

func TestScrubberHoldsNoValue(t *testing.T) {
	scrubber := secret.NewScrubber(0)
	scrubber.Add([]byte("correct horse battery staple"))
	if out := fmt.Sprintf("%+v %#v", scrubber, scrubber); printed(out, "correct horse battery staple") || printed(out, "correct ") {
		t.Error("the scrubber prints what it looks for")
	}
}

func TestValuesMayComeAndGoMeanwhile(t *testing.T) {
	scrubber := secret.NewScrubber(2000)
	scrubber.Add([]byte("always here"))
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for j := range 200 {
				v := fmt.Appendf(nil, "value %d of %d", j, i)
				scrubber.Add(v)
				scrubber.Add([]byte("always here"))
				if out := scrubber.ScrubString("x always here y"); out != "x [redacted] y" {
					t.Errorf("gives %q", out)
				}
				scrubber.Remove(v)
			}
		})
	}
	all.Wait()
}

func TestStoreTeachesTheScrubber(t *testing.T) {
	db := openDB(t, sqldbtest.SQLite(t))
	ring := newRing(t)
	s := newScene(t, db, ring)
	s.seal(shop, "A", "sealed before the scrubber")
	scrubber := secret.NewScrubber(0)
	var err error
	s.store, err = secret.Open(t.Context(), db, ring, secret.Config{Scrubber: scrubber})
	must(t, err)
	if out := scrubber.ScrubString("sealed before the scrubber"); strings.Contains(out, "redacted") {
		t.Error("known before it was opened")
	}
	s.want(shop, "A", "sealed before the scrubber")
	s.seal(shop, "B", "sealed with the scrubber")
	for _, v := range []string{"sealed before the scrubber", "sealed with the scrubber"} {
		if out := scrubber.ScrubString(v); out != "[redacted]" {
			t.Errorf("%q gives %q", v, out)
		}
	}
}

func FuzzScrub(f *testing.F) {
	f.Add("correct horse battery staple", "before ", " after", 0)
	f.Add("acted]AA", "", "AA", 0)
	f.Add("[redacted]x", "[redacted]", "x[redacted]x", 1)
	f.Add("\xff\x00\x80abcdefgh", `{"a":"`, `"}`, 17)
	f.Add("+ %2B\\u0041\\n", "%", "\\", 12)
	f.Add(strings.Repeat("long ", 40), "QUJD", "QUJD", 5)
	f.Add("ghu_ghu_ghu_", "ghu_", "_", 0)
	names := slices.Sorted(maps.Keys(encoders))
	f.Fuzz(func(t *testing.T, value, before, after string, n int) {
		if len(value) < 8 || strings.Contains("[redacted]", value) {
			return
		}
		scrubber := secret.NewScrubber(0)
		scrubber.Add([]byte(value))
		name := names[(n%len(names)+len(names))%len(names)]
		for _, text := range []string{before + value + after, before + encoders[name](value) + after} {
			out := scrubber.Scrub([]byte(text))
			if bytes.Contains(out, []byte(value)) {
				t.Fatalf("%q survives in %q as %s: %q", value, text, name, out)
			}
			if again := scrubber.Scrub(out); !bytes.Equal(again, out) {
				t.Fatalf("scrubbed twice: %q, then %q", out, again)
			}
		}
		// Neighbours that are part of an escape may turn an encoded value into something else.
		if strings.ContainsAny(before+after, "\\%+\r\n") || name == "base64 in lines" {
			return
		}
		if encoded := encoders[name](value); bytes.Contains(scrubber.Scrub([]byte(before+encoded+after)), []byte(encoded)) && !strings.Contains(encoded, "[redacted]") {
			t.Fatalf("%q survives as %s", value, name)
		}
	})
}

func BenchmarkScrubLine(b *testing.B) {
	for _, values := range []int{0, 10, 1000} {
		b.Run(strconv.Itoa(values), func(b *testing.B) {
			scrubber := secret.NewScrubber(0)
			r := rand.New(rand.NewPCG(1, 2))
			for range values {
				scrubber.Add([]byte(plant(r, 0)))
			}
			line := `time=2026-07-01T12:05:00.000Z level=INFO msg="request served" request_id=req_01J2 scope=users/eve/shop status=200 duration_ms=12 path=/api/workspaces/eve/shop/agents/support/42`
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				scrubber.ScrubString(line)
			}
		})
	}
}

func BenchmarkAdd(b *testing.B) {
	for _, size := range []int{40, secret.MaxBytes} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			scrubber := secret.NewScrubber(0)
			value := bytes.Repeat([]byte("0123456789abcdefghijklmnopqrstuvwxyz"), size/36+1)[:size]
			for i := 0; b.Loop(); i++ {
				copy(value, strconv.Itoa(i))
				scrubber.Add(value)
			}
			runtime.KeepAlive(scrubber)
		})
	}
}
