package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
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

	"svc.dev/svc/fault"
	"svc.dev/svc/service/redact"
)

// encoders are the forms of accounts.md §6.4, and what they are part of. What each gives must not be found in a redacted text.
var encoders = map[string]func(string) string{
	"exact":            func(v string) string { return v },
	"base64":           func(v string) string { return base64.StdEncoding.EncodeToString([]byte(v)) },
	"raw base64":       func(v string) string { return base64.RawStdEncoding.EncodeToString([]byte(v)) },
	"base64 after 1":   func(v string) string { return base64.StdEncoding.EncodeToString([]byte("u" + v)) },
	"base64 after 2":   func(v string) string { return base64.StdEncoding.EncodeToString([]byte("u:" + v)) },
	"base64 amid":      func(v string) string { return base64.StdEncoding.EncodeToString([]byte("user:" + v + "@host")) },
	"base64url":        func(v string) string { return base64.URLEncoding.EncodeToString([]byte(v)) },
	"base64url after":  func(v string) string { return base64.RawURLEncoding.EncodeToString([]byte("{" + v + "}")) },
	"hex":              func(v string) string { return hex.EncodeToString([]byte(v)) },
	"HEX":              func(v string) string { return strings.ToUpper(hex.EncodeToString([]byte(v))) },
	"query":            url.QueryEscape,
	"path":             url.PathEscape,
	"JSON":             inJSON,
	"JSON, no HTML":    plainJSON,
	"base64 of JSON":   func(v string) string { return base64.StdEncoding.EncodeToString([]byte(`{"a":"` + v + `"}`)) },
	"hex in a dump":    func(v string) string { return fmt.Sprintf("0x%x", v) },
	"exact, amid word": func(v string) string { return "xx" + v + "yy" },
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
	redactor := redact.New()
	values := make([]string, 1000)
	for i := range values {
		values[i] = plant(r, i)
		redactor.Add([]byte(values[i]))
	}
	hits, texts := 0, 0
	for i, value := range values {
		for name, encode := range encoders {
			encoded := encode(value)
			text := encoded + ` level=INFO msg="` + encoded + `" end=` + encoded
			texts++
			out := redactor.Text(text)
			if strings.Contains(out, encoded) || strings.Contains(out, value) || strings.Count(out, "[redacted]") < 3 {
				if hits++; hits < 10 {
					t.Errorf("value %d as %s: %q gives %q", i, name, text, out)
				}
			}
		}
	}
	t.Logf("%d values in %d encodings, %d texts, %d hits", len(values), len(encoders), texts, hits)
}

// TestBase64LeavesNoBits looks at the characters that hold bits of the value and of its neighbours.
func TestBase64LeavesNoBits(t *testing.T) {
	for n := 8; n < 300; n++ {
		redactor := redact.New()
		value := strings.Repeat("s3cr3t-Value/+", 30)[:n]
		redactor.Add([]byte(value))
		for before := range 4 {
			for after := range 4 {
				plain := strings.Repeat("b", before) + value + strings.Repeat("a", after)
				out := redactor.Text("<" + base64.StdEncoding.EncodeToString([]byte(plain)) + ">")
				inner := strings.Trim(out, "<>")
				if rest := strings.Replace(inner, "[redacted]", "", 1); len(rest) > before/3*4+after/3*4+4+2+2 {
					t.Fatalf("%d bytes amid %d and %d: %s", n, before, after, out)
				}
			}
		}
	}
}

func TestCredentialsAreKnownByTheirPrefix(t *testing.T) {
	redactor := redact.New()
	pem := "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA+/=\nabc\n-----END RSA PRIVATE KEY-----"
	for text, want := range map[string]string{
		"token ghu_16C7e42F292c6912E7710c838347Ae178B4a, next": "token [redacted], next",
		"ghr_abc":                             "[redacted]",
		"x=ghs_1 y":                           "x=[redacted] y",
		"ghs_12345_eyJhbGciOi.eyJpc3Mi.c2ln.": "[redacted].",
		"Bearer svck_0123456789ab_0123456789abcdefghijklmnopqrstuv012345": "Bearer [redacted]",
		"cookie=svcs_abcDEF;":                       "cookie=[redacted];",
		"code svcd_abc-DEF ":                        "code [redacted] ",
		"sk_live_51H8abc":                           "[redacted]",
		"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw+/=": "[redacted]",
		`{"a":"ghu_abc","b":1}`:                     `{"a":"[redacted]","b":1}`,
		pem:                                         "[redacted]",
		"key: " + pem + "\nnext":                    "key: [redacted]\nnext",
		`{"key":` + strconv.Quote(pem) + `,"b":1}`:  `{"key":"[redacted]","b":1}`,
		"tokens begin with ghu_ or svck_.":          "tokens begin with ghu_ or svck_.",
		"highs_and_lows":                            "highs_and_lows",
		"prefixghs_0123456789abcdef":                "prefix[redacted]",
		"a-----b":                                   "a-----b",
		"":                                          "",
		"short":                                     "short",
	} {
		if got := redactor.Text(text); got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
		if got := redactor.JSON([]byte(text)); string(got) != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
}

func TestOrdinaryTextStaysAsItIs(t *testing.T) {
	redactor := redact.New()
	redactor.Add([]byte("correct horse battery staple"))
	redactor.Add([]byte("seven77")) // below 8 bytes
	for _, text := range []string{
		"correct horse battery", "horse battery staple", "seven77", `{"path":"C:\\new\\table","q":"100%25+1"}`, "a\nb\r\n", strings.Repeat("x", 10_000),
		"%", "%2", `\`, `\u12`, `\ud800`, "\xff\xfe", "+",
	} {
		if out := redactor.JSON([]byte(text)); string(out) != text {
			t.Errorf("%q gives %q", text, out)
		}
		if out := redactor.Text(text); out != text {
			t.Errorf("%q gives %q", text, out)
		}
	}
}

func TestRedactedJSONIsJSON(t *testing.T) {
	redactor := redact.New()
	for _, v := range []string{"12345678901", `nabcdefgh`, `abcdefgh\`, `one","b":"two-three`, `"quoted" value`, "ends with \\n", "line one\nline two"} {
		redactor.Add([]byte(v))
	}
	for text, want := range map[string]string{
		`{"b":12345678901,"a":[-12345678901.5e3,2,true]}`:         `{"b":"[redacted]","a":["-[redacted].5e3",2,true]}`,
		`{"b":"x\nabcdefgh","a":null}`:                            `{"b":"x\nabcdefgh","a":null}`, // a line break, and not the value
		`{"a":"x\\nabcdefgh\"y"}`:                                 `{"a":"x\\[redacted]\"y"}`,
		`{"a":"abcdefgh\\"}`:                                      `{"a":"[redacted]"}`,
		`{"a":"abcdefgh\"x"}`:                                     `{"a":"abcdefgh\"x"}`,
		`{"a":"one","b":"two-three"}`:                             `{"a":"one","b":"two-three"}`, // across texts there is no value
		`{"key":"-----BEGIN RSA PRIV","b":1}`:                     `{"key":"[redacted]","b":1}`,
		`["\"quoted\" value"]`:                                    `["[redacted]"]`,
		`{"12345678901":true}`:                                    `{"[redacted]":true}`,
		` [ "line one\nline two" , "bGluZSBvbmUKbGluZSB0d28=" ] `: ` [ "[redacted]" , "[redacted]=" ] `,
		`{"html":"\u003c12345678901\u003e"}`:                      `{"html":"<[redacted]>"}`,
	} {
		if out := redactor.JSON([]byte(text)); string(out) != want {
			t.Errorf("%s gives %s, want %s", text, out, want)
		}
	}
}

func TestTextsOfADocumentAreFoundAlone(t *testing.T) {
	redactor := redact.New()
	long := strings.Repeat("0123456789abcdefghijklmnopqrstuvwxyz", 40)
	for _, v := range []string{long, "  spaced value  \n", `{"type":"x","client":{"secret":"leaf-of-a-document"},"list":["another \"leaf\""]}`} {
		redactor.Add([]byte(v))
	}
	for _, part := range []string{long, long[64:192], "spaced value", "leaf-of-a-document", `another "leaf"`, `another \"leaf\"`} {
		if out := redactor.Text("<" + part + ">"); out != "<[redacted]>" {
			t.Errorf("%q gives %q", part, out)
		}
	}
}

func TestFaultShowsNoSecret(t *testing.T) {
	redactor := redact.New()
	redactor.Add([]byte(planted))
	cause := errors.New("cause")
	f := fault.New("provider_unavailable", "It said "+planted+".", planted).With("sent", map[string]string{"key": planted}).With("limit", 7).Because(cause)
	f.Dev = "token " + planted
	clean := redactor.Fault(f)
	if out := fmt.Sprintf("%+v", *clean); strings.Contains(out, planted) || strings.Count(out, redact.Placeholder) != 4 {
		t.Error(out)
	}
	if clean.Type != f.Type || !errors.Is(clean, cause) || fmt.Sprint(clean.Meta["limit"]) != "7" || !strings.Contains(f.Message, planted) {
		t.Errorf("%+v of %+v", clean, f)
	}
}

func TestOldestAreForgotten(t *testing.T) {
	redactor := redact.New()
	redact.Bound(redactor, 1000)
	value := func(i int) string { return fmt.Sprintf("value number %06d", i) }
	const keep = "used all the time"
	for i := range 1000 {
		redactor.Add([]byte(value(i)))
		redactor.Add([]byte(keep))
	}
	if redactor.Text(value(0)) != value(0) {
		t.Error("the oldest is still there")
	}
	for _, v := range []string{value(999), value(950), keep} {
		if out := redactor.Text(v); out != redact.Placeholder {
			t.Errorf("%s was forgotten", v)
		}
	}
}

func TestRedactorHoldsNoValue(t *testing.T) {
	redactor := redact.New()
	redactor.Add([]byte("correct horse battery staple"))
	if out := fmt.Sprintf("%+v %#v", redactor, redactor); strings.Contains(out, "correct ") || strings.Contains(out, "99 111 114 114 101 99 116") {
		t.Error("the redactor prints what it looks for")
	}
}

func TestValuesMayComeMeanwhile(t *testing.T) {
	redactor := redact.New()
	redact.Bound(redactor, 1000)
	redactor.Add([]byte("always here"))
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for j := range 200 {
				redactor.Add([]byte("always here"))
				redactor.Add(fmt.Appendf(nil, "value %d of %d", j, i))
				if out := redactor.Text("x always here y"); out != "x [redacted] y" {
					t.Errorf("gives %q", out)
				}
			}
		})
	}
	all.Wait()
}

// TestHostileTextTakesNoTime looks at what is made to match everywhere and nowhere.
func TestHostileTextTakesNoTime(t *testing.T) {
	redactor := redact.New()
	for n := 8; n < 400; n++ {
		redactor.Add([]byte(strings.Repeat("a", n) + "b"))
	}
	redactor.Add([]byte(strings.Repeat("a", 48<<10-1) + "b"))
	for name, text := range map[string]string{
		"plain": strings.Repeat("a", 256<<10), "escaped": strings.Repeat(`\u0061%61+`, 25<<10), "backslashes": strings.Repeat(`\`, 256<<10),
		"percents": strings.Repeat("%25", 85<<10), "dashes": strings.Repeat("-----BEGIN", 25<<10), "prefixes": strings.Repeat("ghu_", 64<<10),
	} {
		began := time.Now()
		redactor.Text(text)
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s took %v", name, took)
		} else {
			t.Logf("%s: %v", name, took)
		}
	}
}

func FuzzRedact(f *testing.F) {
	f.Add("correct horse battery staple", "before ", " after", 0)
	f.Add("acted]AA", "", "AA", 0)
	f.Add("[redacted]x", "[redacted]", "x[redacted]x", 1)
	f.Add("\xff\x00\x80abcdefgh", `{"a":"`, `"}`, 17)
	f.Add(strings.Repeat("long ", 40), "QUJD", "QUJD", 5)
	f.Add("ghu_ghu_ghu_", "ghu_", "_", 0)
	names := slices.Sorted(maps.Keys(encoders))
	f.Fuzz(func(t *testing.T, value, before, after string, n int) {
		if len(value) < 8 || strings.Contains(redact.Placeholder, strings.TrimSpace(value)) {
			return
		}
		redactor := redact.New()
		redactor.Add([]byte(value))
		encoded := encoders[names[(n%len(names)+len(names))%len(names)]](value)
		for _, text := range []string{value, encoded} {
			document, _ := json.Marshal(map[string]string{"k": before + text + after})
			var told map[string]string
			if err := json.Unmarshal(redactor.JSON(document), &told); err != nil {
				t.Fatal(err)
			}
			for _, out := range []string{redactor.Text(before + text + after), told["k"]} {
				if strings.Contains(out, text) && !strings.Contains(text, redact.Placeholder) {
					t.Fatalf("%q survives amid %q and %q: %q", text, before, after, out)
				}
			}
		}
	})
}

func BenchmarkText(b *testing.B) {
	for _, values := range []int{0, 10, 1000} {
		b.Run(strconv.Itoa(values), func(b *testing.B) {
			redactor := redact.New()
			r := rand.New(rand.NewPCG(1, 2))
			for range values {
				redactor.Add([]byte(plant(r, 0)))
			}
			line := `time=2026-07-01T12:05:00.000Z level=INFO msg="request served" request_id=req_01J2 scope=users/eve/shop status=200 duration_ms=12 path=/api/workspaces/eve/shop/agents/support/42`
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				redactor.Text(line)
			}
		})
	}
}

func BenchmarkJSON(b *testing.B) {
	redactor := redact.New()
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		redactor.Add([]byte(plant(r, 0)))
	}
	event := []byte(`{"type":"log","level":"info","message":"` + strings.Repeat(`a line of the run\n`, 50) + `","runId":"run_01J2","v":3,"eventIndex":7}`)
	b.SetBytes(int64(len(event)))
	for b.Loop() {
		redactor.JSON(event)
	}
}

func BenchmarkAdd(b *testing.B) {
	for _, size := range []int{40, 48 << 10} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			redactor := redact.New()
			value := bytes.Repeat([]byte("0123456789abcdefghijklmnopqrstuvwxyz"), size/36+1)[:size]
			for i := 0; b.Loop(); i++ {
				copy(value, strconv.Itoa(i))
				redactor.Add(value)
			}
			runtime.KeepAlive(redactor)
		})
	}
}
