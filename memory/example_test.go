package memory_test

import (
	"errors"
	"fmt"

	"svc.dev/svc/memory"
)

// Work takes of a budget what it is about to hold, and gives it back. Nobody may have more than a quarter.
func ExampleBudget_Try() {
	budget := memory.New(64 << 20)
	room, err := budget.Try("acme", memory.Work, 8<<20)
	fmt.Println(room.Size(), err)
	room.Release()
	fmt.Println(budget.Used(memory.Work), budget.Share())

	_, err = budget.Try("acme", memory.Work, 32<<20)
	fmt.Println(errors.Is(err, memory.ErrTooLarge))
	// Output:
	// 8388608 <nil>
	// 0 16777216
	// true
}
