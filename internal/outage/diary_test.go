package outage_test

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The kinds of entries.
const (
	began = "began" // a step, a tool or a model call
	ended = "ended" // it has done what it was to do
	quit  = "quit"  // its context ended, and it returned
	dozed = "dozed" // a run goes to sleep
	woke  = "woke"  // and has slept
	lost  = "lost"  // a lease that another has

	// At the instant when it was asked for: a process that is stopped may hear of the answer much later.
	claimed   = "claimed"   // a lease was given
	renewed   = "renewed"   // all leases of the node were prolonged,
	unrenewed = "unrenewed" // but for this one
	wrote     = "wrote"     // an append went through
	fenced    = "fenced"    // an append was refused
)

// entry is a line of a diary: what really happened, whatever is on record.
type entry struct {
	at     time.Duration // see instant
	node   string
	what   string
	stream string // id of the run or instance
	label  string // step, "tool" or "model"; of a lease its epoch
	token  string // of one execution
}

// diary is kept by a node, in a file that all nodes of a test share.
type diary struct {
	node string
	file *os.File
}

func openDiary(path, node string) (*diary, error) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	return &diary{node: node, file: file}, err
}

func (d *diary) enter(what, stream, label, token string) {
	d.enterAt(instant(), what, stream, label, token)
}

func (d *diary) enterAt(at time.Duration, what, stream, label, token string) {
	line := fmt.Sprintf("%d %s %s %s %s %s\n", at, d.node, what, cmp.Or(stream, "-"), cmp.Or(label, "-"), cmp.Or(token, "-"))
	if _, err := d.file.WriteString(line); err != nil {
		panic(err)
	}
}

// readDiary reads the entries of all nodes, by time.
func readDiary(t testing.TB, path string) diaries {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var all diaries
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) != 6 || !strings.HasSuffix(line, "\n") {
			continue // the line is being written
		}
		at, err := strconv.ParseInt(f[0], 10, 64)
		if err != nil {
			t.Fatalf("diary: %q", line)
		}
		all = append(all, entry{at: time.Duration(at), node: f[1], what: f[2], stream: f[3], label: f[4], token: f[5]})
	}
	slices.SortStableFunc(all, func(a, b entry) int { return cmp.Compare(a.at, b.at) })
	return all
}

// diaries are the entries of all nodes, by time.
type diaries []entry

// of are the entries about a stream.
func (d diaries) of(stream string) (list diaries) {
	for _, e := range d {
		if e.stream == stream {
			list = append(list, e)
		}
	}
	return list
}

// first finds the first entry of a kind that a node made.
func (d diaries) first(node, what string) (entry, bool) {
	for _, e := range d {
		if e.node == node && e.what == what {
			return e, true
		}
	}
	return entry{}, false
}

// last finds the last entry of a kind that a node made.
func (d diaries) last(node, what string) (found entry, ok bool) {
	for _, e := range d {
		if e.node == node && e.what == what {
			found, ok = e, true
		}
	}
	return found, ok
}

// since are the entries from an instant on.
func (d diaries) since(at time.Duration) diaries {
	i, _ := slices.BinarySearchFunc(d, at, func(e entry, at time.Duration) int { return cmp.Compare(e.at, at) })
	return d[i:]
}

// count is how many entries of a kind there are.
func (d diaries) count(what string) (n int) {
	for _, e := range d {
		if e.what == what {
			n++
		}
	}
	return n
}

// never is longer than any test takes.
const never = 24 * time.Hour

// span is one execution of a step, a tool or a model call.
type span struct {
	entry               // how it began
	to    time.Duration // when it was over; later than never if it never was
	how   string        // ended or quit, empty if it never was
}

// spans are the executions, in the order in which they began.
func (d diaries) spans() (list []span) {
	open := map[string]int{}
	for _, e := range d {
		switch e.what {
		case began:
			open[e.token] = len(list)
			list = append(list, span{entry: e, to: e.at + 2*never})
		case ended, quit:
			if i, ok := open[e.token]; ok {
				list[i].to, list[i].how = e.at, e.what
			}
		}
	}
	return list
}

// told is what the diary says, for people: times count from an instant.
func (d diaries) told(since time.Duration) string {
	var text strings.Builder
	for _, e := range d {
		fmt.Fprintf(&text, "\n  %+8.3fs  node %s %s %s", (e.at - since).Seconds(), e.node, e.what, e.stream)
		if e.label != "-" {
			fmt.Fprintf(&text, " %s", e.label)
		}
	}
	return text.String()
}
