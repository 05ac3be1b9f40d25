package script

import (
	"errors"
	"testing"
	"time"
)

// TestTimeApartIsNotTheTurns: a host that waits apart for longer than a turn may last costs the script nothing, and frees it of nothing.
func TestTimeApartIsNotTheTurns(t *testing.T) {
	const turn = time.Second
	e := start(t, "", func(c *Config) {
		c.Limits.Turn, c.Limits.Stuck = turn, turn/3
		c.Host = scene{sync: func(c Call) (any, bool, error) {
			answer, err := c.Apart(func() (any, error) { takes(turn * 3 / 2); return "late", nil })
			return answer, true, err
		}}
	})
	want(t, e, `const first = __svc.sync("slow"); await null; return [first, __svc.sync("slow")]`, `["late","late"]`)
	want(t, e, `return 1`, `1`)
	began := time.Now()
	if _, err := run(t, e, `__svc.sync("slow"); for (;;);`); !errors.Is(err, ErrTurn) {
		t.Errorf("a loop behind it ends with %v, want ErrTurn", err)
	}
	if took := time.Since(began); took < turn*5/2 {
		t.Errorf("the loop was stopped after %s: the turn was not given what is its own", took)
	}
	over(t, e)
}

// takes is what takes its time.
func takes(d time.Duration) { time.Sleep(d) }
