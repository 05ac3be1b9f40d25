package gateway_test

import (
	"fmt"
	"net/netip"
	"sync/atomic"
	"testing"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account"
)

var loopback = netip.MustParsePrefix("127.0.0.0/8")

var sources atomic.Int64

// fresh is an address that no other request came from.
func fresh() string {
	n := sources.Add(1)
	return fmt.Sprintf("192.%d.%d.%d", n>>16&255, n>>8&255, n&255)
}

func address(t testing.TB) string { return sqldbtest.SQLite(t) }

// lenient lets people in before their address is proven, though there is mail.
func lenient(c *account.Config) { c.Strict = false }
