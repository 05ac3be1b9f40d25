package conversation_test

import (
	"context"
	"fmt"

	"svc.dev/svc/conversation"
	"svc.dev/svc/fault"
)

// A body becomes a message, or a fault that says what is wrong with it.
func ExampleParseMessage() {
	ctx := context.Background()
	m, err := conversation.ParseMessage(ctx, []byte(`{"kind": "user", "body": "Hello"}`))
	fmt.Println(m.Kind, m.Body, err)

	_, err = conversation.ParseMessage(ctx, []byte(`{"text": "Hello"}`))
	fmt.Println(fault.From(err).Type)
	// Output:
	// user Hello <nil>
	// invalid_request
}
