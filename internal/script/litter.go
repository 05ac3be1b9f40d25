package script

import "time"

// litter is what scripts have left behind. The collector runs when it is much, or when an engine has rested for a while: so one that works
// looks seldom at all it holds, and one that has nothing to do holds nothing for nobody. Only the engine's goroutine touches it.
type litter struct {
	kept  uint64 // bytes, when an engine that rested was collected last
	clock *time.Timer
	armed bool
	turns int64 // when the clock was armed
}

const (
	// rarely is how much an engine holds before its collector runs while it works.
	rarely = 4 << 20
	// little is how much more than before is left where it lies.
	little = 1 << 20
	// rest is how long an engine has nothing to do before it is collected.
	rest = time.Second
)

// wait tells when to look whether an engine has rested that holds so much, after so many turns; a nil channel when there is nothing to
// collect. One that works does not set the clock for every turn.
func (l *litter) wait(used uint64, turns int64) <-chan time.Time {
	if l.armed {
		return l.clock.C
	}
	if used < l.kept+little {
		return nil
	}
	if l.clock == nil {
		l.clock = time.NewTimer(rest)
	} else {
		l.clock.Reset(rest)
	}
	l.armed, l.turns = true, turns
	return l.clock.C
}

// collect frees what nobody holds, unless the engine has worked since the clock was armed, and says how much is held.
func (l *litter) collect(b bare, turns int64) int64 {
	l.armed = false
	if turns == l.turns {
		b.collect()
		l.kept = b.used()
	}
	return int64(b.used())
}

func (l *litter) stop() {
	if l.clock != nil {
		l.clock.Stop()
	}
}
