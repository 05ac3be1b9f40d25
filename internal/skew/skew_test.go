package skew

import (
	"testing"
	"time"
)

// TestClockMovesNoFurtherThanAnAnswerTells hears of a store's clock through answers that take long and short.
func TestClockMovesNoFurtherThanAnAnswerTells(t *testing.T) {
	now := time.UnixMilli(1_782_907_500_000)
	c := New(func() time.Time { return now })
	for i, heard := range []struct {
		took, store time.Duration // after the question
		want        time.Duration
	}{
		{0, 0, 0},
		{time.Second, 500 * time.Millisecond, 0}, // within the time that the answer took nothing is known
		{time.Second, 10 * time.Second, 9 * time.Second},
		{10 * time.Millisecond, 10 * time.Second, 9990 * time.Millisecond},
		{20 * time.Second, 12 * time.Second, 9990 * time.Millisecond},
		{0, -time.Hour, -time.Hour + grain},
	} {
		c.Heard(now, now.Add(heard.took), now.Add(heard.store))
		if got := c.Ahead(); got != heard.want {
			t.Errorf("answer %d: ahead by %s, want %s", i, got, heard.want)
		}
	}
	c.Heard(now, now, time.Time{})
	if got := c.Now(); !got.Equal(now.Add(-time.Hour + grain)) {
		t.Errorf("the time is %s", got)
	}
}
