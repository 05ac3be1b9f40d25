package secret

import (
	"bytes"
	"slices"
	"sort"
)

const (
	maxDepth = 3  // of escapes in escapes
	maxViews = 12 // of one text
)

// span is a part of a text, from one index to before another.
type span struct{ from, to int }

// view is a text with its escapes undone, and the way back to where everything stood.
type view struct {
	text   []byte
	parent *view // nil for the text itself
	units  []unit
	depth  int
}

// unit is one escape: the bytes [at, at+n) of the view come from [from, to) of its parent. Between units both run alike.
type unit struct{ at, n, from, to int }

// step undoes the escape at i, if there is one: it appends what it stands for and returns how long it is.
type step func(dst, text []byte, i int) ([]byte, int)

// viewsOf are the text and all that it can be read as.
func viewsOf(text []byte) []*view {
	all := []*view{{text: text}}
	for i := 0; i < len(all) && len(all) < maxViews; i++ {
		all = append(all, all[i].read()...)
	}
	return all
}

func (v *view) read() (all []*view) {
	if v.depth == maxDepth {
		return nil
	}
	for _, way := range []struct {
		with string
		step step
	}{{`\`, unescape}, {"%", unpercent}, {"+", unplus}, {"\r\n", unwrap}} {
		if bytes.ContainsAny(v.text, way.with) {
			if child := v.undo(way.step); len(child.units) > 0 {
				all = append(all, child)
			}
		}
	}
	return all
}

func (v *view) undo(next step) *view {
	child := &view{parent: v, depth: v.depth + 1, text: make([]byte, 0, len(v.text))}
	for i := 0; i < len(v.text); {
		at := len(child.text)
		var n int
		child.text, n = next(child.text, v.text, i)
		if got := len(child.text) - at; n != 1 || got != 1 || child.text[at] != v.text[i] {
			child.units = append(child.units, unit{at, got, i, i + n})
		}
		i += n
	}
	return child
}

// origin is where a part of the view stands in the text itself.
func (v *view) origin(s span) span {
	for ; v.parent != nil; v = v.parent {
		s = span{v.locate(s.from).from, v.locate(s.to - 1).to}
	}
	return s
}

// locate is where one byte of the view comes from in the parent.
func (v *view) locate(i int) span {
	k := sort.Search(len(v.units), func(k int) bool { return v.units[k].at > i }) - 1
	if k < 0 {
		return span{i, i + 1}
	}
	u := v.units[k]
	if i < u.at+u.n {
		return span{u.from, u.to}
	}
	i += u.to - u.at - u.n
	return span{i, i + 1}
}

// whole widens spans that begin or end inside of an escape: half an escape would spoil the text around it.
func whole(text []byte, all []span) []span {
	if bytes.IndexByte(text, '\\') < 0 {
		return all
	}
	units := (&view{text: text}).undo(unescape).units
	inside := func(i int) *unit {
		k := sort.Search(len(units), func(k int) bool { return units[k].to > i })
		if k < len(units) && units[k].from < i {
			return &units[k]
		}
		return nil
	}
	for i := range all {
		if u := inside(all[i].from); u != nil {
			all[i].from = u.from
		}
		if u := inside(all[i].to); u != nil {
			all[i].to = u.to
		}
	}
	return all
}

// merge puts spans in order and joins those that touch.
func merge(all []span) []span {
	slices.SortFunc(all, func(a, b span) int { return a.from - b.from })
	var out []span
	for _, s := range all {
		out = join(out, s)
	}
	return out
}

// join appends a span, or widens the last one that it touches.
func join(all []span, s span) []span {
	if len(all) > 0 {
		if last := &all[len(all)-1]; s.from <= last.to {
			*last = span{min(last.from, s.from), max(last.to, s.to)}
			return all
		}
	}
	return append(all, s)
}

func cut(text []byte, all []span) []byte {
	out := make([]byte, 0, len(text)+len(all)*len(redacted))
	at := 0
	for _, s := range all {
		out = append(out, text[at:s.from]...)
		out = append(out, redacted...)
		at = s.to
	}
	return append(out, text[at:]...)
}
