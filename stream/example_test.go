package stream_test

import (
	"fmt"
	"strings"

	"svc.dev/svc/stream"
)

// An offset names a place in a stream. Its text sorts as it does.
func ExampleParse() {
	offset, err := stream.Parse("0000000000000000_0000000000000041")
	fmt.Println(int64(offset), offset+1, err)
	// Output: 41 0000000000000000_0000000000000042 <nil>
}

// A client reads what is followed over HTTP as server-sent events.
func ExampleEvents() {
	body := strings.NewReader("event: data\ndata:[{\"type\":\"run_start\"}]\n\n: still there\n\nevent: control\ndata:{\"streamClosed\":true}\n\n")
	for event, err := range stream.Events(body) {
		fmt.Printf("%s %s %v\n", event.Name, event.Data, err)
	}
	// Output:
	// data [{"type":"run_start"}] <nil>
	// control {"streamClosed":true} <nil>
}
