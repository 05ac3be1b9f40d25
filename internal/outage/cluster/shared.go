package cluster

import (
	"fmt"
	"os"
	"sync"
	"testing"
)

// shared is the roomy cluster of a package that calls Main.
var shared struct {
	sync.Mutex
	cluster *Cluster
	err     error
}

// Main runs the tests of a package that share a cluster, and returns the exit code.
func Main(m interface{ Run() int }) int {
	code := m.Run()
	if shared.cluster == nil {
		return code
	}
	if err := shared.cluster.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "close cluster:", err)
		return 1
	}
	return code
}

// Shared is the cluster of a package that calls Main, started when the first test asks for it. Nobody stops it.
func Shared(t testing.TB) *Cluster {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster == nil && shared.err == nil {
		shared.cluster, shared.err = New(Options{})
	}
	Need(t, shared.err)
	return shared.cluster
}
