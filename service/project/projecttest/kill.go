package projecttest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"svc.dev/svc/internal/sqldb/sqldbtest"
)

// victimEnv makes a test binary a process that works until somebody kills it: it holds a Doom as JSON.
const victimEnv = "SVC_PROJECT_VICTIM"

// Doom is what a process that will be killed works on.
type Doom struct {
	Address, Root string
	Stage         string // where it stops and waits; "": it works on
	Hub           string // what it pulls from
}

// Main runs the tests of a package, or its victim.
func Main(m *testing.M, victim func(Doom) error) {
	if text := os.Getenv(victimEnv); text != "" {
		var d Doom
		err := json.Unmarshal([]byte(text), &d)
		if err == nil {
			err = victim(d)
		}
		fmt.Println("died:", err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(sqldbtest.ReusingTests{M: m})
}

// Stop is a Step that waits where the victim shall be killed.
func (d Doom) Stop(stage string) {
	if stage == d.Stage {
		fmt.Println("at", stage)
		select {}
	}
}

// Kill starts a victim, kills it some time after it said that it has begun, or when it stops, and hands what it said to hear.
func (d Doom) Kill(t testing.TB, after time.Duration, hear func(line string)) {
	t.Helper()
	text, err := json.Marshal(d)
	Must(t, err)
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), victimEnv+"="+string(text))
	out, err := command.StdoutPipe()
	Must(t, err)
	Must(t, command.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "begun" {
		t.Fatalf("the victim said %q", lines.Text())
	}
	if d.Stage == "" {
		time.AfterFunc(after, func() { _ = command.Process.Kill() })
	}
	for lines.Scan() {
		if lines.Text() == "at "+d.Stage {
			_ = command.Process.Kill()
			continue
		}
		hear(lines.Text())
	}
	_ = command.Wait()
}

// Letter is a text that tells whether it is whole, and that cannot be packed.
func Letter(size int) []byte {
	seed := rand.Uint64()
	return append(fmt.Appendf(nil, "%d %d\n", size, seed), Filling(size, seed)...)
}

// Filling is the text of a letter below its first line.
func Filling(size int, seed uint64) []byte {
	source := rand.NewPCG(seed, 1)
	text := make([]byte, 0, size+8)
	for len(text) < size {
		text = strconv.AppendUint(text, source.Uint64(), 36)
	}
	return text[:size]
}
