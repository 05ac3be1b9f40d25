package toolbox

import (
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestAPageTakesFewTimesItsLength reads pages that are as long as one may be, of the shortest words, blocks and links.
func TestAPageTakesFewTimesItsLength(t *testing.T) {
	for _, piece := range []string{"a ", "<p>", "<a>", "<a href=http://x></a>", "<img alt=a>"} {
		page := []byte(strings.Repeat(piece, maxPage/len(piece)))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_ = readable(decoded(page, "latin1"))
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 4*pageRoom {
			t.Errorf("%q: %d bytes took %d", piece, len(page), took)
		}
	}
}

// TestAPageFitsWhateverItsStatusSays reads answers whose status line takes about all that an answer may have.
func TestAPageFitsWhateverItsStatusSays(t *testing.T) {
	for n := maxAnswer - 40; n <= maxAnswer+40; n++ {
		r := &http.Response{
			Status: "200 " + strings.Repeat("x", n), Header: http.Header{"Content-Type": {"text/plain"}}, Body: io.NopCloser(strings.NewReader("hello")),
			Request: &http.Request{Method: http.MethodGet, URL: &url.URL{Scheme: "https", Host: "example.com"}},
		}
		if text, err := pageOf(r, 0); err != nil || !strings.Contains(text, "hello") || len(text) > maxAnswer+200 {
			t.Fatalf("%d bytes: %d bytes, %v", n, len(text), err)
		}
	}
}

func FuzzReadable(f *testing.F) {
	for _, page := range []string{
		"", "plain", "<p>a<p>b", "<script>x</script>y", "<head><title>t</title>", "<a href='http://x'>", "</a></a>", "<svg><svg></svg>x", "<!--", "<![CDATA[", "<h1", "&amp;&#x110000;",
		strings.Repeat("<div>", 1000), strings.Repeat("<a href=http://x>", 1000) + strings.Repeat("</a>", 1000), "<head><body>seen", "<style><body>unseen", "<title>open",
	} {
		f.Add(page)
	}
	f.Fuzz(func(t *testing.T, page string) {
		text := readable(page)
		if strings.Contains(text, "\x00") && !strings.Contains(page, "\x00") || utf8.ValidString(page) && !utf8.ValidString(text) {
			t.Errorf("%q became %q", page, text)
		}
		if len(text) > 8*len(page)+64 {
			t.Errorf("%d bytes became %d", len(page), len(text))
		}
	})
}

func FuzzHost(f *testing.F) {
	for _, host := range []string{"example.com", "127.0.0.1", "0x7f.1", "a..b", ".", "", "[::1]", "fe80::1%lo", "xn--a", "1.2.3.4.", "a.0x1", "é.com"} {
		f.Add(host, "*.example.com")
		f.Add(host, host)
	}
	f.Fuzz(func(t *testing.T, host, pattern string) {
		if plain(host) && (host == "" || strings.HasSuffix(host, ".") || strings.ContainsAny(host, "%/@ \\")) {
			t.Errorf("%q passes for a host", host)
		}
		if fits(pattern, host, "443", true) && pattern != host && !strings.HasPrefix(pattern, "*.") && !strings.Contains(pattern, ":") && !strings.ContainsAny(pattern, "[]") {
			t.Errorf("%q stands for %q", pattern, host)
		}
	})
}
