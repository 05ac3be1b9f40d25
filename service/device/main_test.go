package device_test

import (
	"os"
	"testing"

	"svc.dev/svc/internal/sqldb/sqldbtest"
)

func TestMain(m *testing.M) { os.Exit(sqldbtest.Reuse(m)) }
