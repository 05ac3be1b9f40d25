package httpapi

import (
	"net/url"
	"strings"
	"testing"

	"svc.dev/svc/fault"
	"svc.dev/svc/stream"
)

func FuzzRunQuery(f *testing.F) {
	for _, seed := range []string{
		"", "offset=-1", "offset=now&live=sse", "offset=0_5&live=long-poll&cursor=7", "tail=3", "tail=0", "tail=99999999999999999999",
		"offset=0_9223372036854775807", "offset=%zz", "live", "&&=&offset", "offset=-1&offset=-1", "offset=-1&tail=+1", "meta;offset=1",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		asked, err := parseRunQuery(parseQuery(raw))
		if err != nil {
			if !fault.Is(err, fault.InvalidRequest) {
				t.Fatalf("%q: %v", raw, err)
			}
			return
		}
		switch {
		case asked.after < stream.Start,
			asked.last < 0,
			asked.last > 0 && asked.after != stream.Start,
			asked.now && asked.last > 0,
			asked.live != "" && asked.live != stream.LiveLongPoll && asked.live != stream.LiveSSE:
			t.Fatalf("%q: %+v", raw, asked)
		}
	})
}

// What net/url can read at all is read alike.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{"", "a=1&a=2", "a", "a=b=c", "a+b=%20", "%61=%zz", "&&"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if strings.Contains(raw, ";") {
			return // net/url refuses it, browsers do not
		}
		values, err := url.ParseQuery(raw)
		if err != nil {
			return
		}
		q := parseQuery(raw)
		if len(q) != len(values) {
			t.Fatalf("%q: %v, want %v", raw, q, values)
		}
		for key, want := range values {
			if strings.Join(q[key], "\x00") != strings.Join(want, "\x00") {
				t.Fatalf("%q: %v, want %v", raw, q, values)
			}
		}
	})
}

func FuzzPath(f *testing.F) {
	for _, seed := range []string{"/workflows/a", "/workflows/a/", "//a", "/./a", "/runs/%2F", "/channels/a/b/c", "", "/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		for _, route := range routes {
			params, ok := route.pattern.match(path)
			if !ok {
				continue
			}
			rest := strings.Join(params[1:], "")
			if params[0] == "" || strings.Contains(params[0], "/") || path != "/"+route.pattern[0]+"/"+params[0]+rest {
				t.Fatalf("%q matches %v as %q", path, route.pattern, params)
			}
		}
	})
}
