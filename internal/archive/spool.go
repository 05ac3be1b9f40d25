package archive

import (
	"context"
	"fmt"
	"io"
	"os"
)

// Spooled is a file of a chain, and what it holds.
type Spooled struct {
	File
	io.Reader // good for as long as the spool is open
}

// Spool writes what the files of a chain hold to one file, one behind the other, and gives them in the order in which they were
// added. It tells how many bytes are written. The names of the files come to no disk.
func (c *Chain) Spool(ctx context.Context, to *os.File, tell func(written int64)) ([]Spooled, error) {
	all, starts := make([]Spooled, len(c.files)), make([]int64, len(c.files))
	var end, written int64
	for i, f := range c.files {
		all[i], starts[i] = Spooled{f, io.NewSectionReader(to, end, f.Bytes)}, end
		end += f.Bytes
	}
	err := c.eachPart(ctx, func(at spot, part []byte) error {
		_, err := to.WriteAt(part, starts[at.file]+int64(at.part)*partBytes)
		written += int64(len(part))
		tell(written)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	return all, nil
}
