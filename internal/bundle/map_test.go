package bundle_test

import (
	"strings"
	"testing"

	"svc.dev/svc/internal/bundle"
)

// lineOf is the line of a script, from 1, that holds a text.
func lineOf(t *testing.T, code, text string) int {
	t.Helper()
	n := 0
	for line := range strings.Lines(code) {
		n++
		if strings.Contains(line, text) {
			return n
		}
	}
	t.Fatalf("%q is not in\n%s", text, code)
	return 0
}

// TestAStackIsThatOfTheSources throws in one file, called from another, with types above that the script has not.
func TestAStackIsThatOfTheSources(t *testing.T) {
	b := bundled(t, `
-- src/app.ts --
import { deep } from "./shared/deep.ts";

export default (): string => {
  try { deep(1); } catch (e) { return (e as Error).stack!; }
  return "";
};
-- src/shared/deep.ts --
type Unused = { a: number };
interface Other { b: string }

export function deep(n: number): never {
  throw new TypeError("deep");
}
`)
	stack := b.Map.Trace(run(t, b, `project.app.default()`) + "    at ours (<eval>:200031:7)\n")
	for _, place := range []string{"src/shared/deep.ts:5:", "src/app.ts:4:"} {
		if !strings.Contains(stack, place) {
			t.Errorf("%s is not in\n%s", place, stack)
		}
	}
	if strings.Contains(stack, "ours") {
		t.Errorf("a place behind the bundle is told:\n%s", stack)
	}
}

func TestAMapIsReadByColumns(t *testing.T) {
	// Line 1: column 0 is a.ts 1:1, column 4 is b.ts 3:6; line 2 has nothing; line 3: column 2 is b.ts 4:1.
	m, err := bundle.ParseMap([]byte(`{"version":3,"sources":["a.ts","b.ts"],"mappings":"AAAA,ICEK;;EACL"}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		line, col int
		want      string
	}{
		{1, 1, "a.ts:1:1"}, {1, 4, "a.ts:1:1"}, {1, 5, "b.ts:3:6"}, {1, 500, "b.ts:3:6"}, {3, 3, "b.ts:4:1"}, {3, 1, "b.ts:4:1"},
		{2, 1, ""}, {0, 1, ""}, {4, 1, ""}, {-1, -1, ""},
	} {
		place, ok := m.Find(c.line, c.col)
		if got := place.String(); ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%d:%d is %s %v, not %s", c.line, c.col, got, ok, c.want)
		}
	}
}

func TestABrokenMapIsRefused(t *testing.T) {
	for name, data := range map[string]string{
		"no JSON":      `{`,
		"version":      `{"version":2,"sources":[],"mappings":""}`,
		"digit":        `{"version":3,"sources":["a"],"mappings":"AA!A"}`,
		"two numbers":  `{"version":3,"sources":["a"],"mappings":"AA"}`,
		"six numbers":  `{"version":3,"sources":["a"],"mappings":"AAAAAA"}`,
		"unended":      `{"version":3,"sources":["a"],"mappings":"AAAg"}`,
		"too large":    `{"version":3,"sources":["a"],"mappings":"ggggggggggA"}`,
		"below zero":   `{"version":3,"sources":["a"],"mappings":"DAAA"}`,
		"other source": `{"version":3,"sources":["a"],"mappings":"ACAA"}`,
	} {
		if _, err := bundle.ParseMap([]byte(data)); err == nil || !strings.HasPrefix(err.Error(), "source map: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzMap holds that whatever is read leads to sources that it lists, and never panics.
func FuzzMap(f *testing.F) {
	f.Add([]byte(`{"version":3,"sources":["a.ts","b.ts"],"mappings":"AAAA,ICEK;;EACL"}`), 1, 5, "    at f (<eval>:1:5)\n")
	f.Add([]byte(`{"version":3,"sources":["a"],"mappings":";;;AAAA,A,AAAAA"}`), 4, 0, "<eval>:4")
	f.Add([]byte(`{"version":3,"sources":[],"mappings":"ggggggB"}`), -1, 1<<40, "<eval>:99999999999999999999:1")
	f.Fuzz(func(t *testing.T, data []byte, line, col int, stack string) {
		m, err := bundle.ParseMap(data)
		if err != nil {
			return
		}
		if place, ok := m.Find(line, col); ok && (place.Line < 1 || place.Col < 1) {
			t.Errorf("%d:%d is %v", line, col, place)
		}
		if traced := m.Trace(stack); !strings.Contains(stack, "<eval>") && traced != stack {
			t.Errorf("%q became %q", stack, traced)
		}
	})
}

// FuzzMapWritten writes a map of known segments, and looks each column up in the plain way too.
func FuzzMapWritten(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 4, 1, 2, 5, 255, 0, 0, 0, 2, 1, 3, 0}, 6)
	f.Add([]byte{9, 1, 200, 200, 3, 0, 0, 0}, 3)
	f.Fuzz(func(t *testing.T, data []byte, col int) {
		lines := segmentsOf(data)
		m, err := bundle.ParseMap([]byte(`{"version":3,"sources":["a.ts","b.ts"],"mappings":"` + mappings(lines) + `"}`))
		if err != nil {
			t.Fatalf("%s: %v", mappings(lines), err)
		}
		for i, line := range lines {
			want, known := plainly(line, col)
			if place, ok := m.Find(i+1, col); ok != known || ok && place != want {
				t.Errorf("%s: %d:%d is %v %v, want %v %v", mappings(lines), i+1, col, place, ok, want, known)
			}
		}
	})
}

// stitch is a segment: where the text from a column on comes from, counted from 0.
type stitch struct{ col, source, line, at int }

// segmentsOf makes lines of segments of four bytes each; a column of 255 ends a line. Columns of a line go up.
func segmentsOf(data []byte) [][]stitch {
	lines, col := [][]stitch{nil}, 0
	for ; len(data) >= 4; data = data[4:] {
		if data[0] == 255 {
			lines, col = append(lines, nil), 0
			continue
		}
		last := len(lines) - 1
		col += int(data[0]) + 1
		lines[last] = append(lines[last], stitch{col - 1, int(data[1]) % 2, int(data[2]), int(data[3])})
	}
	return lines
}

// mappings writes segments as the format has them: each number as its difference from the one before.
func mappings(lines [][]stitch) string {
	var b strings.Builder
	var last stitch
	for i, line := range lines {
		if i > 0 {
			b.WriteByte(';')
		}
		last.col = 0
		for j, s := range line {
			if j > 0 {
				b.WriteByte(',')
			}
			for _, n := range []int{s.col - last.col, s.source - last.source, s.line - last.line, s.at - last.at} {
				writeNumber(&b, n)
			}
			last = s
		}
	}
	return b.String()
}

func writeNumber(b *strings.Builder, n int) {
	sign := 0
	if n < 0 {
		n, sign = -n, 1
	}
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	for n = n<<1 | sign; ; n >>= 5 {
		if n < 32 {
			b.WriteByte(letters[n])
			return
		}
		b.WriteByte(letters[n&31|32])
	}
}

// plainly is the last segment that begins at a column or before it, and the first where none does.
func plainly(line []stitch, col int) (bundle.Place, bool) {
	if len(line) == 0 {
		return bundle.Place{}, false
	}
	at := line[0]
	for _, s := range line {
		if s.col <= col-1 {
			at = s
		}
	}
	return bundle.Place{Source: []string{"a.ts", "b.ts"}[at.source], Line: at.line + 1, Col: at.at + 1}, true
}
