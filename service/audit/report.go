package audit

import (
	"cmp"
	"fmt"
	"time"
)

// Fault is one thing that is not as it was written: an event of a chain, or a line of a checkpoint file.
type Fault struct {
	Chain  string `json:"chain"` // "" is the service's, unless a File is named
	Seq    int64  `json:"seq,omitempty"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Reason string `json:"reason"`
}

func (f *Fault) Error() string {
	if f.File != "" {
		return fmt.Sprintf("%s line %d: %s", f.File, f.Line, f.Reason)
	}
	return fmt.Sprintf("audit chain of %s, event %d: %s", cmp.Or(f.Chain, "the service"), f.Seq, f.Reason)
}

// Report is what Verify found. A chain that has faults is named once, with the first event that is bad.
type Report struct {
	Chains      int       `json:"chains"`
	Events      int64     `json:"events"`
	Checkpoints int       `json:"checkpoints"`
	Last        time.Time `json:"lastCheckpoint,omitzero"` // when the newest checkpoint was made
	Faults      []Fault   `json:"faults"`
	// Note says what the report cannot speak for.
	Note string `json:"note"`
}

// OK reports whether nothing was found.
func (r Report) OK() bool { return len(r.Faults) == 0 }

func (r Report) note() string {
	if r.Checkpoints == 0 {
		return "There is no checkpoint: events cut off the end of a chain, a chain that vanished, and a chain written anew cannot be seen."
	}
	return fmt.Sprintf("Events cut off the end of a chain are found by checkpoints alone: those appended after the newest one, of %s, could be missing.",
		r.Last.UTC().Format(time.RFC3339))
}
