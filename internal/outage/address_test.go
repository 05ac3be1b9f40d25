package outage_test

import (
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"svc.dev/svc/internal/outage/cluster"
	"svc.dev/svc/internal/outage/proxy"
)

// solo is one node by way of a proxy, or of several.
type solo struct {
	t        *testing.T
	proxies  []*proxy.Proxy
	node     *process
	observer *observer
	setup    setup
}

func newSolo(t *testing.T, proxies int, change func(*setup)) *solo {
	t.Helper()
	address := cluster.Shared(t).Database(t)
	folder := t.TempDir()
	s := &solo{t: t, observer: observe(t, address), setup: setup{
		Name: "a", Diary: filepath.Join(folder, "diary"), Gate: filepath.Join(folder, "gate"), Lease: 2 * time.Second, Poll: 200 * time.Millisecond,
	}}
	var hosts []string
	for range proxies {
		p := proxy.Start(t, address)
		s.proxies, hosts = append(s.proxies, p), append(hosts, p.Host())
	}
	s.setup.Address = proxy.Via(address, hosts...)
	if change != nil {
		change(&s.setup)
	}
	return s
}

func (s *solo) start() *solo {
	s.t.Helper()
	s.node = startNode(s.t, s.setup)
	return s
}

func (s *solo) diary() diaries { return readDiary(s.t, s.setup.Diary) }

// works demands that a prompt is admitted and settled within a time, however often it has to be repeated.
func (s *solo) works(instance string, limit time.Duration) {
	s.t.Helper()
	began := time.Now()
	var last answer
	until(s.t, limit, "a prompt is admitted and settles", func() bool {
		if last.status != http.StatusAccepted {
			last = s.node.do(http.MethodPost, "/agents/assistant/"+instance, instance, message("n=1", nil), limit)
		}
		return last.status == http.StatusAccepted && s.observer.idle("assistant", instance)
	}, func() string { return "\nthe node answered " + last.String() + "\n" + s.node.Complaints() })
	if took := time.Since(began); took > limit {
		s.t.Errorf("a prompt was admitted and settled after %s, want %s", seconds(took), seconds(limit))
	}
	s.observer.readChat("assistant", instance, []string{last.id})
	s.t.Logf("%s: admitted and settled after %s", instance, seconds(time.Since(began)))
}

func TestDeadAddressCostsTenSecondsAtMost(t *testing.T) {
	t.Parallel()
	const most = 10 * time.Second
	t.Run("when a node starts", func(t *testing.T) {
		t.Parallel()
		s := newSolo(t, 2, nil)
		if err := s.proxies[0].Vanish(); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		s.start()
		took := time.Since(began)
		if took > most {
			t.Errorf("the node took %s to start", seconds(took))
		}
		t.Logf("the node took %s to start", seconds(took))
		s.works("first", most)
	})
	t.Run("when it vanishes", func(t *testing.T) {
		t.Parallel()
		s := newSolo(t, 2, nil).start()
		s.works("before", most)
		id := s.node.must(s.node.invoke("hold", "", holding{Steps: 1}))
		until(t, most, "a step is under way", func() bool { return s.diary().of(id).count(began) == 1 })
		if err := s.proxies[0].Vanish(); err != nil {
			t.Fatal(err)
		}
		s.works("after", most)
		openGate(t, s.setup)
		until(t, s.setup.Lease+most, "the run ends", func() bool { return s.observer.over(id) }, s.node.Complaints)
		s.observer.readRun(id, `"held"`)
	})
}

// A Sleep that is due while its node cannot reach the database fires when it can again, or where another node can.
func TestSleepFiresAfterAPartition(t *testing.T) {
	t.Parallel()
	lease := pick(2*time.Second, defaultLease)
	for _, sleep := range []struct {
		name  string
		takes time.Duration
	}{{"in memory", 5 * time.Second}, {"parked", 12 * time.Second}} {
		t.Run(sleep.name, func(t *testing.T) {
			t.Parallel()
			s := newSolo(t, 1, func(c *setup) { c.Lease = lease }).start()
			id := s.node.must(s.node.invoke("doze", "", dozing{Millis: int(sleep.takes.Milliseconds()), Times: 1}))
			until(t, 5*time.Second, "the run dozes", func() bool { return s.diary().of(id).count(dozed) > 0 })
			fell, _ := s.diary().of(id).first("a", dozed)
			lapse(fell.at, sleep.takes-2*time.Second)
			s.proxies[0].Apply(proxy.Rule{Lose: proxy.Both})
			lapse(fell.at, sleep.takes+time.Second)
			s.proxies[0].Heal()
			healed := instant()
			until(t, lease+10*time.Second, "the run wakes", func() bool { return s.diary().of(id).count(woke) > 0 }, func() string {
				return s.diary().of(id).told(healed) + "\n" + s.node.Complaints()
			})
			rose, _ := s.diary().of(id).last("a", woke)
			if late := rose.at - healed; late > lease+slack(healed, rose.at) {
				t.Errorf("the run woke %s after the network was whole, the lease is %s%s", seconds(late), seconds(lease), s.diary().of(id).told(healed))
			}
			until(t, lease+10*time.Second, "the run ends", func() bool { return s.observer.over(id) })
			s.observer.readRun(id, `"slept"`)
			t.Logf("a sleep of %v fired %s after the network was whole", sleep.takes, seconds(rose.at-healed))
		})
	}
	t.Run("at another node", func(t *testing.T) {
		t.Parallel()
		p := newPair(t, lease)
		const takes = 12 * time.Second
		id := p.a.must(p.a.invoke("doze", "", dozing{Millis: int(takes.Milliseconds()), Times: 1}))
		until(t, 5*time.Second, "the run dozes", func() bool { return p.diary().of(id).count(dozed) > 0 })
		fell, _ := p.diary().of(id).first("a", dozed)
		lapse(fell.at, takes-2*time.Second)
		p.proxy.Apply(proxy.Rule{Lose: proxy.Both})
		until(t, lease+10*time.Second, "the run wakes", func() bool { return p.diary().of(id).count(woke) > 0 }, func() string {
			return p.diary().of(id).told(fell.at)
		})
		rose, ok := p.diary().of(id).last("b", woke)
		if !ok || rose.at-fell.at > takes+slack(fell.at, rose.at) {
			t.Errorf("the run woke late, or where nobody could know%s", p.diary().of(id).told(fell.at))
		}
		until(t, 10*time.Second, "the run ends", func() bool { return p.observer.over(id) })
		p.observer.readRun(id, `"slept"`)
	})
}
