package account_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
)

// line is a queue whose slots are taken, and in which order parties were let in and sent away.
type line struct {
	*account.Turns
	mu     sync.Mutex
	let    []string
	busy   []string
	others []error
}

func newLine(t *testing.T, slots int) *line {
	l := &line{Turns: account.NewTurns(slots, 16, 5*time.Second)}
	for range slots {
		accounttest.Check(t, l.Enter(t.Context(), "first"))
	}
	return l
}

// comes lets somebody wait, and waits until they do.
func (l *line) comes(ctx context.Context, party string) { l.come(ctx, party, l.Enter) }

// isKnown is comes for somebody who is known.
func (l *line) isKnown(ctx context.Context, party string) { l.come(ctx, party, l.EnterKnown) }

func (l *line) come(ctx context.Context, party string, enter func(context.Context, string) error) {
	go func() {
		err := enter(ctx, party)
		l.mu.Lock()
		defer l.mu.Unlock()
		switch {
		case err == nil:
			l.let = append(l.let, party)
		case fault.Is(err, fault.Busy):
			l.busy = append(l.busy, party)
		default:
			l.others = append(l.others, err)
		}
	}()
	synctest.Wait()
}

// turns hands the slot on, one after the other.
func (l *line) turns(n int) {
	for range n {
		l.Leave()
		synctest.Wait()
	}
}

// takes lets time go by, which in a bubble takes none.
func (l *line) takes(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (l *line) is(t *testing.T, let, busy []string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Equal(l.let, let) || !slices.Equal(l.busy, busy) || l.others != nil {
		t.Errorf("let in %v, want %v; sent away %v, want %v; %v", l.let, let, l.busy, busy, l.others)
	}
}

func TestPartiesAreLetInInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t, 1)
		for _, party := range []string{"a", "a", "a", "a", "b", "a", "c", "b"} {
			l.comes(t.Context(), party)
		}
		l.turns(8)
		l.is(t, []string{"a", "b", "c", "a", "b", "a", "a", "a"}, nil)
		l.turns(1)
		if working, waiting, parties := l.Load(); working+waiting+parties != 0 {
			t.Errorf("%d work, %d wait for %d parties", working, waiting, parties)
		}
	})
}

// TestOnePartyCannotTakeAllPlaces fills the queue from one source, and from a few: others are let in all the same.
func TestOnePartyCannotTakeAllPlaces(t *testing.T) {
	for _, few := range []int{1, 2, 4, 8} {
		t.Run(fmt.Sprint(few), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLine(t, 1)
				for i := range 200 {
					l.comes(t.Context(), fmt.Sprint("flood ", i%few))
				}
				if _, waiting, parties := l.Load(); waiting != 16 || parties != few || len(l.busy) != 184 {
					t.Fatalf("%d wait for %d parties, %d were sent away", waiting, parties, len(l.busy))
				}
				for i := range 4 {
					l.comes(t.Context(), fmt.Sprint("guest ", i))
				}
				l.turns(few + 4)
				for i := range 4 {
					if !slices.Contains(l.let, fmt.Sprint("guest ", i)) {
						t.Errorf("guest %d was not let in after %v", i, l.let)
					}
				}
				if _, waiting, _ := l.Load(); waiting != 16-few-4 {
					t.Errorf("%d wait", waiting)
				}
			})
		})
	}
}

// TestStrangersFromManyPlacesKeepNobodyOutWhoIsKnown and neither do those who are known keep out all strangers.
func TestStrangersFromManyPlacesKeepNobodyOutWhoIsKnown(t *testing.T) {
	for name, c := range map[string]struct {
		flood, guest func(*line, context.Context, string)
	}{
		"strangers": {(*line).comes, (*line).isKnown},
		"known":     {(*line).isKnown, (*line).comes},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLine(t, 1)
				for i := range 200 {
					c.flood(l, t.Context(), fmt.Sprint("flood ", i))
				}
				for i := range 8 {
					c.guest(l, t.Context(), fmt.Sprint("guest ", i))
				}
				c.guest(l, t.Context(), "guest 8") // half of the places, and no more
				if _, waiting, _ := l.Load(); waiting != 16 || len(l.busy) != 184+8+1 || l.busy[192] != "guest 8" {
					t.Fatalf("%d wait, sent away %v", waiting, l.busy)
				}
				l.turns(16)
				for i := range 8 {
					if at := slices.Index(l.let, fmt.Sprint("guest ", i)); at < 2*i || at > 2*i+1 {
						t.Errorf("guest %d was let in as number %d of %v", i, at, l.let)
					}
				}
				l.turns(1)
				if working, waiting, parties := l.Load(); working+waiting+parties != 0 {
					t.Errorf("%d work, %d wait for %d parties", working, waiting, parties)
				}
			})
		})
	}
}

func TestAPlaceDoesNotGoToAndFro(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t, 1)
		for i := range 16 {
			l.comes(t.Context(), fmt.Sprint(i%8))
		}
		l.comes(t.Context(), "0")
		l.comes(t.Context(), "1")
		l.is(t, nil, []string{"0", "1"}) // each has two, and nobody has more
		l.comes(t.Context(), "new")
		if len(l.busy) != 3 || l.busy[2] == "new" {
			t.Errorf("sent away %v", l.busy)
		}
		l.turns(17)
	})
}

func TestWhoWaitsTooLongIsSentAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t, 2)
		l.comes(t.Context(), "a")
		l.takes(5*time.Second - time.Millisecond)
		l.is(t, nil, nil)
		l.takes(2 * time.Millisecond)
		l.is(t, nil, []string{"a"})
		l.turns(2)
		if working, waiting, parties := l.Load(); working+waiting+parties != 0 {
			t.Errorf("%d work, %d wait for %d parties", working, waiting, parties)
		}
	})
}

func TestNobodyWorksForWhoHasGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t, 1)
		ctx, leave := context.WithCancel(t.Context())
		l.comes(ctx, "a")
		l.comes(t.Context(), "b")
		leave()
		synctest.Wait()
		if len(l.others) != 1 || !errors.Is(l.others[0], context.Canceled) {
			t.Errorf("told %v", l.others)
		}
		l.others = nil
		l.turns(1)
		l.is(t, []string{"b"}, nil)
	})
}

// TestNoSlotIsLost lets many come, wait and go at random. When all have gone every slot is free.
func TestNoSlotIsLost(t *testing.T) {
	turns := account.NewTurns(3, 16, 2*time.Millisecond)
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			for range 300 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(3000))*time.Microsecond)
				enter := turns.Enter
				if random.IntN(2) == 0 {
					enter = turns.EnterKnown
				}
				if enter(ctx, fmt.Sprint(random.IntN(6))) == nil {
					if working, waiting, _ := turns.Load(); working > 3 || waiting > 16 {
						t.Errorf("%d work, %d wait", working, waiting)
					}
					turns.Leave()
				}
				cancel()
			}
		})
	}
	wg.Wait()
	if working, waiting, parties := turns.Load(); working+waiting+parties != 0 {
		t.Errorf("%d work, %d wait for %d parties", working, waiting, parties)
	}
}
