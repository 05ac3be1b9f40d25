package audit_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/audit"
)

// TestMain is also the process that is killed.
func TestMain(m *testing.M) {
	if folder := os.Getenv("AUDIT_TEST_VICTIM"); folder != "" {
		os.Exit(act(folder))
	}
	os.Exit(sqldbtest.Main(m))
}

// TestKilledProcessLeavesNoActWithoutItsEvent kills a process that acts as fast as it can, again and again on the same
// database.
func TestKilledProcessLeavesNoActWithoutItsEvent(t *testing.T) {
	kills := 2
	if n, err := strconv.Atoi(os.Getenv("SVC_KILLS")); err == nil && soak {
		kills = n
	}
	folder := t.TempDir()
	n := &node{t: t, clock: newClock(), folder: filepath.Join(folder, "audit")}
	seen := int64(0)
	for i := range kills {
		kill(t, folder, 20*(i%5)+10)
		db, err := sqldb.Open(t.Context(), "sqlite:"+filepath.Join(folder, "svc.db"), sqldb.Options{Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		n.db = db
		n.reopen()
		acts, events := n.count(`SELECT count(*) FROM acts`), n.count(`SELECT count(*) FROM audit_events`)
		if acts != events || acts <= seen {
			t.Errorf("%d acts, %d events, %d before", acts, events, seen)
		}
		seen = acts
		if r := n.verify(); !r.OK() || r.Checkpoints == 0 {
			t.Errorf("after kill %d: %+v", i, r)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// kill starts the process, and ends it once it has acted so many times.
func kill(t *testing.T, folder string, after int) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "AUDIT_TEST_VICTIM="+folder)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for range after {
		if !lines.Scan() {
			break
		}
	}
	if err := c.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = c.Wait()
}

// act runs in the process that is killed: an act and its event in each transaction, a checkpoint now and then.
func act(folder string) int {
	// The test ends it long before.
	time.AfterFunc(time.Minute, func() { os.Exit(1) })
	if err := actForEver(folder); err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
	}
	return 1
}

func actForEver(folder string) error {
	ctx := source(context.Background(), 1)
	db, err := sqldb.Open(ctx, "sqlite:"+filepath.Join(folder, "svc.db"), sqldb.Options{Timeout: time.Minute})
	if err != nil {
		return err
	}
	if err := db.Migrate(ctx, audit.Migrations); err != nil {
		return err
	}
	l, err := audit.Open(ctx, db, (&node{clock: newClock(), folder: filepath.Join(folder, "audit")}).config())
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		err := db.Write(ctx, func(tx *sqldb.Tx) error {
			if _, err := tx.Exec(`CREATE TABLE IF NOT EXISTS acts (id INTEGER)`); err != nil {
				return err
			}
			if _, err := tx.Exec(`INSERT INTO acts VALUES ($1)`, i); err != nil {
				return err
			}
			return l.Append(ctx, tx, event(ada, i))
		})
		if err != nil {
			return err
		}
		if i%3 == 0 {
			if err := l.Checkpoint(ctx); err != nil {
				return err
			}
		}
		os.Stdout.WriteString("acted\n")
	}
}
