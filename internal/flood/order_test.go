package flood

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"
	"time"
)

const floodEnv = "SVC_FLOOD"

// TestMain is an attacker where a test has asked for one.
func TestMain(m *testing.M) {
	if text := os.Getenv(floodEnv); text != "" {
		os.Exit(attack(text))
	}
	code := m.Run()
	_ = os.RemoveAll(workshop)
	os.Exit(code)
}

// order is what an attacker is asked to do.
type order struct {
	Arm             string
	Address, Origin string
	Agents          string   // origin of the agents
	People          []person // whom it has signed up
	Count, Parallel int
	For             time.Duration
}

// seen is how often an attacker met with what.
type seen map[string]int

// arms are the attacks.
var arms = map[string]func(order) seen{
	"sign-ins": signIns, "heads": heads, "slow bodies": slowBodies, "unread answers": unreadAnswers, "bombs": bombs, "images": images,
}

// attack does what it is told and prints what it met.
func attack(text string) int {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return 2
	}
	_ = json.NewEncoder(os.Stdout).Encode(arms[o.Arm](o))
	return 0
}

// send starts an attacker in a process of its own. What it met comes when it is done.
func (s *server) send(t *testing.T, o order) <-chan seen {
	t.Helper()
	o.Address, o.Origin, o.Agents = s.address, s.origin, s.agents
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	attacker := exec.Command(os.Args[0])
	attacker.Env = append(os.Environ(), floodEnv+"="+string(text))
	attacker.Stderr = os.Stderr
	out, err := attacker.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := attacker.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = attacker.Process.Kill(); _ = attacker.Wait() })
	done := make(chan seen, 1)
	go func() {
		var all seen
		_ = json.NewDecoder(out).Decode(&all)
		done <- all
	}()
	return done
}

// full says whether the counts are those of the contract, as in the soak.
func full() bool { return os.Getenv("SVC_SOAK") != "" }

// count is one of two, by that.
func count(all, few int) int {
	if full() {
		return all
	}
	return few
}
