package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// What doctor expects of a machine.
const (
	scarceSpace = 100 << 20
	littleSpace = 1 << 30
	slowSync    = 20 * time.Millisecond
	fewFiles    = 4096
	syncsToTime = 16
)

// lookAtDisk asks the file system that holds the data folder, or will.
func (d *doctor) lookAtDisk() {
	path := existing(d.config.DataDir)
	d.add("disk space", judgeSpace(path))
	if _, err := os.Stat(d.config.DataDir); err != nil {
		d.add("fsync", skip("there is no data folder yet to write in"))
		return
	}
	took, err := timeSync(d.config.DataDir)
	switch {
	case err != nil:
		d.add("fsync", fail(err.Error(), "let this user write in the data folder"))
	case took > slowSync:
		d.add("fsync", warn(fmt.Sprintf("takes %s (median); every commit waits for one", took), "put the data folder on a local SSD"))
	default:
		d.add("fsync", fine(fmt.Sprintf("takes %s (median), some %d a second", took, time.Second/max(took, time.Microsecond))))
	}
}

func judgeSpace(path string) Finding {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(path, &fs); err != nil {
		return skip(err.Error())
	}
	free := fs.Bavail * uint64(fs.Bsize)
	text := fmt.Sprintf("%d MiB free", free>>20)
	switch {
	case free < scarceSpace:
		return fail(text, "free some space: a full disk stops every write")
	case free < littleSpace:
		return warn(text, "free some space: a full disk stops every write")
	default:
		return fine(text)
	}
}

// existing is the nearest folder above a path that is there.
func existing(path string) string {
	path, err := filepath.Abs(path)
	for err == nil {
		if _, gone := os.Stat(path); gone == nil || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
	return "."
}

// timeSync is the median time of a small write that is made durable, as a commit is.
func timeSync(folder string) (time.Duration, error) {
	f, err := os.CreateTemp(folder, "doctor-*")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	block := make([]byte, 4096)
	took := make([]time.Duration, syncsToTime)
	for i := range took {
		began := time.Now()
		if _, err := f.Write(block); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	return took[len(took)/2].Round(time.Microsecond), nil
}

func (d *doctor) judgeLimits() Finding {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return skip(err.Error())
	}
	text := fmt.Sprintf("up to %d; each open stream takes one", limit.Cur)
	if limit.Cur < fewFiles {
		return warn(text, fmt.Sprintf("raise the limit to %d or more: ulimit -n, or LimitNOFILE= in the unit", fewFiles))
	}
	return fine(text)
}

// lookAtAddresses tries those that the parts listen on.
func (d *doctor) lookAtAddresses(ctx context.Context) {
	if d.faces() {
		d.add("listen", d.judgeAddress(ctx, "listen", d.config.Listen))
	}
	if d.faces() && d.config.ListenTLS != "" {
		d.add("listen_tls", d.judgeAddress(ctx, "listen_tls", d.config.ListenTLS))
	}
	d.add("ops_listen", d.judgeAddress(ctx, "ops_listen", d.config.OpsListen))
}

// judgeAddress tries to listen, unless a server of this folder may be the one that does.
func (d *doctor) judgeAddress(ctx context.Context, key, address string) Finding {
	l, err := net.Listen("tcp", address)
	switch {
	case err == nil:
		l.Close()
		return fine(address + " is free")
	case errors.Is(err, syscall.EADDRINUSE) && d.holder != nil:
		return d.judgeAnswer(ctx, key, address)
	case errors.Is(err, syscall.EADDRINUSE):
		return fail(address+" is in use, and no server runs on the data folder "+d.config.DataDir, "stop what listens there, set "+key+" to another address, or name the folder of the server with --data")
	default:
		return fail(err.Error(), "set "+key+" to an address of this machine, as HOST:PORT")
	}
}
