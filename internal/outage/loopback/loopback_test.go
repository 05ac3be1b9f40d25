package loopback_test

import (
	"errors"
	"net"
	"syscall"
	"testing"
	"time"

	"svc.dev/svc/internal/outage/loopback"
)

// A copy of the listener is what a process has that is being begun when it is closed.
func TestAPortIsTakenAgainWhoeverIsBegun(t *testing.T) {
	port, err := loopback.Reserve()
	if err != nil {
		t.Fatal(err)
	}
	defer port.Close()
	listen := func() (net.Listener, error) { return net.Listen("tcp", port.Address()) }
	first, err := listen()
	if err != nil {
		t.Fatal(err)
	}
	inherited, err := first.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	_ = first.Close()
	if _, err := listen(); !errors.Is(err, syscall.EADDRINUSE) {
		t.Fatalf("who has a copy does not listen: %v", err)
	}
	time.AfterFunc(50*time.Millisecond, func() { _ = inherited.Close() })
	second, err := loopback.Again(listen)
	if err != nil {
		t.Fatal(err)
	}
	_ = second.Close()
}
