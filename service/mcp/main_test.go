package mcp_test

import (
	"os"
	"testing"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/mcp/mcptest"
)

func TestMain(m *testing.M) {
	if mcptest.Speak() {
		return
	}
	if err := os.Setenv(ours, "not for programs"); err != nil {
		panic(err)
	}
	os.Exit(sqldbtest.Reuse(m))
}
