package fault_test

import (
	"errors"
	"fmt"

	"svc.dev/svc/fault"
)

// A fault has a type for machines and a sentence for people. Its cause is for the log.
func ExampleNew() {
	cause := errors.New("dial tcp 10.0.0.7:5432: connection refused")
	err := fault.New("card_declined", "The card was declined.", "Try another one.").With("attempts", 2).Because(cause)
	fmt.Println(err.Type, err.Name())
	fmt.Println(err.Message, err.Details, err.Meta)
	fmt.Println(errors.Is(err, cause))
	// Output:
	// card_declined CardDeclined
	// The card was declined. Try another one. map[attempts:2]
	// true
}

func ExampleIs() {
	err := fmt.Errorf("load page: %w", fault.New(fault.RunNotFound, "No such run.", ""))
	fmt.Println(fault.Is(err, fault.RunNotFound), fault.Is(err, fault.AgentNotFound))
	// Output: true false
}

// What nobody foresaw is one answer, which says nothing about our insides.
func ExampleFrom() {
	f := fault.From(errors.New("pq: relation does not exist"))
	fmt.Println(f.Type, f.Message)
	// Output: internal_error Internal error.
}
