package script

import (
	"bytes"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzHeaderStrings: headers that scripts write become headers and nothing else, and come back as they were.
func FuzzHeaderStrings(f *testing.F) {
	for _, s := range []string{"", "a\n1", "a\n1\nb\n2", "set-cookie\na\nset-cookie\nb", "\n", "a", "a\n", "\n\n\n", "x\né\nÿ", "content-length\n5\r\nx: y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, flat string) {
		h := Unflat(flat)
		for name, values := range h {
			for _, v := range values {
				if strings.Contains(name, "\n") || strings.Contains(v, "\n") {
					t.Fatalf("%q has a line end", flat)
				}
			}
		}
		if strings.ContainsRune(flat, '\r') {
			return
		}
		again := Unflat(Flat(h))
		if canonical(again) != canonical(h) {
			t.Fatalf("%q becomes %v and then %v", flat, h, again)
		}
	})
}

func canonical(h http.Header) string {
	lower := http.Header{}
	for name, values := range h {
		lower[http.CanonicalHeaderKey(strings.ToLower(name))] = append(lower[http.CanonicalHeaderKey(strings.ToLower(name))], values...)
	}
	var b bytes.Buffer
	_ = lower.Write(&b)
	return b.String()
}

// FuzzURLSet: a part that is set leaves an address that parses to itself.
func FuzzURLSet(f *testing.F) {
	for _, base := range []string{"http://u:p@h.x:81/p?q#f", "file:///p", "mailto:a@b", "foo://h/p"} {
		for part := range setters {
			f.Add(base, part, "x:1/é?#[]@%")
		}
	}
	f.Fuzz(func(t *testing.T, base, part, value string) {
		if !utf8.ValidString(base) || !utf8.ValidString(value) {
			return
		}
		answer, err := Call{Args: Args{base, part, value}}.urlSet()
		if err != nil {
			t.Fatal(err)
		}
		if answer == nil {
			return
		}
		fields := strings.Split(answer.(string), "\n")
		if len(fields) != 11 {
			t.Fatalf("%q %s=%q has %d parts: %q", base, part, value, len(fields), answer)
		}
		again, err := Call{Args: Args{fields[0]}}.url()
		if err != nil || again != answer {
			t.Fatalf("%q %s=%q is %q, which parses to %q, %v", base, part, value, answer, again, err)
		}
	})
}

// FuzzMultipart: a body is a form or an error, and a form that is written again is the same form.
func FuzzMultipart(f *testing.F) {
	for _, s := range []string{"--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--B--\r\n", "--B\r\nContent-Disposition: form-data; name=\"a\"; filename=\"x\"\r\nContent-Type: t/u\r\n\r\n1\r\n--B--", "--B--", "--B", "", "--B\r\n\r\n\r\n--B--"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fields, err := readForm("multipart/form-data; boundary=B", data)
		if err != nil {
			return
		}
		var b bytes.Buffer
		for _, one := range fields {
			if one.File != nil || strings.ContainsAny(one.Name+one.Value, "\"\r\n%") || strings.Contains(one.Value, "--B") {
				return
			}
			fmt.Fprintf(&b, "--B\r\nContent-Disposition: form-data; name=\"%s\"\r\n\r\n%s\r\n", one.Name, one.Value)
		}
		b.WriteString("--B--\r\n")
		again, err := readForm("multipart/form-data; boundary=B", b.Bytes())
		if err != nil || fmt.Sprint(again) != fmt.Sprint(fields) {
			t.Fatalf("%q: %v, written again %v %v", data, fields, again, err)
		}
	})
}

// FuzzMultipartOfOthers: what Go's own writer writes is read as what it was given.
func FuzzMultipartOfOthers(f *testing.F) {
	f.Add("a", "1", "f", "x.txt", []byte("\x00\xff"))
	f.Add("é", "--B\r\n", "", "a;b=c", []byte("\r\n--"))
	f.Add("", "", "%0A", " ", []byte(nil))
	f.Fuzz(func(t *testing.T, name, value, fileName, file string, data []byte) {
		for _, s := range []string{name, value, fileName, file} {
			// How others escape quotes is not how the web does, and a percent sign stands for itself there.
			if !utf8.ValidString(s) || s != value && strings.ContainsAny(s, "\"\\\r\n\x00%") {
				return
			}
		}
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		part, err := w.CreateFormFile(fileName, file)
		if err == nil {
			_, err = part.Write(data)
		}
		if err = errors.Join(err, w.WriteField(name, value), w.Close()); err != nil {
			t.Fatal(err)
		}
		fields, err := readForm(w.FormDataContentType(), b.Bytes())
		want := []field{{Name: fileName, File: &file, Type: "application/octet-stream", Value: toBase64(data)}, {Name: name, Value: decodeUTF8([]byte(value))}}
		if err != nil || !reflect.DeepEqual(fields, want) {
			t.Fatalf("%q is read as %v, %v, want %v", b.String(), fields, err, want)
		}
	})
}

// FuzzDecodeUTF8: bytes that come in two pieces are the text that they are in one.
func FuzzDecodeUTF8(f *testing.F) {
	for _, s := range []string{"", "abc", "é€😀", "\xff", "\xe2\x82", "\xed\xa0\x80", "\xf0\x9f\x98"} {
		f.Add([]byte(s), 1)
	}
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		whole := decodeUTF8(data)
		if !utf8.ValidString(whole) {
			t.Fatalf("%x becomes %q", data, whole)
		}
		cut = min(max(cut, 0), len(data))
		rest := unfinished(data[:cut])
		first := decodeUTF8(data[:cut-rest])
		if both := first + decodeUTF8(data[cut-rest:]); both != whole {
			t.Fatalf("%x cut at %d: %q, in one %q", data, cut, both, whole)
		}
	})
}
