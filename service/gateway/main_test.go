package gateway_test

import (
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
	os.Exit(sqldbtest.Main(m))
}
