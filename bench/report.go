package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
)

// Verdict says whether a target was met.
type Verdict string

// The verdicts; a row without a target has none.
const (
	yes  Verdict = "yes"
	no   Verdict = "no"
	none Verdict = "–"
)

// shown makes a missed target stand out.
func (v Verdict) shown() string {
	if v == no {
		return "**no**"
	}
	return string(v)
}

func met(ok bool) Verdict {
	if ok {
		return yes
	}
	return no
}

// Row is one line of the table. Values are its figures for machines.
type Row struct {
	Measurement string             `json:"measurement"`
	Figure      string             `json:"figure"`
	Beside      string             `json:"beside,omitempty"`
	Target      string             `json:"target,omitempty"`
	Met         Verdict            `json:"met,omitempty"`
	Values      map[string]float64 `json:"values,omitempty"`
}

// Header is what the figures depend on.
type Header struct {
	Date      string   `json:"date"`
	Mode      string   `json:"mode"`
	Cores     int      `json:"cores"`
	Load      string   `json:"load"` // of the machine when the run ended
	Go        string   `json:"go"`
	Databases []string `json:"databases"`
	Disk      string   `json:"disk"`
	Fsync     string   `json:"fsync,omitempty"`
}

// Report is the tables.
type Report struct {
	Header      Header       `json:"header"`
	Rows        []Row        `json:"rows"`
	Comparisons []Comparison `json:"comparisons,omitempty"`
	fsync       string
}

func (r *Report) add(row Row) { r.Rows = append(r.Rows, row) }

func newHeader(b *Bench, full bool) Header {
	h := Header{
		Date: time.Now().UTC().Format(time.DateOnly), Mode: "part of a run",
		Cores: runtime.NumCPU(), Load: loadAverage(), Go: runtime.Version(),
		Disk: diskOf(b.Folder), Fsync: b.Report.fsync,
	}
	if full {
		h.Mode = "full run"
	}
	if b.Quick {
		h.Mode = "quick run: rough figures"
	}
	for _, d := range b.Databases {
		h.Databases = append(h.Databases, d.Version)
	}
	return h
}

// publish prints the report and writes the table to a file, if one is named.
func (r *Report) publish(w io.Writer, asJSON bool, file string) error {
	if file != "" {
		if err := os.WriteFile(file, []byte(r.markdown()), 0o644); err != nil {
			return err
		}
	}
	if !asJSON {
		_, err := io.WriteString(w, r.markdown())
		return err
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

func (r *Report) markdown() string {
	var s strings.Builder
	h := r.Header
	fmt.Fprintf(&s, "# Measured\n\n")
	fmt.Fprintf(&s, "Printed by `make bench` on %s (%s). Indicative: one machine, one run, the load generator on the same cores.\n\n", h.Date, h.Mode)
	fmt.Fprintf(&s, "- %d cores, load average at the end %s, %s\n", h.Cores, h.Load, h.Go)
	fmt.Fprintf(&s, "- %s\n", strings.Join(h.Databases, "; "))
	fmt.Fprintf(&s, "- disk %s", h.Disk)
	if h.Fsync != "" {
		fmt.Fprintf(&s, "; raw 4 KB append + fdatasync: %s", h.Fsync)
	}
	s.WriteString("\n")
	s.WriteString(rows(r.Rows))
	s.WriteString(comparisons(r.Comparisons))
	return s.String()
}

// rows is the table of those there are.
func rows(all []Row) string {
	if len(all) == 0 {
		return ""
	}
	var s strings.Builder
	fmt.Fprintf(&s, "\n| measurement | figure | raw limit or comparison | target | met |\n|---|---|---|---|---|\n")
	for _, row := range all {
		fmt.Fprintf(&s, "| %s | %s | %s | %s | %s |\n", cell(row.Measurement), cell(row.Figure), cell(row.Beside), cell(row.Target), cell(row.Met.shown()))
	}
	return s.String()
}

func cell(s string) string {
	if s == "" {
		return string(none)
	}
	return strings.NewReplacer("|", `\|`, "\n", " ").Replace(s)
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
