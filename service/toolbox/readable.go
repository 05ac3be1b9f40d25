package toolbox

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// decoded is a body in UTF-8. Of other character sets Latin-1 is known, whose bytes are code points; the rest is taken as it is.
func decoded(body []byte, label string) string {
	switch strings.ToLower(label) {
	case "iso-8859-1", "latin1", "windows-1252":
		runes := make([]rune, len(body))
		for i, b := range body {
			runes[i] = rune(b)
		}
		return string(runes)
	}
	return strings.ToValidUTF8(string(body), "\ufffd")
}

// unread are elements whose text nobody reads, and blocks those that stand on lines of their own.
var (
	unread = []string{"script", "style", "template", "noscript", "svg", "iframe", "object", "canvas", "head"}
	blocks = []string{
		"address", "article", "aside", "blockquote", "br", "dd", "div", "dl", "dt", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6",
		"header", "hr", "li", "main", "nav", "ol", "p", "pre", "section", "table", "td", "th", "title", "tr", "ul",
	}
)

// readable is the text of a page without its markup: a line for each block, and where links lead. It looks at each token once.
func readable(page string) string {
	r := pageReader{tokens: html.NewTokenizer(strings.NewReader(page))}
	r.tokens.SetMaxBuf(maxPage)
	for {
		switch kind := r.tokens.Next(); kind {
		case html.ErrorToken: // its end, or a token that is too long
			r.flush()
			return strings.TrimSpace(r.text.String())
		case html.TextToken:
			r.say(string(r.tokens.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			r.open(kind == html.SelfClosingTagToken)
		case html.EndTagToken:
			r.shut()
		}
	}
}

// pageReader reads a page from its beginning to its end.
type pageReader struct {
	tokens *html.Tokenizer
	text   strings.Builder
	words  []string // of the block
	links  []string // where those that are open lead
	skip   string   // the element that is not read
	depth  int      // how often it is open
	titled bool     // within the title, which stands in what is not read
}

func (r *pageReader) say(text string) {
	if r.skip == "" || r.titled {
		r.words = append(r.words, strings.Fields(text)...)
	}
}

// flush ends a block.
func (r *pageReader) flush() {
	if len(r.words) > 0 {
		r.text.WriteString(strings.Join(r.words, " "))
		r.text.WriteByte('\n')
		r.words = r.words[:0]
	}
}

func (r *pageReader) open(closed bool) {
	raw, more := r.tokens.TagName()
	name := string(raw)
	switch {
	case name == "title":
		r.titled = true
		r.flush()
	case r.skip == name && !closed:
		r.depth++
	case r.skip != "":
		// A head may be left open: what follows it is read all the same.
		if name == "body" && r.skip == "head" {
			r.skip, r.depth = "", 0
		}
	case slices.Contains(unread, name):
		if !closed {
			r.skip, r.depth = name, 1
		}
	case name == "a" && !closed:
		r.links = append(r.links, attribute(r.tokens, more, "href"))
	case name == "img":
		r.say(attribute(r.tokens, more, "alt"))
	case slices.Contains(blocks, name):
		r.flush()
		if strings.HasPrefix(name, "h") && len(name) == 2 && name != "hr" {
			r.words = append(r.words, strings.Repeat("#", int(name[1]-'0')))
		}
		if name == "li" {
			r.words = append(r.words, "-")
		}
	}
}

func (r *pageReader) shut() {
	raw, _ := r.tokens.TagName()
	name := string(raw)
	switch {
	case name == "title":
		r.titled = false
		r.flush()
	case r.skip == name:
		if r.depth--; r.depth == 0 {
			r.skip = ""
		}
	case r.skip != "":
	case name == "a" && len(r.links) > 0:
		to := r.links[len(r.links)-1]
		r.links = r.links[:len(r.links)-1]
		if strings.HasPrefix(to, "http") && len(to) <= maxLine {
			r.words = append(r.words, "("+to+")")
		}
	case slices.Contains(blocks, name):
		r.flush()
	}
}

// attribute is the value of one of an open tag; empty: it has none.
func attribute(tokens *html.Tokenizer, more bool, name string) string {
	for more {
		var key, value []byte
		if key, value, more = tokens.TagAttr(); string(key) == name {
			return strings.TrimSpace(string(value))
		}
	}
	return ""
}
