package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"

	"svc.dev/svc/internal/cli/hold"
)

// partial is a file that is not whole yet. It lies beside the one that it becomes, is named by its content, and outlives a download that
// breaks off, so that the next one goes on with it.
type partial struct {
	name string // of the file that it becomes
	file *os.File
	// kept says that the name tells the content: another download can go on.
	kept bool
}

// digest are the etags that name a content.
var digest = regexp.MustCompile(`^"([0-9a-f]{16})[0-9a-f]{48}"$`)

func (p *partial) Write(text []byte) (int, error) { return p.file.Write(text) }

// begin opens the part of a content, or makes it.
func (p *partial) begin(etag string, size int64, sum io.Writer) (n int64, err error) {
	mark := rand.Text()
	if named := digest.FindStringSubmatch(etag); named != nil && size >= 0 {
		mark, p.kept = named[1], true
	}
	// No link is followed, and nobody else's file is written to, whatever lies there.
	p.file, err = os.OpenFile(p.name+".part-"+mark, os.O_RDWR|os.O_CREATE|hold.Careful, 0o666)
	if err != nil {
		return 0, err
	}
	info, err := p.file.Stat()
	if err == nil && !hold.IsOwn(info) {
		err = fmt.Errorf("%s is not a file of yours: delete it", p.file.Name())
	}
	if err == nil && hold.Try(p.file) != nil {
		err = fmt.Errorf("%s is being fetched by another svc", p.name)
	}
	// It is read by whoever could read the file before, and by nobody else while it comes.
	if before, none := os.Lstat(p.name); err == nil && none == nil && before.Mode().IsRegular() {
		err = p.file.Chmod(before.Mode().Perm())
	}
	if err == nil && info.Size() > max(size, 0) {
		err = p.file.Truncate(0)
	}
	if err == nil {
		n, err = io.Copy(sum, p.file)
	}
	if err != nil {
		p.file.Close()
		p.file = nil // it may be another's
	}
	return n, err
}

// anew gives up a content that is no longer the file's.
func (p *partial) anew() error { return p.drop() }

// drop deletes the part.
func (p *partial) drop() error {
	if p.file == nil {
		return nil
	}
	err := errors.Join(os.Remove(p.file.Name()), p.file.Close())
	p.file = nil
	return err
}

// finish makes the part the file, in one step. After a failure it is left if another download can go on with it, and else deleted.
func (p *partial) finish(failed error) (left bool, err error) {
	switch {
	case p.file == nil:
		return false, failed
	case failed == nil:
		if err := p.file.Sync(); err != nil {
			return false, errors.Join(err, p.drop())
		}
		return false, hold.Settle(p.file, p.name)
	}
	info, err := p.file.Stat()
	if err != nil || info.Size() == 0 || !p.kept || errors.Is(failed, errDamaged) {
		return false, errors.Join(failed, p.drop())
	}
	return true, errors.Join(failed, p.file.Close())
}
