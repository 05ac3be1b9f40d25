// Package processors tells what the processors of a machine did meanwhile, and so how far a time that was measured there can
// be held against what was measured.
package processors

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Share is what all processors together did in a while.
type Share struct {
	All, Idle time.Duration
	Stolen    time.Duration // for other machines of the same host
}

// Now is what they did since the machine began, and nothing where the system does not count as Linux does.
func Now() (s Share) {
	said, err := os.ReadFile("/proc/stat")
	if err != nil {
		return s
	}
	first, _, _ := strings.Cut(string(said), "\n")
	columns := strings.Fields(strings.TrimPrefix(first, "cpu "))
	if len(columns) < 8 {
		return s
	}
	for i, column := range columns[:8] { // user nice system idle iowait irq softirq steal; those of guests are in user
		n, _ := strconv.Atoi(column)
		took := time.Duration(n) * 10 * time.Millisecond
		s.All += took
		switch i {
		case 3, 4:
			s.Idle += took
		case 7:
			s.Stolen = took
		}
	}
	return s
}

// Since is what they did since then.
func (s Share) Since(before Share) Share {
	return Share{s.All - before.All, s.Idle - before.Idle, s.Stolen - before.Stolen}
}

// Robbed reports whether other machines took more than a tenth: what took long then may have waited for them alone.
func (s Share) Robbed() bool { return s.Stolen*10 > s.All }

// String says it in percent, and nothing where nothing was counted.
func (s Share) String() string {
	if s.All <= 0 {
		return ""
	}
	return fmt.Sprintf("the processors idled %d %% of it, and %d %% were taken by other machines", 100*s.Idle/s.All, 100*s.Stolen/s.All)
}
