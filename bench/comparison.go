package main

import (
	"fmt"
	"path"
	"runtime/debug"
	"strings"
)

// Comparison is one figure of ours beside a peer's, in one run.
type Comparison struct {
	Work        string  `json:"work"`
	Concurrency int     `json:"concurrency"`
	Unit        string  `json:"unit"`
	Ours        float64 `json:"ours"`
	Peer        float64 `json:"peer"`
	Most        float64 `json:"most"` // that ours may be of the peer's
}

func (c Comparison) ratio() float64 { return c.Ours / c.Peer }

func (c Comparison) String() string {
	return fmt.Sprintf("| %s | %d | %s %s | %s %s | %s | ≤ %.1f | %s |", cell(c.Work), c.Concurrency,
		digits(c.Ours), c.Unit, digits(c.Peer), c.Unit, digits(c.ratio()), c.Most, met(c.ratio() <= c.Most).shown())
}

// comparisons is the table of those there are.
func comparisons(all []Comparison) string {
	if len(all) == 0 {
		return ""
	}
	var s strings.Builder
	fmt.Fprintf(&s, "\n## Beside %s\n\n", version("github.com/dbos-inc/dbos-transact-golang"))
	fmt.Fprintln(&s, "The same workflows, called as a library, in turns on fresh databases. CPU is that of the engine's process and of PostgreSQL's;")
	fmt.Fprintln(&s, "WAL is the whole server's, which must have nothing else to do. Each with its own defaults: on SQLite ours syncs every commit")
	fmt.Fprintf(&s, "(FULL), the peer does not (NORMAL).\n\n")
	fmt.Fprintf(&s, "| work | concurrency | ours | peer | ratio | threshold | met |\n|---|---|---|---|---|---|---|\n")
	for _, c := range all {
		fmt.Fprintln(&s, c)
	}
	return s.String()
}

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
