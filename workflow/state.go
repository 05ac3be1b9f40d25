package workflow

import (
	"encoding/json"
	"fmt"
)

// Step is a step as the log knows it.
type Step struct {
	ID       StepID
	Seq      int  // the order in which steps first began
	Parallel bool // it was declared parallel, so it has no sequential position
	Attempt  int  // the last attempt that began, from 1
	Failures int  // attempts that returned an error
	Until    int64
	Ended    bool
	Result   json.RawMessage
	Error    *Error // the final error of a step that ended badly
	Millis   int64

	asked bool
}

// State is what a run's log adds up to: all that replay needs.
type State struct {
	steps  map[StepID]*Step
	order  []*Step // by Seq
	next   int     // in order: the first step that no sequential position has asked for yet
	lines  int     // log events outside steps
	sleeps []int64
	values []json.RawMessage
	said   []json.RawMessage
	asked  []Memory
}

// NewState is the state of a run without a log.
func NewState() *State { return &State{steps: map[StepID]*Step{}} }

// Apply folds one batch into the state.
func (s *State) Apply(batch []byte) error {
	for r, err := range Records(batch) {
		if err != nil {
			return err
		}
		switch r.Kind {
		case KindLine:
			s.lines++
		case KindStep:
			m, _, err := told(r.Data)
			if err != nil {
				return err
			}
			s.remember(m)
		case KindMemory:
			var m Memory
			if err := json.Unmarshal(r.Data, &m); err != nil {
				return fmt.Errorf("%w: %w", ErrCorrupt, err)
			}
			s.remember(m)
		}
	}
	return nil
}

func (s *State) remember(m Memory) {
	switch m.Type {
	case memorySleep:
		s.sleeps = append(s.sleeps, m.Until)
	case memoryValue:
		s.values = append(s.values, m.Value)
	case memorySaid:
		s.said = append(s.said, m.Value)
	case memoryAsked:
		s.asked = append(s.asked, m)
	case memoryStarted:
		step := s.step(m.StepID, m.Parallel)
		step.Attempt = m.Attempt
	case memoryFailed:
		step := s.step(m.StepID, m.Parallel)
		step.Failures, step.Until = step.Failures+1, m.Until
	case memoryEnded:
		step := s.step(m.StepID, m.Parallel)
		step.Ended, step.Result, step.Error, step.Millis = true, m.Value, m.Error, m.Millis
	}
}

// step finds a step that is on record, or puts it there.
func (s *State) step(id StepID, parallel bool) *Step {
	step := s.find(id, parallel)
	s.Begin(step)
	return step
}

func (s *State) find(id StepID, parallel bool) *Step {
	step, ok := s.steps[id]
	if !ok {
		step = &Step{ID: id, Seq: -1, Parallel: parallel}
		s.steps[id] = step
	}
	return step
}

// Begin gives the step its place among the steps, at its first start. Places are given in the order of the log.
func (s *State) Begin(step *Step) {
	if step.Seq < 0 {
		step.Seq = len(s.order)
		s.order = append(s.order, step)
	}
}

// Mismatch is a definition that no longer fits its records.
type Mismatch struct{ Message string }

func (m *Mismatch) Error() string { return m.Message }

// Ask finds the step of that identity, or begins one. At a sequential position another name than the recorded one is a
// Mismatch; a parallel step is found by its identity alone.
func (s *State) Ask(id StepID, parallel bool) (*Step, error) {
	if parallel {
		step := s.find(id, true)
		step.asked = true
		return step, nil
	}
	for s.next < len(s.order) && (s.order[s.next].Parallel || s.order[s.next].asked) {
		s.next++
	}
	if s.next < len(s.order) && s.order[s.next].ID.Name != id.Name {
		return nil, &Mismatch{fmt.Sprintf("The workflow asks for step %q where %q is recorded.", id.Name, s.order[s.next].ID.Name)}
	}
	step := s.find(id, false)
	step.asked = true
	return step, nil
}

// Unasked is a Mismatch if the function ended without asking for a recorded step.
func (s *State) Unasked() error {
	for _, step := range s.order {
		if !step.asked {
			return &Mismatch{fmt.Sprintf("The recorded step %q is no longer asked for.", step.ID.Name)}
		}
	}
	return nil
}

// Lines is how many log events outside steps are recorded.
func (s *State) Lines() int { return s.lines }

// Sleep is until when the nth sleep lasts, if it is recorded.
func (s *State) Sleep(nth int) (until int64, ok bool) { return at(s.sleeps, nth) }

// Value is the nth recorded value.
func (s *State) Value(nth int) (json.RawMessage, bool) { return at(s.values, nth) }

// Said are the records of the run's own conversation, as they were gathered.
func (s *State) Said() []json.RawMessage { return s.said }

// Asked is how the nth prompt ended, if it did.
func (s *State) Asked(nth int) (Memory, bool) { return at(s.asked, nth) }

// at is the nth of what is recorded, if that many are.
func at[T any](recorded []T, nth int) (one T, ok bool) {
	if nth >= len(recorded) {
		return one, false
	}
	return recorded[nth], true
}
