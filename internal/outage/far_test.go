package outage_test

import (
	"testing"
	"time"

	"svc.dev/svc/internal/outage/proxy"
)

// A node that is far from its database is slow, and works: it claims what is due, keeps its leases, and answers.
func TestNodeFarFromItsDatabaseWorks(t *testing.T) {
	t.Parallel()
	far := proxy.Rule{Delay: 400 * time.Millisecond} // each way
	for _, when := range pick([]string{"all at once"}, []string{"from its start", "all at once"}) {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			s := newSolo(t, 1, func(c *setup) { c.Lease = 0 })
			if when == "from its start" {
				s.proxies[0].Apply(far)
			}
			s.start()
			s.proxies[0].Apply(far)
			held := s.node.must(s.node.invoke("hold", "", holding{Steps: 1}))
			const nap = 11 * time.Second // the store wakes it
			id := s.node.must(s.node.invoke("doze", "", dozing{Millis: int(nap.Milliseconds()), Times: 1}))
			until(t, nap+15*time.Second, "a run wakes that was parked", func() bool { return s.diary().of(id).count(woke) > 0 }, s.node.Complaints)
			if n := s.diary().of(held).count(claimed); n != 1 {
				t.Errorf("a run that was at work all the time was claimed %d times%s", n, s.diary().of(held).told(0))
			}
			s.works("far", 20*time.Second)
			openGate(t, s.setup)
			for _, id := range []string{held, id} {
				until(t, 20*time.Second, "the run ends", func() bool { return s.observer.over(id) }, s.node.Complaints)
			}
		})
	}
}
