package flood

import (
	"fmt"
	"slices"
	"time"

	"svc.dev/svc/internal/processors"
)

// times are how long something took again and again. What took long while other machines had the processors may have waited for
// those alone, and is kept apart.
type times struct {
	took, robbed []time.Duration
}

// begin begins one, and gives what ends it.
func (ts *times) begin() (end func()) {
	began, before := time.Now(), processors.Now()
	return func() {
		if took := time.Since(began); took > slowest && processors.Now().Since(before).Robbed() {
			ts.robbed = append(ts.robbed, took)
		} else {
			ts.took = append(ts.took, took)
		}
	}
}

// p is how long it took at most in so many of a hundred.
func (ts *times) p(part int) time.Duration {
	if len(ts.took) == 0 {
		return 0
	}
	slices.Sort(ts.took)
	return ts.took[len(ts.took)*part/100].Round(time.Millisecond)
}

func (ts *times) String() string {
	said := fmt.Sprintf("p50 %v, p99 %v of %d", ts.p(50), ts.p(99), len(ts.took))
	if len(ts.robbed) > 0 {
		said += fmt.Sprintf(" (of %d more other machines took a part, up to %v)", len(ts.robbed), slices.Max(ts.robbed).Round(time.Millisecond))
	}
	return said
}
