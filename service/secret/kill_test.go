package secret_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/secret"
)

// rewrapEnv makes the test binary a process that rewraps: it holds a doom as JSON.
const rewrapEnv = "SVC_SECRET_REWRAP"

// killed is how many secrets there are to rewrap.
const killed = 200

// doom is what a process that will be killed works on.
type doom struct{ Address, Ring string }

func TestMain(m *testing.M) {
	if text := os.Getenv(rewrapEnv); text != "" {
		if err := rewrapProcess(text); err != nil {
			fmt.Fprintln(os.Stderr, "rewrap:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(sqldbtest.Reuse(m))
}

// rewrapProcess says "begun", rewraps while it also replaces secrets, and says "done".
func rewrapProcess(text string) error {
	var d doom
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return err
	}
	ctx := context.Background()
	ring, err := secret.ReadRing(d.Ring)
	if err != nil {
		return err
	}
	db, err := sqldb.Open(ctx, d.Address, sqldb.Options{Timeout: time.Minute})
	if err != nil {
		return err
	}
	defer db.Close()
	store, err := secret.Open(ctx, db, ring, secret.Config{RewrapPause: 10 * time.Millisecond})
	if err != nil {
		return err
	}
	fmt.Println("begun")
	replaced := make(chan error, 1)
	go func() { replaced <- replaceSome(ctx, db, store) }()
	_, err = store.Rewrap(ctx)
	if err := errors.Join(err, <-replaced); err != nil {
		return err
	}
	// What was sealed last went under the active kid, but the pass of Rewrap may have ended before.
	if _, err := store.Rewrap(ctx); err != nil {
		return err
	}
	fmt.Println("done")
	return nil
}

func replaceSome(ctx context.Context, db *sqldb.DB, store *secret.Store) error {
	for range 20 {
		name := fmt.Sprintf("S%04d", rand.IntN(killed))
		err := db.Write(ctx, func(tx *sqldb.Tx) error {
			_, err := store.Seal(tx, shop, name, []byte(name+" again "+strconv.Itoa(rand.Int())), "acc_01")
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// kills is how many processes are killed for each database.
func kills(t *testing.T) int {
	t.Helper()
	soak := os.Getenv("SVC_SOAK") == "1"
	n := 10
	if soak {
		n = 100
	}
	if text := os.Getenv("SVC_KILLS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatalf("SVC_KILLS: %v", err)
		}
	}
	if soak {
		return n
	}
	return max(n/2, 1)
}

// TestRewrapSurvivesKills rotates again and again, each time in a process that is killed at a random moment; the next
// process goes on from there, in the same direction or back.
func TestRewrapSurvivesKills(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		s := &siege{t: t, doom: doom{Address: address, Ring: filepath.Join(t.TempDir(), "keys.json")}}
		s.begin()
		tries, want := 0, kills(t)
		for done := 0; done < want; tries++ {
			if tries == 10*want {
				t.Fatalf("only %d of %d processes were killed before they were done", done, tries)
			}
			if tries%3 != 2 {
				s.turn()
			}
			if s.kill(time.Duration(rand.Int64N(int64(s.length)))) {
				done++
			}
			if tries%10 == 9 {
				s.inspect(nil)
			}
		}
		s.turn()
		s.finish()
		s.inspect(func(rows map[string]int64) {
			if rows[s.ring.Active()] != killed+1 || len(rows) != 2 { // the other kid has 0
				t.Errorf("rows %v, active is %s", rows, s.ring.Active())
			}
		})
		t.Logf("%d processes killed amid a rewrap of %v, of %d", want, s.length, tries)
	})
}

// siege is a database and a ring of two keys, without a process that holds them.
type siege struct {
	t      *testing.T
	doom   doom
	ring   *secret.Ring
	length time.Duration // of the last rewrap that came to its end, or of a longer one since
}

func (s *siege) begin() {
	s.t.Helper()
	var err error
	s.ring, _, err = newRing(s.t).Add()
	must(s.t, err)
	must(s.t, s.ring.WriteNew(s.doom.Ring))
	s.with(func(ctx context.Context, db *sqldb.DB, store *secret.Store) {
		must(s.t, db.Write(ctx, func(tx *sqldb.Tx) error { return fill(store, tx, killed) }))
	})
	s.turn()
	s.finish()
}

// with opens the store for a moment: on SQLite one process at a time has the database.
func (s *siege) with(fn func(ctx context.Context, db *sqldb.DB, store *secret.Store)) {
	s.t.Helper()
	ctx := s.t.Context()
	db, err := sqldb.Open(ctx, s.doom.Address, sqldb.Options{Timeout: time.Minute})
	must(s.t, err)
	defer db.Close()
	must(s.t, db.Migrate(ctx, secret.Migrations))
	store, err := secret.Open(ctx, db, s.ring, secret.Config{})
	must(s.t, err)
	fn(ctx, db, store)
}

// turn makes the other key the active one.
func (s *siege) turn() {
	s.t.Helper()
	for _, kid := range s.ring.Kids() {
		if kid != s.ring.Active() {
			next, err := s.ring.Activate(kid)
			must(s.t, err)
			s.ring = next
			break
		}
	}
	must(s.t, s.ring.Replace(s.doom.Ring))
}

func (s *siege) inspect(rows func(map[string]int64)) {
	s.t.Helper()
	s.with(func(ctx context.Context, db *sqldb.DB, store *secret.Store) {
		for i := range killed {
			name := fmt.Sprintf("S%04d", i)
			if got, err := valueIn(ctx, store, shop, name); err != nil || !strings.HasPrefix(got, name+" ") {
				s.t.Fatalf("%s is %q, %v", name, got, err)
			}
		}
		found, err := store.Rows(ctx)
		must(s.t, err)
		if rows != nil {
			rows(found)
		}
	})
}

// finish lets a process do all of it.
func (s *siege) finish() {
	s.t.Helper()
	if s.kill(time.Minute) {
		s.t.Fatal("rewrap did not end")
	}
}

// kill starts a process, kills it so long after it began, and reports whether it was not done by then.
func (s *siege) kill(after time.Duration) (amid bool) {
	s.t.Helper()
	text, err := json.Marshal(s.doom)
	must(s.t, err)
	var complaints strings.Builder
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), rewrapEnv+"="+string(text))
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	must(s.t, err)
	must(s.t, cmd.Start())
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "begun" {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		s.t.Fatalf("did not begin: %s", complaints.String())
	}
	began := time.Now()
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	done := lines.Scan() && lines.Text() == "done"
	timer.Stop()
	if took := time.Since(began); done || took > s.length {
		s.length = took // one that was slow says nothing of the next
	}
	err = cmd.Wait()
	if complaints.Len() > 0 {
		s.t.Fatalf("rewrap: %v: %s", err, complaints.String())
	}
	return !done
}
