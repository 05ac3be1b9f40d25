package flood

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"
)

const floodEnv = "SVC_FLOOD"

// TestMain is the generator where a test has asked for one.
func TestMain(m *testing.M) {
	if text := os.Getenv(floodEnv); text != "" {
		os.Exit(generate(text))
	}
	os.Exit(m.Run())
}

// order is what a generator is asked to do.
type order struct {
	Address, Origin string
	Attempts        int
	Parallel        int
}

// generate tries to sign in as many people from many addresses, and prints how often it got which status.
func generate(text string) int {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return 2
	}
	var mu sync.Mutex
	seen := map[int]int{}
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
				seen[status]++
				mu.Unlock()
			}
		})
	}
	for n := range o.Attempts {
		work <- n
	}
	close(work)
	wg.Wait()
	_ = json.NewEncoder(os.Stdout).Encode(seen)
	return 0
}

// attempts is how large a flood is: that of the contract in the soak.
func attempts() int {
	if os.Getenv("SVC_SOAK") != "" {
		return 10_000
	}
	return 400
}

func TestAFloodOfSignInsExhaustsNothingAndLocksNobodyOut(t *testing.T) {
	s := start(t)
	email, device := s.join(t, 0)
	order, err := json.Marshal(order{Address: s.address, Origin: s.origin, Attempts: attempts(), Parallel: 256})
	if err != nil {
		t.Fatal(err)
	}
	generator := exec.Command(os.Args[0])
	generator.Env = append(os.Environ(), floodEnv+"="+string(order))
	out, err := generator.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := generator.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = generator.Process.Kill(); _ = generator.Wait() })
	done := make(chan map[int]int, 1)
	go func() {
		var seen map[int]int
		_ = json.NewDecoder(out).Decode(&seen)
		done <- seen
	}()
	took, owner, seen := s.watch(t, done, email, device)
	slices.Sort(took)
	p99 := took[len(took)*99/100]
	t.Logf("%d attempts: %v; other routes p50 %v, p99 %v of %d; owner %v; %d MiB at most", attempts(), seen, took[len(took)/2], p99, len(took), owner, s.memory(t))
	if seen[http.StatusServiceUnavailable] == 0 || seen[0] > 0 {
		t.Errorf("statuses: %v", seen)
	}
	if os.Getenv("SVC_SOAK") != "" && p99 > 250*time.Millisecond {
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
func (s *server) watch(t *testing.T, done <-chan map[int]int, email, device string) (took []time.Duration, owner, seen map[int]int) {
	t.Helper()
	owner = map[int]int{}
	v := visit(s.address, s.origin, "127.0.0.1")
	for n := 0; ; n++ {
		select {
		case seen = <-done:
			return took, owner, seen
		case <-time.After(10 * time.Millisecond):
		}
		began := time.Now()
		answer, err := v.Get(s.origin + "/api/auth/session")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		took = append(took, time.Since(began))
		if n%50 == 0 {
			if answer, err := v.post("/api/auth/password/login", device, credentials{email, password}); err == nil {
				owner[answer.StatusCode]++
			}
		}
	}
}

// TestTheTimeOfASignInTellsNothing measures pairs of an address that somebody has and one that nobody has.
func TestTheTimeOfASignInTellsNothing(t *testing.T) {
	if os.Getenv("SVC_SOAK") == "" {
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
