package script

import (
	"strings"
	"testing"
)

// TestWhatIsOddOfAnErrorIsLeftOut: the rest of it is told.
func TestWhatIsOddOfAnErrorIsLeftOut(t *testing.T) {
	e := start(t, "", nil)
	for _, odd := range []string{`"meta":"a text"`, `"meta":[1]`, `"status":404.5`, `"status":"404"`, `"meta":7,"status":true`} {
		got := e.Thrown(`{"name":"SvcError",` + odd + `,"message":"m","type":"kind","details":"d"}`)
		if got.Name != "SvcError" || got.Message != "m" || got.Type != "kind" || got.Details != "d" || got.Meta != nil || got.Status != 0 {
			t.Errorf("%s: %+v", odd, got)
		}
	}
	if got := e.Thrown("no JSON"); got.Name != "Error" || got.Message != "no JSON" {
		t.Errorf("%+v", got)
	}
}

func TestErrorIsCut(t *testing.T) {
	e := start(t, "", func(c *Config) { c.Limits.LogLine = 100 })
	long := strings.Repeat("x", 1000)
	got := e.Thrown(`{"name":"` + long + `","message":"` + long + `","stack":"` + long + `","type":"` + long + `","details":"` + long + `"}`)
	for _, text := range []string{got.Name, got.Message, got.Stack, got.Type, got.Details} {
		if text != long[:100]+"…" {
			t.Errorf("%d bytes are left", len(text))
		}
	}
}
