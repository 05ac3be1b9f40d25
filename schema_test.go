package svc_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/fault"
)

// orders are an input with a list in a list.
type orders struct {
	Orders []struct {
		Lines []int `json:"lines"`
	} `json:"orders"`
}

// misfits is an input of n lines, none of which fits.
func misfits(n int) json.RawMessage {
	order := `{"lines":[` + strings.TrimSuffix(strings.Repeat(`"",`, 100), ",") + `]}`
	return json.RawMessage(`{"orders":[` + strings.TrimSuffix(strings.Repeat(order+",", n/100), ",") + `]}`)
}

func ordering() *svc.Workflow {
	return svc.NewWorkflow("ordering", func(context.Context, *svc.Work, orders) (struct{}, error) { return struct{}{}, nil })
}

// TestAnInputIsRefusedInLinearTime holds the places that are named to a bound, and the time to what was sent.
func TestAnInputIsRefusedInLinearTime(t *testing.T) {
	wf := ordering()
	took := func(n int) time.Duration {
		input, begin := misfits(n), time.Now()
		err := wf.CheckInput(t.Context(), input)
		spent := time.Since(begin)
		places, _ := json.Marshal(fault.From(err).Meta["issues"])
		if got := strings.Count(string(places), `"path"`); !fault.Is(err, fault.InputValidation) || got != 100 {
			t.Fatalf("%d places: %v", got, err)
		}
		return spent
	}
	once, fourfold := time.Hour, time.Hour
	for range 8 {
		once, fourfold = min(once, took(20_000)), min(fourfold, took(80_000))
		if fourfold <= 10*once || fourfold < 200*time.Millisecond {
			return
		}
	}
	t.Errorf("%v for so much, %v for four times as much", once, fourfold)
}

// leaving is a context that ends when it was asked so often whether it has.
type leaving struct {
	context.Context
	left *int
}

func (l leaving) Err() error {
	if *l.left--; *l.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestCheckingAnInputEndsWithItsRequest lets the client leave at once, and while places are looked for.
func TestCheckingAnInputEndsWithItsRequest(t *testing.T) {
	wf, input := ordering(), misfits(5_000)
	for asked := range 10 {
		left := asked
		if err := wf.CheckInput(leaving{t.Context(), &left}, input); !errors.Is(err, context.Canceled) {
			t.Errorf("left after %d questions: %v", asked, err)
		}
	}
}
