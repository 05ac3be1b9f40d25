package gateway_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
)

// dear makes a derivation long enough for others to wait for it.
func dear(c *account.Config) { c.Scrypt = account.Scrypt{LogN: 12, R: 8, P: 1} }

// TestOthersSignInWhileFewAddressesBesiege holds many connections open from one address, and from a few, each of which signs in
// over and over with the right password by a browser that its account knows. People elsewhere get in all the same.
func TestOthersSignInWhileFewAddressesBesiege(t *testing.T) {
	sieges := []struct{ connections, addresses int }{{24, 1}, {200, 4}}
	if soak {
		sieges = append(sieges, struct{ connections, addresses int }{200, 1})
	}
	for _, c := range sieges {
		t.Run(fmt.Sprintf("%d connections from %d", c.connections, c.addresses), func(t *testing.T) {
			sqldbtest.AnySchema(t, func(t *testing.T, address string) {
				s := open(t, address, accounttest.Options{Edit: dear}, plenty)
				for i := range 4 {
					_, _ = s.session(t, fmt.Sprintf("guest%d@example.com", i))
				}
				s.besiege(t, c.connections, c.addresses)
				for i := range 4 {
					began := time.Now()
					got := s.do(t, call{method: "POST", path: loginPath, from: fresh(),
						body: map[string]string{"email": fmt.Sprintf("guest%d@example.com", i), "password": password}})
					if got.StatusCode != 200 {
						t.Errorf("guest %d is answered %d after %s: %s", i, got.StatusCode, time.Since(began), got.body)
					}
				}
			})
		})
	}
}

// besiege keeps so many connections busy until the test ends, and waits until the service is full of them.
func (s *scene) besiege(t *testing.T, connections, addresses int) {
	t.Helper()
	var cookies, bodies []string
	for i := range 40 {
		email := fmt.Sprintf("eve%d@example.com", i)
		_, made := s.session(t, email)
		cookies = append(cookies, "svc_device="+made.Device)
		bodies = append(bodies, fmt.Sprintf(`{"email":%q,"password":%q}`, email, password))
	}
	transport := &http.Transport{MaxIdleConnsPerHost: connections}
	var busy, next atomic.Int64
	var all sync.WaitGroup
	stop := make(chan struct{})
	full := make(chan struct{})
	t.Cleanup(func() {
		close(stop)
		all.Wait()
		transport.CloseIdleConnections()
	})
	for i := range connections {
		from := fmt.Sprintf("198.51.100.%d", i%addresses)
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				n := int(next.Add(1)) % len(bodies)
				r, err := http.NewRequest("POST", s.server.URL+loginPath, strings.NewReader(bodies[n]))
				if err != nil {
					t.Error(err)
					return
				}
				r.Host, r.Header = s.hosts["platform"], s.page("platform")
				r.Header.Set("Cookie", cookies[n])
				r.Header.Set("X-Forwarded-For", from)
				answer, err := transport.RoundTrip(r)
				if err != nil {
					t.Error(err)
					return
				}
				_ = answer.Body.Close()
				if !slices.Contains([]int{200, 429, 503}, answer.StatusCode) {
					t.Errorf("the siege is answered %d", answer.StatusCode)
				}
				if answer.StatusCode == http.StatusServiceUnavailable && busy.Add(1) == 1 {
					close(full)
				}
			}
		})
	}
	select {
	case <-full:
	case <-time.After(20 * time.Second):
		t.Fatal("the service never had too much to do")
	}
}
