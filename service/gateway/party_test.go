package gateway_test

import (
	"fmt"
	"net/http"
	"testing"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/gateway"
)

// limits are all that is counted by where it comes from, and how often one party may. Each call is another one of its kind,
// so that nothing but the address is counted.
var limits = []struct {
	name string
	most int
	ask  func(n int) call
}{
	{"login", 30, func(n int) call {
		return call{method: "POST", path: loginPath, body: map[string]string{"email": fmt.Sprintf("p%d@example.com", n), "password": password}}
	}},
	{"register", 5, func(n int) call {
		return call{method: "POST", path: registerPath, body: map[string]string{"email": fmt.Sprintf("p%d@example.com", n), "password": password}}
	}},
	{"forgot", 20, func(n int) call {
		return call{method: "POST", path: "/api/auth/password/forgot", body: map[string]string{"email": fmt.Sprintf("p%d@example.com", n)}}
	}},
	{"set-up", 30, func(int) call {
		return call{method: "POST", path: "/api/setup", body: map[string]string{"token": "x", "email": "a@example.com", "password": password}}
	}},
	{"revoke", 20, func(int) call {
		return call{method: "POST", path: "/api/keys/revoke", body: map[string]string{"key": "x"}}
	}},
	{"device", 30, func(int) call { return call{method: "POST", path: "/api/auth/device", body: "{}"} }},
	{"device token", 300, func(int) call {
		return call{method: "POST", path: "/api/auth/device/token", body: map[string]string{"grant_type": deviceGrant, "device_code": "x"}}
	}},
	{"provider", 100, func(int) call { return call{path: "/api/auth/oauth/github/start"} }},
	{"wrong keys", 100, func(int) call {
		return call{on: gateway.Agents, path: "/v1/ada/personal/runs", header: http.Header{"Authorization": {"Bearer svck_wrong"}}}
	}},
	{"probe", 30, func(int) call { return call{path: gateway.ProbePath} }},
}

// TestEveryLimitOnAddressesCountsParties spends a limit from many addresses of one /64: another address of it is refused, and
// one of the next /64 is not.
func TestEveryLimitOnAddressesCountsParties(t *testing.T) {
	sqldbtest.AnySchema(t, func(t *testing.T, address string) {
		s := open(t, address, accounttest.Options{}, trusting)
		execute(t, s, `INSERT INTO providers (provider, version, app) VALUES ('github', 1, '{"id":1,"clientId":"client"}')`)
		for i, limit := range limits {
			t.Run(limit.name, func(t *testing.T) {
				from := func(n int) call {
					c := limit.ask(n)
					c.from = fmt.Sprintf("2001:db8:0:%x:%x::%x", 2*i+n/1000, n, n)
					return c
				}
				for n := range limit.most {
					if got := s.do(t, from(n)); got.StatusCode == http.StatusTooManyRequests {
						t.Fatalf("request %d of %d: %s", n, limit.most, got.body)
					}
				}
				// Meanwhile some were regained, of the limits that refill all the time.
				got, n := s.do(t, from(limit.most)), limit.most
				for ; got.StatusCode != http.StatusTooManyRequests && n < limit.most+limit.most/5; n++ {
					got = s.do(t, from(n+1))
				}
				got.wants(t, 429, "rate_limited")
				if got := s.do(t, from(1000)); got.StatusCode == http.StatusTooManyRequests {
					t.Errorf("a party pays for its neighbour: %s", got.body)
				}
			})
		}
	})
}
