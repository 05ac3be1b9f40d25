package prices_test

import (
	"math"
	"testing"
	"time"

	"svc.dev/svc/model"
	"svc.dev/svc/model/prices"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-12 }

func TestCost(t *testing.T) {
	u := model.Usage{Input: 1000, Output: 100, CacheRead: 10_000, CacheWrite: 2000}
	for name, want := range map[string]model.Cost{
		"claude-opus-5-5":          {Input: 0.004, Output: 0.002, CacheRead: 0.002, CacheWrite: 0.010, Total: 0.018},
		"claude-opus-5-5-20260922": {Input: 0.004, Output: 0.002, CacheRead: 0.002, CacheWrite: 0.010, Total: 0.018},
		"nobody-knows":             {},
	} {
		got := prices.Cost("anthropic", name, u)
		if !near(got.Total, want.Total) || !near(got.Input, want.Input) || !near(got.CacheWrite, want.CacheWrite) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestLongPromptsCostMore(t *testing.T) {
	short := prices.Cost("google", "gemini-2.5-pro", model.Usage{Input: 100_000, CacheRead: 100_000})
	long := prices.Cost("google", "gemini-2.5-pro", model.Usage{Input: 100_000, CacheRead: 100_001})
	if !near(short.Input, 0.125) || !near(long.Input, 0.25) {
		t.Errorf("the input costs %v and, when it is long, %v; want 0.125 and 0.25", short.Input, long.Input)
	}
}

func TestListIsACopy(t *testing.T) {
	table := prices.List()
	table["anthropic/claude-opus-5-5"] = prices.Price{Input: 1}
	u := model.Usage{Input: 1e6, CacheRead: 1e6}
	if c := table.Cost("anthropic", "claude-opus-5-5", u); c.Total != 2 {
		t.Errorf("by the changed list it costs %+v, want 2 in all", c)
	}
	if c := prices.Cost("anthropic", "claude-opus-5-5", u); c.Input != 4 {
		t.Errorf("by the published list the input costs %v, want 4", c.Input)
	}
}

func TestListIsDatedAndSane(t *testing.T) {
	if _, err := time.Parse(time.DateOnly, prices.Date); err != nil {
		t.Error(err)
	}
	for name, p := range prices.List() {
		if p.Input <= 0 || p.Output < p.Input || p.CacheRead > p.Input || (p.Above == 0) != (p.Long == nil) {
			t.Errorf("%s: %+v", name, p)
		}
	}
}
