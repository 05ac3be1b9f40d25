package processors

import (
	"os"
	"testing"
	"time"
)

func TestProcessorsAreCounted(t *testing.T) {
	if _, err := os.Stat("/proc/stat"); err != nil {
		t.Skip("the system does not count as Linux does")
	}
	if s := Now(); s.All <= 0 || s.Idle < 0 || s.Stolen < 0 || s.Idle+s.Stolen > s.All {
		t.Errorf("counted %+v", s)
	}
}

func TestAShareSaysHowQuietTheMachineWas(t *testing.T) {
	for _, c := range []struct {
		share  Share
		says   string
		robbed bool
	}{
		{Share{}, "", false},
		{Share{All: 10 * time.Second, Idle: 4 * time.Second, Stolen: time.Second}, "the processors idled 40 % of it, and 10 % were taken by other machines", false},
		{Share{All: 10 * time.Second, Stolen: 1100 * time.Millisecond}, "the processors idled 0 % of it, and 11 % were taken by other machines", true},
	} {
		if c.share.String() != c.says || c.share.Robbed() != c.robbed {
			t.Errorf("%+v says %q, robbed %v", c.share, c.share, c.share.Robbed())
		}
	}
}
