package repository

import (
	"errors"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/memory"
)

// names is the memory that a pull takes for the files it must know of. A repository of a few bytes can have as many of them, and
// as long names, as a project may: its folders may be one folder many times.
type names struct{ *memory.Grant }

// nameBytes is what a file takes beside the text of its name: its places in the tree and in the plan.
const nameBytes = 400

func (s *Repositories) names(scope string) names {
	room, _ := s.Memory.Try(s.Holder(scope), memory.Work, 0) // nothing is always there
	return names{room}
}

// take counts one more file, or says that there is no room for it.
func (n names) take(text int) error {
	err := n.Grow(int64(text) + nameBytes)
	switch {
	case errors.Is(err, memory.ErrTooLarge):
		return fault.New(fault.BodyTooLarge, "The repository has too many files.", "Their names take more memory than this server has for one account.").Because(err)
	case err != nil:
		return fault.NotAvailable("busy").Because(err).After(time.Second)
	}
	return nil
}
