package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"svc.dev/svc"
)

// The test's binary plays the roles, as the command's own does.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == serveRole {
		main()
		return
	}
	os.Exit(m.Run())
}

func newBench(t *testing.T) *Bench {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	return &Bench{Quick: true, Folder: folder, Databases: []Database{sqliteIn(folder)}, self: self}
}

func TestAppendsAreCountedAndPaidFor(t *testing.T) {
	b := newBench(t)
	err := b.withServer(t.Context(), b.Databases[0], Setting{Engine: storeName}, func(s *Server) error {
		done, err := appendFor(t.Context(), s, 4, 200*time.Millisecond)
		if done.N == 0 || done.CPU <= 0 || done.Written < int64(done.N*recordBytes) {
			t.Errorf("%d appends took %s of CPU and %d bytes", done.N, done.CPU, done.Written)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestRunsAreMeasuredFromAnotherProcess(t *testing.T) {
	b := newBench(t)
	err := b.withServer(t.Context(), b.Databases[0], Setting{}, func(s *Server) error {
		spent, took, err := invokeFor(t.Context(), s, 4, 200*time.Millisecond)
		if took.p50() <= 0 || took.p99() < took.p50() || spent.cpu() <= 0 || spent.RSS == 0 {
			t.Errorf("%+v, %s", spent, took)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestEveryReaderGetsEveryEvent(t *testing.T) {
	b := newBench(t)
	bare, err := b.fanOutBare(t.Context(), 20, 500*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	checkDelivered(t, bare, 50)
	err = b.withServer(t.Context(), b.Databases[0], Setting{}, func(s *Server) error {
		got, err := fanOut(t.Context(), s, 20, 500*time.Millisecond)
		checkDelivered(t, got, 51)
		if got.FromCall.p50() <= got.FromCommit.p50() {
			t.Errorf("events waited for no company: %+v", got)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkDelivered(t *testing.T, got Delivered, events int) {
	t.Helper()
	if got.Readers != 20 || got.Events != events || got.Missing+got.Astray != 0 || got.FromCommit.p50() <= 0 {
		t.Errorf("%+v", got)
	}
}

func TestPromptsAreCountedWhenTheySettle(t *testing.T) {
	b := newBench(t)
	err := b.withServer(t.Context(), b.Databases[0], Setting{}, func(s *Server) error {
		for _, talk := range []Talk{{Writers: 4}, {Writers: 4, Same: true}, {Writers: 4, Followed: true}} {
			done, err := talk.run(t.Context(), s, 100*time.Millisecond)
			if err != nil {
				return err
			}
			if done.N == 0 || done.Appends == 0 || done.admitted.p50() <= 0 || done.settled.p50() < done.admitted.p50() {
				t.Errorf("%s: %+v", talk, done)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestWordsAreTimedFromWhereTheyWereSaid(t *testing.T) {
	b := newBench(t)
	err := b.withServer(t.Context(), b.Databases[0], Setting{}, func(s *Server) error {
		took, err := hearWords(s.Served, "one", 8)
		if err == nil && (len(took) != 8 || slices.Min(took) <= 0 || slices.Max(took) > 10*time.Second) {
			t.Errorf("words took %v", took)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAFilledConversationIsReadLikeAnother(t *testing.T) {
	b := newBench(t)
	var all []spoken
	filled := Setting{Fill: func(store svc.Store) (err error) {
		if all, err = speak(t.Context(), store, 30); err != nil {
			return err
		}
		f, err := fillConversation(t.Context(), store, "history")
		if err == nil {
			err = f.finish(t.Context(), 200, 1000)
		}
		return err
	}}
	err := b.withServer(t.Context(), b.Databases[0], filled, func(s *Server) error {
		if _, err := connectAll(s.Served, all, 2); err != nil {
			return err
		}
		return b.readHistory(t.Context(), s, "history", 200)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestBothEnginesDoTheSameWork(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{ours, dbosName} {
		err := b.withServer(t.Context(), b.Databases[0], Setting{Engine: name}, func(s *Server) error {
			for _, steps := range []int{0, 2} {
				spent, err := s.do(t.Context(), Task{Steps: steps, Writers: 2, For: 50 * time.Millisecond})
				if err != nil {
					return err
				}
				if spent.N == 0 || spent.whole() <= 0 {
					t.Errorf("%s, %d steps: %+v", name, steps, spent)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestAMissStandsOut(t *testing.T) {
	c := Comparison{Work: "work", Concurrency: 16, Unit: "ms", Ours: 1, Peer: 2, Most: 0.5}
	if want := "| work | 16 | 1 ms | 2 ms | 0.5 | ≤ 0.5 | yes |"; c.String() != want {
		t.Errorf("%s, not %s", c, want)
	}
	c.Ours = 1.01
	if want := "| work | 16 | 1.01 ms | 2 ms | 0.505 | ≤ 0.5 | **no** |"; c.String() != want {
		t.Errorf("%s, not %s", c, want)
	}
}

func TestAnInterruptedFsyncIsCountedOnce(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "trace")
	text := `7 fdatasync(3 <unfinished ...>
8 fsync(4)    = 0
7 <... fdatasync resumed>) = 0
`
	if err := os.WriteFile(trace, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	n, err := countFsyncs(trace)
	if n != 2 || err != nil {
		t.Errorf("%d fsyncs, %v", n, err)
	}
}

func TestLostAndDoubledEventsAreNoticed(t *testing.T) {
	committed := map[int]int64{0: 100, 1: 200, 2: 300, 3: 400}
	whole, lossy := newListener(nil), newListener(nil)
	whole.looks = true
	whole.note([]byte(`data:[{"eventIndex":0},{"message":"written 150","eventIndex":1}]`), 1200)
	whole.note([]byte(`data:[{"eventIndex":2},{"eventIndex":3}]`), 1300)
	lossy.note([]byte(`data:[{"eventIndex":0},{"eventIndex":1},{"eventIndex":1}]`), 1200)
	lossy.note([]byte(`data:[{"eventIndex":3}]`), 1400)
	d := delivered([]*listener{whole, lossy}, committed)
	if d.Events != 3 || d.Missing != 1 || d.Astray != 2 {
		t.Errorf("%+v", d)
	}
	if d.FromCommit.most() != time.Millisecond || d.FromCall.p99() != 1050*time.Microsecond {
		t.Errorf("%+v", d)
	}
}
