package backup_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/internal/archive"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service"
	"svc.dev/svc/service/backup"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/servicetest"
)

// largest is how many bytes the database of the test has: SVC_BACKUP_MIB, or 10 GiB.
func largest(t *testing.T) int64 {
	t.Helper()
	text := os.Getenv("SVC_BACKUP_MIB")
	if text == "" {
		return 10 << 30
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("SVC_BACKUP_MIB: %v", err)
	}
	return n << 20
}

// TestALargeBackupTakesLittleMemory backs up a large database of a service that runs, and restores it.
func TestALargeBackupTakesLittleMemory(t *testing.T) {
	if !soak || runtime.GOOS != "linux" {
		t.Skip("SVC_SOAK is not set, or the system does not say how much memory a process has")
	}
	c, size := configured(t), largest(t)
	servicetest.Once(t, c)
	fill(t, c, size)
	servicetest.Start(t, c)
	base := resident(t)
	peak := watchMemory(t)
	began := time.Now()
	path := filepath.Join(t.TempDir(), "large.backup")
	steps := takeTo(t, c, path)
	took := time.Since(began)
	again := filepath.Join(t.TempDir(), "again")
	began = time.Now()
	if _, err := backup.Restore(t.Context(), []archive.Opener{archive.FileOpener(path, nil)}, again, func(backup.Restoring) {}); err != nil {
		t.Fatal(err)
	}
	most := peak()
	t.Attr("backup.large", fmt.Sprintf("%d MiB in %s, restored in %s, %d MiB of memory more than the service alone", size>>20, took.Round(time.Second), time.Since(began).Round(time.Second), (most-base)>>20))
	if most-base > 256<<20 {
		t.Errorf("the process had %d MiB, and %d MiB before", most>>20, base>>20)
	}
	if steps < 10 {
		t.Errorf("it told %d times how far it is", steps)
	}
	if stat, err := os.Stat(filepath.Join(again, "svc.db")); err != nil || stat.Size() < size {
		t.Errorf("%v %v", stat, err)
	}
}

// fill makes the database of a service that does not run so large.
func fill(t *testing.T, c config.Config, size int64) {
	t.Helper()
	db, err := sqldb.Open(t.Context(), "sqlite:"+filepath.Join(c.DataDir, "svc.db"), sqldb.Options{Timeout: time.Minute, Synchronous: "NORMAL"})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Do(t.Context(), "make table", "CREATE TABLE filler (data BLOB)"); err != nil {
		t.Fatal(err)
	}
	for left := size; left > 0; left -= 16 << 20 {
		err := db.Do(t.Context(), "fill", "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 16) INSERT INTO filler SELECT randomblob(1048576) FROM n")
		if err != nil {
			t.Fatal(err)
		}
	}
}

// takeTo makes a backup in a file, and returns how often it told how far it is.
func takeTo(t *testing.T, c config.Config, path string) (steps int) {
	t.Helper()
	o, err := service.Operate(t.Context(), c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, w := io.Pipe()
	go func() { w.CloseWithError(o.Backup(t.Context(), backup.Wish{}, w)) }()
	if _, err := backup.Make(t.Context(), r, f, backup.Base{}, func(backup.Progress) { steps++ }); err != nil {
		t.Fatal(err)
	}
	return steps
}

// resident is how many bytes of memory this process has.
func resident(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// watchMemory looks at the memory now and then; what it returns ends that, and says what was most.
func watchMemory(t *testing.T) func() int64 {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int64)
	go func() {
		var most int64
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			most = max(most, resident(t))
			<-tick.C
		}
		ended <- most
	}()
	return func() int64 { cancel(); return <-ended }
}
