package toolbox

import (
	"bytes"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// decoded is a body in UTF-8. Of other character sets Latin-1 is known, whose bytes are code points; the rest is taken as it is.
func decoded(body []byte, label string) string {
	switch strings.ToLower(label) {
	case "iso-8859-1", "latin1", "windows-1252":
		var text strings.Builder
		text.Grow(len(body))
		for _, b := range body {
			text.WriteRune(rune(b))
		}
		return text.String()
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
			r.say(r.tokens.Text())
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
	within bool   // the block has words
	link   string // where the one that is open leads
	skip   string // the element that is not read
	depth  int    // how often it is open
	titled bool   // within the title, which stands in what is not read
}

func (r *pageReader) say(text []byte) {
	if r.skip == "" || r.titled {
		for word := range bytes.FieldsSeq(text) {
			r.word(string(word))
		}
	}
}

// word adds one to the block.
func (r *pageReader) word(text string) {
	if r.within {
		r.text.WriteByte(' ')
	}
	r.text.WriteString(text)
	r.within = true
}

// flush ends a block.
func (r *pageReader) flush() {
	if r.within {
		r.text.WriteByte('\n')
		r.within = false
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
		r.link = attribute(r.tokens, more, "href")
	case name == "img":
		r.say([]byte(attribute(r.tokens, more, "alt")))
	case slices.Contains(blocks, name):
		r.flush()
		if strings.HasPrefix(name, "h") && len(name) == 2 && name != "hr" {
			r.word(strings.Repeat("#", int(name[1]-'0')))
		}
		if name == "li" {
			r.word("-")
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
	case name == "a":
		if strings.HasPrefix(r.link, "http") && len(r.link) <= maxLine {
			r.word("(" + r.link + ")")
		}
		r.link = ""
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
