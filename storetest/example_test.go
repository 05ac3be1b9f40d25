package storetest_test

import (
	"testing"

	"svc.dev/svc/storetest"
)

// openMine stands for what gives a fresh, empty database of a store of one's own.
func openMine(testing.TB) storetest.Database { return nil }

// A store of one's own is proved by one test: every sentence of the law, each on a fresh database.
func ExampleRun() {
	_ = func(t *testing.T) { // TestStore
		storetest.Run(t, openMine)
	}
	// Output:
}
