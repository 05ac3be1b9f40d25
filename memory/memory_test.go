package memory_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"svc.dev/svc/memory"
)

func take(t *testing.T, b *memory.Budget, holder string, use memory.Use, n int64) *memory.Grant {
	t.Helper()
	g, err := b.Try(holder, use, n)
	if err != nil {
		t.Fatalf("%s %s %d: %v", holder, use, n, err)
	}
	return g
}

func TestAHolderHasAQuarterAtMost(t *testing.T) {
	b := memory.New(400)
	g := take(t, b, "ada", memory.Work, 60)
	if err := g.Grow(41); !errors.Is(err, memory.ErrTooLarge) {
		t.Errorf("more than a share: %v", err)
	}
	if err := g.Fits(40); err != nil || g.Size() != 60 {
		t.Errorf("what is left: %v, %d held", err, g.Size())
	}
	if _, err := b.Try("ada", memory.Bodies, 41); !errors.Is(err, memory.ErrFull) {
		t.Errorf("a second grant beyond the share: %v", err)
	}
	take(t, b, "ada", memory.Bodies, 40)
	for _, holder := range []string{"bob", "eve"} {
		take(t, b, holder, memory.Work, 100)
	}
	take(t, b, "", memory.Work, 100)
	if _, err := b.Try("zoe", memory.Work, 1); !errors.Is(err, memory.ErrFull) {
		t.Errorf("beyond the limit: %v", err)
	}
	g.Release()
	g.Release()
	take(t, b, "zoe", memory.Work, 6)
	if s := b.Stats(); s.Held != 346 || s.Uses[memory.Work] != 306 || s.Uses[memory.Bodies] != 40 || s.Refused[memory.Work] != 2 || s.Refused[memory.Bodies] != 1 {
		t.Errorf("stats %+v", s)
	}
}

// TestTheLastEighthIsForWhoHoldsLittle lets some take all they can, and others little.
func TestTheLastEighthIsForWhoHoldsLittle(t *testing.T) {
	b := memory.New(6400)
	for _, holder := range []string{"bob", "eve", "joe"} {
		take(t, b, holder, memory.Bodies, 1600)
	}
	take(t, b, "max", memory.Bodies, 800)
	for _, greedy := range []string{"max", "bob"} {
		if _, err := b.Try(greedy, memory.Work, 1); !errors.Is(err, memory.ErrFull) {
			t.Errorf("%s has more: %v", greedy, err)
		}
	}
	if _, err := b.Try("", memory.Kept, 2); !errors.Is(err, memory.ErrFull) {
		t.Errorf("kept in the reserve: %v", err)
	}
	take(t, b, "", memory.Kept, 1).Release() // which is little
	if _, err := b.Try("net 192.0.2.1", memory.Strangers, 1); !errors.Is(err, memory.ErrFull) {
		t.Errorf("a stranger in the reserve: %v", err)
	}
	small := take(t, b, "ada", memory.Work, 60)
	if _, err := b.Try("ada", memory.Work, 41); !errors.Is(err, memory.ErrFull) {
		t.Errorf("ada has much of the reserve: %v", err)
	}
	take(t, b, "ada", memory.Work, 40)
	take(t, b, "", memory.Hashing, 700)
	small.Release()
	take(t, b, "zoe", memory.Work, 60)
}

// TestNothingIsLetGoInVain: not for a holder who has its share, and not where it would not do.
func TestNothingIsLetGoInVain(t *testing.T) {
	b := memory.New(6400)
	kept := take(t, b, "", memory.Kept, 1000)
	asked := int64(0)
	b.OnFull(func(n int64) { asked += n; kept.Release() })
	for _, holder := range []string{"bob", "eve"} {
		take(t, b, holder, memory.Bodies, 1600)
	}
	take(t, b, "joe", memory.Bodies, 1000)
	for _, c := range []struct {
		holder string
		n      int64
	}{{"bob", 1}, {"zoe", 1590}} {
		if _, err := b.Try(c.holder, memory.Work, c.n); !errors.Is(err, memory.ErrFull) || asked != 0 {
			t.Errorf("%s: %v, %d were asked for", c.holder, err, asked)
		}
	}
	take(t, b, "zoe", memory.Work, 700)
	if asked != 300 {
		t.Errorf("%d were asked for", asked)
	}
}

// TestStrangersHaveOneShareTogether counts by network, and all of them.
func TestStrangersHaveOneShareTogether(t *testing.T) {
	b := memory.New(800)
	take(t, b, "net a", memory.Strangers, 100)
	if _, err := b.Try("net a", memory.Strangers, 1); !errors.Is(err, memory.ErrFull) {
		t.Errorf("more of one network: %v", err)
	}
	if _, err := b.Try("net b", memory.Strangers, 101); !errors.Is(err, memory.ErrTooLarge) {
		t.Errorf("more than one network may have: %v", err)
	}
	g := take(t, b, "net b", memory.Strangers, 100)
	if _, err := b.Try("net c", memory.Strangers, 1); !errors.Is(err, memory.ErrFull) {
		t.Errorf("more of strangers: %v", err)
	}
	g.Release()
	take(t, b, "net c", memory.Strangers, 100)
	take(t, b, "ada", memory.Work, 200)
}

// TestReadingTakesWhatArrives reads with a grant, to the end and until there is no room.
func TestReadingTakesWhatArrives(t *testing.T) {
	b := memory.New(1 << 20)
	for _, announced := range []int64{-1, 3, 5000, 1 << 40} {
		g := take(t, b, "ada", memory.Bodies, 0)
		text := strings.Repeat("x", 5000)
		all, err := memory.ReadAll(memory.Count(t.Context(), io.NopCloser(strings.NewReader(text)), g, 2), announced)
		if err != nil || string(all) != text || g.Size() != 10000 {
			t.Errorf("announced %d: %d bytes, %v, %d held", announced, len(all), err, g.Size())
		}
		g.Release()
	}
	held := take(t, b, "ada", memory.Work, 1<<18-1000)
	g := take(t, b, "ada", memory.Bodies, 0)
	_, err := memory.ReadAll(memory.Count(t.Context(), io.NopCloser(strings.NewReader(strings.Repeat("x", 5000))), g, 2), -1)
	if !errors.Is(err, memory.ErrFull) || g.Size() > 1000 {
		t.Errorf("without room: %v, %d held", err, g.Size())
	}
	time.AfterFunc(50*time.Millisecond, held.Release)
	if all, err := memory.ReadAll(memory.Count(t.Context(), io.NopCloser(strings.NewReader("later")), g, 500), -1); err != nil || string(all) != "later" {
		t.Errorf("with room a moment later: %q, %v", all, err)
	}
}

func TestTheEmptyHolderMayHaveEverything(t *testing.T) {
	b := memory.New(400)
	take(t, b, "", memory.Work, 400)
	if _, err := b.Wait(t.Context(), "", memory.Work, 401); !errors.Is(err, memory.ErrTooLarge) {
		t.Errorf("more than there is: %v", err)
	}
}

// TestWhatIsKeptMakesRoom keeps grants that are nobody's share, and are let go when there is no room.
func TestWhatIsKeptMakesRoom(t *testing.T) {
	b := memory.New(400)
	var kept []*memory.Grant
	b.OnFull(func(n int64) {
		for ; n > 0 && len(kept) > 0; kept = kept[1:] {
			n -= kept[0].Size()
			kept[0].Release()
		}
	})
	for range 4 {
		kept = append(kept, take(t, b, "ada", memory.Kept, 85))
	}
	if _, err := b.Try("ada", memory.Kept, 85); !errors.Is(err, memory.ErrFull) {
		t.Errorf("keeping more: %v", err)
	}
	take(t, b, "ada", memory.Work, 100)
	if len(kept) != 2 && len(kept) != 3 {
		t.Errorf("%d are kept", len(kept))
	}
}

func TestWaitersAreServedWhenThereIsRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.New(400)
		all := take(t, b, "", memory.Work, 400)
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error)
		go func() { _, err := b.Wait(ctx, "ada", memory.Work, 50); left <- err }()
		given := make(chan *memory.Grant)
		for _, holder := range []string{"ada", "bob"} {
			go func() {
				g, err := b.Wait(t.Context(), holder, memory.Work, 100)
				if err != nil {
					t.Errorf("%s waited: %v", holder, err)
				}
				given <- g
			}()
		}
		synctest.Wait()
		if waiting := b.Stats().Waiting; waiting != 3 {
			t.Errorf("%d wait, want 3", waiting)
		}
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("the one who left got %v, want context.Canceled", err)
		}
		all.Release()
		(<-given).Release()
		(<-given).Release()
		if s := b.Stats(); s.Held != 0 || s.Waiting != 0 {
			t.Errorf("stats %+v, want nothing held and nobody waiting", s)
		}
	})
}

func TestForceIsSeenByTheNext(t *testing.T) {
	b := memory.New(400)
	g := take(t, b, "ada", memory.Work, 100)
	g.Resize(500)
	if _, err := b.Try("bob", memory.Work, 1); !errors.Is(err, memory.ErrFull) {
		t.Errorf("got %v", err)
	}
	g.Resize(10)
	g.As(memory.Kept)
	take(t, b, "ada", memory.Work, 100)
	if s := b.Stats(); s.Held != 110 || s.Uses[memory.Kept] != 10 {
		t.Errorf("stats %+v", s)
	}
	var none *memory.Grant
	none.Release()
	none.Resize(7)
	if none.Size() != 0 {
		t.Error("no grant holds something")
	}
}

// TestTheLimitHoldsUnderRaces lets many holders take, wait and release at random.
func TestTheLimitHoldsUnderRaces(t *testing.T) {
	const limit = 1000
	b := memory.New(limit)
	var all sync.WaitGroup
	for i := range 16 {
		holder := string(rune('a' + i%5))
		all.Go(func() {
			for range 300 {
				n := rand.Int64N(limit/4) + 1
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(2000))*time.Microsecond)
				g, err := b.Wait(ctx, holder, memory.Work, n)
				cancel()
				if held := b.Stats().Held; held > limit {
					t.Errorf("%d are held", held)
				}
				if err == nil {
					g.Release()
				}
			}
		})
	}
	all.Wait()
	if s := b.Stats(); s.Held != 0 || s.Waiting != 0 {
		t.Errorf("stats %+v", s)
	}
}

// TestTheMemoryOfTheMachineIsTheLeastThatIsTold reads made-up files of the system.
func TestTheMemoryOfTheMachineIsTheLeastThatIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"a machine":       {map[string]string{"proc/meminfo": "MemTotal:        8388608 kB\nMemFree: 1 kB\n"}, 8 << 30},
		"nothing is told": {nil, 4 << 30},
		"a control group": {map[string]string{
			"proc/meminfo": "MemTotal: 8388608 kB\n", "proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "536870912\n",
		}, 512 << 20},
		"one of the first form": {map[string]string{
			"proc/meminfo": "MemTotal: 8388608 kB\n", "proc/self/cgroup": "5:cpu:/x\n4:memory:/x\n",
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "1073741824\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, 1 << 30},
		"a broken file": {map[string]string{"proc/meminfo": "MemTotal:", "proc/self/cgroup": "x"}, 4 << 30},
	} {
		root := t.TempDir()
		for path, text := range c.files {
			if err := os.MkdirAll(filepath.Join(root, filepath.Dir(path)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(root, path), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := memory.Available(root); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestAGrantTakesOverTheBytesOfAnother(t *testing.T) {
	b := memory.New(400)
	body, work := take(t, b, "ada", memory.Bodies, 30), take(t, b, "ada", memory.Work, 40)
	work.Absorb(body)
	if work.Size() != 70 || body.Size() != 0 {
		t.Errorf("%d and %d are held", work.Size(), body.Size())
	}
	body.Release()
	if _, err := b.Try("ada", memory.Bodies, 31); !errors.Is(err, memory.ErrFull) {
		t.Errorf("beyond the share: %v", err)
	}
	work.Release()
	take(t, b, "ada", memory.Bodies, 100)
}
