package amount_test

import (
	"testing"

	"svc.dev/svc/internal/amount"
)

func TestOneIsNotMany(t *testing.T) {
	for n, want := range map[int]string{0: "0 keys", 1: "1 key", 2: "2 keys", -1: "-1 keys"} {
		if got := amount.Of(n, "key"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
