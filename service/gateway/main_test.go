package gateway_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"svc.dev/svc/internal/sqldb/sqldbtest"
)

func TestMain(m *testing.M) {
	if address := os.Getenv(apartDatabase); address != "" {
		if err := runApart(address); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	// Those that run side by side wait for time to pass. A flag that is given goes before this.
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	os.Exit(sqldbtest.Reuse(m))
}
