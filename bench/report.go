package main

import (
	"fmt"
	"path"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// Report is what the tables are made of.
type Report struct {
	Rows        []Row
	Comparisons []Comparison

	fsync Raw // of the whole run
}

func (r *Report) add(row Row) { r.Rows = append(r.Rows, row) }

// Row is one line of the table.
type Row struct {
	Measurement string
	Figure      string
	Beside      string
	Target      string
	Met         string // empty without a target
}

func (r Row) String() string { return line(r.Measurement, r.Figure, r.Beside, r.Target, r.Met) }

// met says whether a target was met; a miss stands out.
func met(ok bool) string {
	if ok {
		return "yes"
	}
	return "**no**"
}

// Comparison is one figure of ours beside a peer's, in one run.
type Comparison struct {
	Work        string
	Concurrency int
	Unit        string
	Ours        float64
	Peer        float64
	Most        float64 // that ours may be of the peer's
}

func (c Comparison) String() string {
	ratio := c.Ours / c.Peer
	return line(c.Work, strconv.Itoa(c.Concurrency), digits(c.Ours)+" "+c.Unit, digits(c.Peer)+" "+c.Unit, digits(ratio),
		fmt.Sprintf("≤ %.1f", c.Most), met(ratio <= c.Most))
}

// markdown is the report: what its figures depend on, then its tables.
func (b *Bench) markdown(full bool) string {
	mode := "part of a run"
	switch {
	case b.Quick:
		mode = "quick run: rough figures"
	case full:
		mode = "full run"
	}
	var versions []string
	for _, db := range b.Databases {
		versions = append(versions, db.Version)
	}
	var s strings.Builder
	fmt.Fprintf(&s, "# Measured\n\n")
	fmt.Fprintf(&s, "Printed by `make bench` on %s (%s). Indicative: one machine, one run, the load generator on the same cores.\n\n",
		time.Now().UTC().Format(time.DateOnly), mode)
	fmt.Fprintf(&s, "- %d cores, load average at the end %s, %s\n", runtime.NumCPU(), loadAverage(), runtime.Version())
	fmt.Fprintf(&s, "- %s\n", strings.Join(versions, "; "))
	fmt.Fprintf(&s, "- disk %s", diskOf(b.Folder))
	if len(b.Report.fsync.Append) > 0 {
		fmt.Fprintf(&s, "; raw 4 KB append + fdatasync: %s", b.Report.fsync)
	}
	s.WriteString("\n")
	table(&s, b.Report.Rows, "measurement", "figure", "raw limit or comparison", "target", "met")
	if len(b.Report.Comparisons) > 0 {
		fmt.Fprintf(&s, comparisonIntro, version("github.com/dbos-inc/dbos-transact-golang"))
	}
	table(&s, b.Report.Comparisons, "work", "concurrency", "ours", "peer", "ratio", "threshold", "met")
	return s.String()
}

const comparisonIntro = `
## Beside %s

The same workflows, called as a library, in turns on fresh databases. CPU is that of the engine's process and of PostgreSQL's;
WAL is the whole server's, which must have nothing else to do. Each with its own defaults: on SQLite ours syncs every commit
(FULL), the peer does not (NORMAL).
`

// version names a module as it was built into this binary.
func version(module string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == module {
				return path.Base(module) + " " + strings.TrimPrefix(m.Version, "v")
			}
		}
	}
	return path.Base(module)
}

// table writes the rows that there are, if any, under their head.
func table[T fmt.Stringer](s *strings.Builder, rows []T, head ...string) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(s, "\n%s\n|%s\n", line(head...), strings.Repeat("---|", len(head)))
	for _, row := range rows {
		fmt.Fprintln(s, row)
	}
}

// line is a row of a table; an empty cell has a dash.
func line(cells ...string) string {
	for i, c := range cells {
		if c == "" {
			c = "–"
		}
		cells[i] = strings.NewReplacer("|", `\|`, "\n", " ").Replace(c)
	}
	return "| " + strings.Join(cells, " | ") + " |"
}

// count prints a number with separators, and no more digits than it deserves.
func count[T int | int64 | float64](n T) string {
	v := float64(n)
	if v < 10 && v != float64(int64(v)) {
		return fmt.Sprintf("%.2f", v)
	}
	digits := fmt.Sprintf("%.0f", v)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// digits prints three digits of a number, more where it is large.
func digits(v float64) string {
	if v >= 1000 {
		return count(v)
	}
	return fmt.Sprintf("%.3g", v)
}

func ms(d time.Duration) string { return digits(float64(d)/float64(time.Millisecond)) + " ms" }

func mib(bytes int64) string { return digits(float64(bytes)/(1<<20)) + " MiB" }

func kb(bytes float64) string { return digits(bytes/1000) + " KB" }
