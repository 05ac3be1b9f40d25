package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// ErrConflict says that somebody else changed the file in the meantime. Nothing was done to it.
var ErrConflict = errors.New("somebody else changed it in the meantime")

// ErrChanged says that a file of the folder changed while it was read.
var ErrChanged = errors.New("it changed while it was read")

// Conflict is ErrConflict that knows which content the file has now, as an etag; empty where it is not there.
type Conflict struct{ Now string }

func (Conflict) Error() string { return ErrConflict.Error() }

// Is makes it an ErrConflict.
func (Conflict) Is(target error) bool { return target == ErrConflict }

// Perform does what was planned, several files at once, stage after stage, and tells of each what came of it. It returns how many
// could not be done. It ends early with its context, and begins nothing more then.
func Perform(ctx context.Context, folder *Folder, remote Remote, acts []Act, atOnce int, told func(Act, error)) (failed int) {
	var mu sync.Mutex
	for len(acts) > 0 && ctx.Err() == nil {
		n := 1
		for n < len(acts) && acts[n].stage() == acts[0].stage() {
			n++
		}
		each(acts[:n], atOnce, func(a Act) {
			if ctx.Err() != nil {
				return
			}
			err := perform(ctx, folder, remote, a)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed++
			}
			told(a, err)
		})
		acts = acts[n:]
	}
	return failed
}

// each calls do for all acts, so many at once, and returns when all have ended.
func each(acts []Act, atOnce int, do func(Act)) {
	next := make(chan Act)
	var group sync.WaitGroup
	for range min(atOnce, len(acts)) {
		group.Go(func() {
			for a := range next {
				do(a)
			}
		})
	}
	for _, a := range acts {
		next <- a
	}
	close(next)
	group.Wait()
}

func perform(ctx context.Context, folder *Folder, remote Remote, a Act) error {
	switch a.Kind {
	case Delete:
		return a.settled(remote.Delete(ctx, a.Path, a.Match), "")
	case Move:
		return remote.Move(ctx, a.From, a.Path, a.Match)
	}
	file, info, err := folder.Open(a.Path)
	if err != nil {
		return err
	}
	file.Close()
	size := info.Size()
	err = remote.Put(ctx, a.Path, size, func() (io.ReadCloser, error) { return folder.body(ctx, a.Path, size) }, a.Match)
	if !errors.Is(err, ErrConflict) {
		return err
	}
	// A request whose answer was lost is sent again, and finds its own work: that is no conflict.
	sum, sumErr := folder.sum(ctx, a.Path)
	if sumErr != nil {
		return err
	}
	return a.settled(err, sum)
}

// settled is what came of an act. A conflict with the content that the act wanted is none.
func (a Act) settled(err error, wanted string) error {
	if conflict, ok := errors.AsType[Conflict](err); ok && conflict.Now == wanted {
		return nil
	}
	return err
}

// body is a file as it is sent: exactly as long as was said.
func (f *Folder) body(ctx context.Context, name string, size int64) (io.ReadCloser, error) {
	file, info, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	if info.Size() != size {
		file.Close()
		return nil, fmt.Errorf("%s: %w", name, ErrChanged)
	}
	return struct {
		io.Reader
		io.Closer
	}{io.LimitReader(cancellable{ctx, file}, size), file}, nil
}
