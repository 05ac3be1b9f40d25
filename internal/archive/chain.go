package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
)

// Opener opens an archive, as often as it is called.
type Opener struct {
	Name string
	Open func() (io.ReadCloser, error)
}

// Chain is archives of which each goes on from the one before, all of them proven to be as they were written. It holds where each
// part of the newest belongs: some hundred bytes for a file.
type Chain struct {
	Head   // of the newest
	Totals // of its files, and of what all of them carry

	archives []Opener // the oldest first
	files    []File   // of the newest, without their parts
	names    map[string]struct{}
	places   map[Sum][]spot
	sizes    map[Sum]int64 // of the parts that were met
}

// spot is where a part belongs.
type spot struct{ file, part uint32 }

// Prove reads archives whole, in whatever order they are given, and tells how many bytes it has read. Nothing is written.
func Prove(ctx context.Context, archives []Opener, tell func(read int64)) (*Chain, error) {
	ordered, err := order(archives)
	if err != nil {
		return nil, err
	}
	c := &Chain{archives: ordered, names: map[string]struct{}{}, places: map[Sum][]spot{}, sizes: map[Sum]int64{}}
	var read int64
	for i, a := range ordered {
		newest := i == len(ordered)-1
		v := Visitor{Part: func(sum Sum, part []byte) error {
			c.sizes[sum] = int64(len(part))
			c.Totals.Parts++
			c.Carried += int64(len(part))
			read += int64(len(part))
			tell(read)
			return ctx.Err()
		}}
		if newest {
			v.Head = func(h Head) error { c.Head = h; return nil }
			v.File = c.take
		}
		if err := visit(a, v); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// visit walks an archive, whose name begins the error.
func visit(a Opener, v Visitor) (err error) {
	r, err := a.Open()
	if err != nil {
		return fmt.Errorf("%s: %w", a.Name, err)
	}
	defer r.Close()
	if err := Walk(r, v); err != nil {
		return fmt.Errorf("%s: %w", a.Name, err)
	}
	return nil
}

// take adds a file of the newest archive. Its parts were met before it.
func (c *Chain) take(f File) error {
	if !filepath.IsLocal(filepath.FromSlash(f.Path)) || filepath.ToSlash(filepath.Clean(f.Path)) != f.Path || f.Path == "." {
		return damaged("a file is called %q", f.Path)
	}
	if _, twice := c.names[f.Path]; twice {
		return damaged("it has the file %s twice", f.Path)
	}
	c.names[f.Path] = struct{}{}
	var bytes int64
	for i, sum := range f.Parts {
		size, there := c.sizes[sum]
		switch {
		case !there:
			return damaged("a part of %s is in none of the archives", f.Path)
		case i < len(f.Parts)-1 && size != partBytes:
			return damaged("a part of %s is too short", f.Path)
		}
		bytes += size
		c.places[sum] = append(c.places[sum], spot{uint32(len(c.files)), uint32(i)})
	}
	if bytes != f.Bytes {
		return damaged("%s has %d bytes of %d", f.Path, bytes, f.Bytes)
	}
	f.Parts = nil
	c.files = append(c.files, f)
	c.Files++
	c.Bytes += bytes
	return nil
}

// order puts archives in the order in which they were written, by what each goes on from.
func order(archives []Opener) ([]Opener, error) {
	byID := map[string]Opener{}
	after := map[string]string{} // id → the one that goes on from it
	first := ""
	for _, a := range archives {
		h, err := headOf(a)
		if err != nil {
			return nil, err
		}
		if _, twice := byID[h.ID]; twice {
			return nil, fmt.Errorf("%s: the archive %s is given twice", a.Name, h.ID)
		}
		if other, twice := after[h.Since]; twice {
			return nil, fmt.Errorf("%s and %s both go on from %s: give one of them", a.Name, byID[other].Name, cmpEmpty(h.Since))
		}
		byID[h.ID], after[h.Since] = a, h.ID
		if h.Since == "" {
			first = h.ID
		}
	}
	if first == "" {
		return nil, missing(byID, after)
	}
	var ordered []Opener
	for id := first; id != ""; id = after[id] {
		ordered = append(ordered, byID[id])
	}
	if len(ordered) < len(archives) {
		return nil, missing(byID, after)
	}
	return ordered, nil
}

func cmpEmpty(id string) string {
	if id == "" {
		return "nothing"
	}
	return id
}

// missing names the archive that the others need and nobody has given.
func missing(byID map[string]Opener, after map[string]string) error {
	for since, id := range after {
		if _, there := byID[since]; since != "" && !there {
			return fmt.Errorf("%s goes on from the archive %s, which is not given: give all archives of the chain", byID[id].Name, since)
		}
	}
	return errors.New("the archives are no chain")
}

func headOf(a Opener) (Head, error) {
	r, err := a.Open()
	if err != nil {
		return Head{}, fmt.Errorf("%s: %w", a.Name, err)
	}
	defer r.Close()
	h, err := ReadHead(r)
	if err != nil {
		return Head{}, fmt.Errorf("%s: %w", a.Name, err)
	}
	return h, nil
}

// Known reads an archive whole, and says what another may name that goes on from it.
func Known(ctx context.Context, a Opener) (Head, map[Sum]struct{}, error) {
	var head Head
	known := map[Sum]struct{}{}
	err := visit(a, Visitor{
		Head: func(h Head) error { head = h; return nil },
		File: func(f File) error {
			for _, sum := range f.Parts {
				known[sum] = struct{}{}
			}
			return ctx.Err()
		},
	})
	return head, known, err
}
