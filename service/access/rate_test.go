package access_test

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"svc.dev/svc/service/access"
)

// TestACrowdFreesNobodyOfTheirLimit has more come than are remembered, while one goes on asking.
func TestACrowdFreesNobodyOfTheirLimit(t *testing.T) {
	r := access.NewRates("test", 1, 3)
	for range 3 {
		if err := r.Take("greedy"); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 250_000 {
		if err := r.Take(strconv.Itoa(i)); err != nil {
			t.Fatalf("somebody new is refused: %v", err)
		}
		if i%50_000 == 0 && r.Take("greedy") == nil {
			t.Fatalf("after %d others the limit is forgotten", i)
		}
	}
}

func TestManyWhoComeAtOnceShareOneLimit(t *testing.T) {
	r := access.NewRates("test", 1, 10)
	var let atomic.Int32
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			if r.Take("one") == nil {
				let.Add(1)
			}
		})
	}
	all.Wait()
	if let.Load() != 10 {
		t.Errorf("%d of 100 were let in, want 10", let.Load())
	}
}
