package flood

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// signIns tries to sign in as many people from many addresses.
func signIns(o order) seen {
	var mu sync.Mutex
	all := seen{}
	work := make(chan int)
	var wg sync.WaitGroup
	for range o.Parallel {
		wg.Go(func() {
			for n := range work {
				email := fmt.Sprintf("stranger%d@example.com", n)
				if n%10 == 0 {
					email = "known0@example.com"
				}
				status := 0
				if answer, err := visit(o.Address, o.Origin, from(n)).post("/api/auth/password/login", "", credentials{email, "not the right password"}); err == nil {
					status = answer.StatusCode
				}
				mu.Lock()
				all[strconv.Itoa(status)]++
				mu.Unlock()
			}
		})
	}
	for n := range o.Count {
		work <- n
	}
	close(work)
	wg.Wait()
	return all
}

// attempts is how large a flood is: that of the contract in the soak.
func attempts() int { return count(10_000, 400) }

func TestAFloodOfSignInsExhaustsNothingAndLocksNobodyOut(t *testing.T) {
	s := start(t)
	email, device := s.join(t, 0)
	done := s.send(t, order{Arm: "sign-ins", Count: attempts(), Parallel: 256})
	took, owner, all := s.watch(t, done, email, device)
	t.Logf("%d attempts: %v; other routes %s; owner %v; %d MiB at most", attempts(), all, took, owner, s.memory(t))
	if all["503"] == 0 || all["0"] > 0 {
		t.Errorf("statuses: %v", all)
	}
	if p99 := took.p(99); full() && p99 > 250*time.Millisecond {
		t.Errorf("other routes took %v (p99)", p99)
	}
	if s.memory(t) >= 512 {
		t.Errorf("%d MiB", s.memory(t))
	}
	if owner[http.StatusTooManyRequests] > 0 || owner[http.StatusUnauthorized] > 0 {
		t.Errorf("the owner with a device cookie got %v", owner)
	}
	if answer, err := visit(s.address, s.origin, "127.0.0.1").post("/api/auth/password/login", device, credentials{email, password}); err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("after the flood the owner gets %v, %v", answer, err)
	}
}

// watch asks another route again and again, and lets the owner sign in now and then, until the flood is over.
func (s *server) watch(t *testing.T, done <-chan seen, email, device string) (took *times, owner map[int]int, all seen) {
	t.Helper()
	took, owner = new(times), map[int]int{}
	v := visit(s.address, s.origin, "127.0.0.1")
	for n := 0; ; n++ {
		select {
		case all = <-done:
			return took, owner, all
		case <-time.After(10 * time.Millisecond):
		}
		arrived := took.begin()
		answer, err := v.Get(s.origin + "/api/auth/session")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		arrived()
		if n%50 == 0 {
			if answer, err := v.post("/api/auth/password/login", device, credentials{email, password}); err == nil {
				owner[answer.StatusCode]++
			}
		}
	}
}

// TestTheTimeOfASignInTellsNothing measures pairs of an address that somebody has and one that nobody has.
func TestTheTimeOfASignInTellsNothing(t *testing.T) {
	if !full() {
		t.Skip("SVC_SOAK is not set: the medians of 200 pairs take a while")
	}
	s := start(t)
	for n := range 50 { // ten failures each are free
		s.join(t, n)
	}
	for round := range 2 {
		known, unknown := s.pairs(t, round)
		apart := float64(known-unknown) / float64(max(known, unknown))
		t.Logf("medians of 200: known %v, unknown %v, %.1f %% apart", known, unknown, 100*apart)
		if apart < 0.1 && apart > -0.1 {
			return
		}
	}
	t.Error("the medians are more than 10 % apart, twice")
}

// pairs are the medians of 200 interleaved attempts each.
func (s *server) pairs(t *testing.T, round int) (known, unknown time.Duration) {
	t.Helper()
	var took [2][]time.Duration
	for n := range 200 {
		for kind := range 2 {
			email := fmt.Sprintf("known%d@example.com", round*25+n%25)
			if kind == 1 {
				email = fmt.Sprintf("nobody%d-%d@example.com", round, n%25)
			}
			v := visit(s.address, s.origin, from(1<<18+round<<16+n<<1+kind))
			began := time.Now()
			answer, err := v.post("/api/auth/password/login", "", credentials{email, "not the right password"})
			if err != nil || answer.StatusCode != http.StatusUnauthorized {
				t.Fatalf("pair %d: %v, %v", n, answer, err)
			}
			took[kind] = append(took[kind], time.Since(began))
		}
	}
	for kind := range took {
		slices.Sort(took[kind])
	}
	return took[0][100], took[1][100]
}
