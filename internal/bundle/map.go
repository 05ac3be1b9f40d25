package bundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Map leads from a place in a bundle to its source.
type Map struct {
	raw     []byte
	sources []string
	lines   []int // where the segments of each line begin, and behind the last where all end
	all     []segment
}

// segment says where the text from a column on comes from. All count from 0.
type segment struct{ col, source, line, at int32 }

// Place is a line and a column of a source, both from 1.
type Place struct {
	Source    string
	Line, Col int
}

// ParseMap reads a source map of version 3.
func ParseMap(data []byte) (*Map, error) {
	var file struct {
		Version  int
		Sources  []string
		Mappings string
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("source map: %w", err)
	}
	if file.Version != 3 {
		return nil, fmt.Errorf("source map: version %d, and 3 is known", file.Version)
	}
	m := &Map{raw: data, sources: file.Sources}
	for i, source := range m.sources {
		// A package that is linked from elsewhere is called as one that is not.
		if at := strings.LastIndex(source, "/node_modules/"); at >= 0 && strings.HasPrefix(source, "../") {
			m.sources[i] = source[at+1:]
		}
	}
	var last segment
	for line := range strings.SplitSeq(file.Mappings, ";") {
		m.lines = append(m.lines, len(m.all))
		if err := m.parseLine(line, &last); err != nil {
			return nil, fmt.Errorf("source map: line %d: %w", len(m.lines), err)
		}
	}
	m.lines = append(m.lines, len(m.all))
	return m, nil
}

// parseLine reads the segments of a line. Their columns are told from the one before, their sources from the last of all.
func (m *Map) parseLine(line string, last *segment) error {
	last.col = 0
	began := len(m.all)
	for text := range strings.SplitSeq(line, ",") {
		if text == "" {
			continue
		}
		fields, n, err := numbers(text)
		if err != nil {
			return err
		}
		if n != 1 && n != 4 && n != 5 {
			return fmt.Errorf("a segment of %d numbers", n)
		}
		for i, to := range []*int32{&last.col, &last.source, &last.line, &last.at}[:min(n, 4)] {
			sum := int64(*to) + fields[i]
			if sum < 0 || sum > math.MaxInt32 {
				return errors.New("a place out of bounds")
			}
			*to = int32(sum)
		}
		if n == 1 {
			continue
		}
		if int(last.source) >= len(m.sources) {
			return errors.New("a source that is not listed")
		}
		m.all = append(m.all, *last)
	}
	slices.SortStableFunc(m.all[began:], func(a, b segment) int { return int(a.col) - int(b.col) })
	return nil
}

const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// numbers reads the numbers of a segment: base 64, five bits a digit, the smallest first, the sign the lowest of all.
func numbers(text string) (all [5]int64, n int, err error) {
	var value int64
	shift := 0
	for _, c := range []byte(text) {
		d := strings.IndexByte(digits, c)
		if d < 0 || shift > 30 || n == len(all) {
			return all, n, fmt.Errorf("%.20q is no segment", text)
		}
		value |= int64(d&31) << shift
		if shift += 5; d&32 != 0 {
			continue
		}
		all[n] = value >> 1
		if value&1 == 1 {
			all[n] = -all[n]
		}
		n++
		value, shift = 0, 0
	}
	if shift != 0 {
		return all, n, fmt.Errorf("%.20q ends too early", text)
	}
	return all, n, nil
}

// Find leads a line and a column of the bundle, both from 1, to their source.
func (m *Map) Find(line, col int) (Place, bool) {
	if line < 1 || line >= len(m.lines) {
		return Place{}, false
	}
	of := m.all[m.lines[line-1]:m.lines[line]]
	if len(of) == 0 {
		return Place{}, false
	}
	i, exact := slices.BinarySearchFunc(of, col-1, func(s segment, col int) int { return int(s.col) - col })
	if !exact {
		i = max(i-1, 0)
	}
	s := of[i]
	return Place{m.sources[s.source], int(s.line) + 1, int(s.at) + 1}, true
}

// inScript is a place as the engine writes it into a stack.
var inScript = regexp.MustCompile(`<eval>:(\d+)(?::(\d+))?`)

// Trace makes a stack that of the sources. Lines of what lies behind the bundle, which is ours, are left out.
func (m *Map) Trace(stack string) string {
	var kept strings.Builder
	for line := range strings.Lines(stack) {
		at := inScript.FindStringSubmatchIndex(line)
		if at == nil {
			kept.WriteString(line)
			continue
		}
		n, _ := strconv.Atoi(line[at[2]:at[3]])
		col := 1
		if at[4] >= 0 {
			col, _ = strconv.Atoi(line[at[4]:at[5]])
		}
		if n >= len(m.lines) {
			continue
		}
		if place, ok := m.Find(n, col); ok {
			line = line[:at[0]] + place.String() + line[at[1]:]
		}
		kept.WriteString(line)
	}
	return kept.String()
}

func (p Place) String() string { return fmt.Sprintf("%s:%d:%d", p.Source, p.Line, p.Col) }
