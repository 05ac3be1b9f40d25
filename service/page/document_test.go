package page_test

import (
	"fmt"
	"iter"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

func parse(t *testing.T, text string) *html.Node {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// elements are those of a document, in their order.
func elements(doc *html.Node) iter.Seq[*html.Node] {
	return func(yield func(*html.Node) bool) {
		for n := range doc.Descendants() {
			if n.Type == html.ElementNode && !yield(n) {
				return
			}
		}
	}
}

func attr(n *html.Node, key string) string {
	if n == nil {
		return ""
	}
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, key string) bool {
	for _, a := range n.Attr {
		if a.Key == key {
			return true
		}
	}
	return false
}

// named is the input of that name.
func named(doc *html.Node, name string) *html.Node {
	for n := range elements(doc) {
		if attr(n, "name") == name && n.Data != "meta" {
			return n
		}
	}
	return nil
}

// content is the text in a node.
func content(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.TrimSpace(b.String())
}

// references are the files that a browser fetches for a document.
func references(doc *html.Node) []string {
	var all []string
	for n := range elements(doc) {
		switch {
		case n.Data == "link":
			all = append(all, attr(n, "href"))
		case has(n, "src"):
			all = append(all, attr(n, "src"))
		}
	}
	return all
}

var void = map[string]bool{"meta": true, "link": true, "input": true, "br": true, "img": true}

// balanced reports the first element that is not closed where it should be. A parser would mend it in silence.
func balanced(text string) error {
	var open []string
	for z := html.NewTokenizer(strings.NewReader(text)); ; {
		kind := z.Next()
		name, _ := z.TagName()
		switch tag := string(name); {
		case kind == html.ErrorToken:
			if len(open) > 0 {
				return fmt.Errorf("<%s> is never closed", open[len(open)-1])
			}
			return nil
		case kind == html.StartTagToken && !void[tag]:
			open = append(open, tag)
		case kind == html.EndTagToken:
			if len(open) == 0 || open[len(open)-1] != tag {
				return fmt.Errorf("</%s> closes %v", tag, open)
			}
			open = open[:len(open)-1]
		}
	}
}
