package crash_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc.dev/svc/conversation"
	"svc.dev/svc/internal/critic"
	"svc.dev/svc/internal/sqldb/sqldbtest"
)

// prompt begins so many conversations at node a, and returns when each has said something.
func (p *pair) prompt(n int, play, hear string) (instances []string, ids map[string]string) {
	p.t.Helper()
	ids = map[string]string{}
	for i := range n {
		instance := fmt.Sprintf("%s-%d", play, i)
		r := request{Op: "prompt", Message: "play " + play, chatRequest: chatRequest{Agent: "talker", Instance: instance, Kind: "direct"}}
		ids[instance] = p.a.must(r).chatReply.Submission
		instances = append(instances, instance)
	}
	for _, instance := range instances {
		r := request{Op: "said", Message: hear, chatRequest: chatRequest{Agent: "talker", Instance: instance, Submission: ids[instance]}}
		p.a.must(r)
	}
	return instances, ids
}

// awaitChats lets the conversations end, seen from node b, and demands that all is well with them.
func (p *pair) awaitChats(play string, deaths int, ids map[string]string) map[string]*critique {
	p.t.Helper()
	all := map[string]*critique{}
	effects := allEffects(p.setup.Effects)
	for instance, id := range ids {
		c := judge(p.b.must(request{Op: "idle", chatRequest: chatRequest{Agent: "talker", Instance: instance}}).Chat)
		c.checkTalk(talk{lines: says(play)}, []string{id})
		c.checkTools(effects["tool"], deaths)
		for _, bad := range effects["request"]["malformed"] {
			c.Problem("a request was malformed: %s", bad.token)
		}
		if len(c.Problems) > 0 {
			p.t.Errorf("%s:\n- %s\nlog\n  %s", instance, strings.Join(c.Problems, "\n- "), c.Retold())
		}
		all[instance] = c
	}
	return all
}

// movedChats is how long after an instant the last of the conversations went on: the first record since.
func movedChats(t *testing.T, all map[string]*critique, since time.Time) (longest time.Duration) {
	t.Helper()
	for instance, c := range all {
		// The two advisories are the first that another says.
		at := time.Duration(-1)
		for _, r := range c.Records {
			if r.Hidden {
				at = time.UnixMilli(r.At).Sub(since)
				break
			}
		}
		if at < 0 {
			t.Errorf("%s was not interrupted\n  %s", instance, c.Retold())
		}
		longest = max(longest, at)
	}
	return longest
}

func TestConversationsOfAKilledProcessMoveWhenTheirLeasesLapse(t *testing.T) {
	t.Parallel()
	p := newPair(t, func(s *setup) {
		s.Pace = 50 * time.Millisecond
		if soak {
			s.Lease, s.Poll = 10*time.Second, time.Second // as the product has them
		}
	})
	_, ids := p.prompt(10, "march", "w3")
	since := time.Now()
	p.a.Kill()
	longest := movedChats(t, p.awaitChats("march", 1, ids), since)
	if longest > p.setup.Lease+p.setup.Poll+slack {
		t.Errorf("the last conversation moved after %v, lease %v, poll %v", longest, p.setup.Lease, p.setup.Poll)
	}
	t.Logf("%d conversations moved within %v, lease %v, poll %v", len(ids), longest.Round(time.Millisecond), p.setup.Lease, p.setup.Poll)
}

func TestConversationsOfAStoppedProcessMoveAtOnce(t *testing.T) {
	t.Parallel()
	p := newPair(t, func(s *setup) {
		s.Pace, s.Lease, s.StopTimeout = 50*time.Millisecond, 10*time.Second, 200*time.Millisecond
	})
	_, ids := p.prompt(10, "march", "w3")
	since := time.Now()
	p.a.Stop()
	stopped := time.Since(since)
	longest := movedChats(t, p.awaitChats("march", 0, ids), since)
	if longest > p.setup.StopTimeout+p.setup.Poll+slack {
		t.Errorf("the last conversation moved after %v", longest)
	}
	t.Logf("stopped in %v, %d conversations moved within %v", stopped.Round(time.Millisecond), len(ids), longest.Round(time.Millisecond))
}

// What is in progress at a graceful stop is no failure: neither a reply, nor a tool, nor a sub-agent's task may see it.
func TestGracefulStopIsNoResultOfATask(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, address string) {
		names, stops := []string{"delegate"}, 5
		if soak {
			names, stops = []string{"delegate", "tools", "cut-often", "tool"}, 30
		}
		for _, play := range names {
			st := newStage(t, address)
			st.setup.Pace, st.setup.StopTimeout = 10*time.Millisecond, 5*time.Second
			for i := range stops {
				st.raise(trap{})
				k := talk{name: fmt.Sprint(play, "-stopped-", i), lines: says(play)}
				r := request{Op: "prompt", Message: "play " + play, Key: "0", chatRequest: chatRequest{Agent: "talker", Instance: k.name, Kind: "direct"}}
				st.node.must(r)
				takes(time.Duration(i*300/stops) * time.Millisecond)
				st.node.Stop()
				st.raise(trap{})
				ids, told, err := st.converse(k, k.name, &audience{})
				if err != nil {
					t.Fatal(err)
				}
				c := judge(told)
				c.checkTalk(k, ids)
				c.checkTools(allEffects(st.setup.Effects)["tool"], 1)
				for _, r := range c.Records {
					for _, o := range r.Outcomes {
						if o.IsError {
							c.Problem("a graceful stop made %s", critic.Print(o))
						}
					}
				}
				st.criticize(fmt.Sprintf("stopped after %d ms", i*300/stops), c)
				st.node.Stop()
				if t.Failed() {
					return
				}
			}
		}
	})
}

func TestPausedProcessSaysNothingOnceItsConversationsAreTaken(t *testing.T) {
	t.Parallel()
	p := newPair(t, func(s *setup) { s.Pace = 40 * time.Millisecond })
	_, ids := p.prompt(10, "march", "w3")
	p.a.Signal(syscall.SIGSTOP)
	for instance, id := range ids {
		p.b.must(request{Op: "said", Message: "stream_continued", chatRequest: chatRequest{Agent: "talker", Instance: instance, Submission: id}})
	}
	p.a.Signal(syscall.SIGCONT)
	all := p.awaitChats("march", 1, ids)
	p.eventually("node a was refused", func() bool { return p.a.must(request{Op: "stats"}).Stats.Fenced > 0 })
	takes(100 * time.Millisecond) // in which node a could say more
	for instance, c := range all {
		started := 0
		for _, r := range c.Records {
			if r.Type == conversation.AssistantStarted {
				started++
			}
		}
		if started != 2 {
			t.Errorf("%s: %d replies, want one of each node\n  %s", instance, started, c.Retold())
		}
		now := p.a.must(request{Op: "chat", chatRequest: chatRequest{Agent: "talker", Instance: instance}}).Chat
		if len(now.Batches) != len(c.Told.Batches) || string(now.History) != string(c.Told.History) {
			t.Errorf("%s has %d batches, and had %d at its end", instance, len(now.Batches), len(c.Told.Batches))
		}
	}
	t.Logf("%d conversations taken over, %d writes of the paused process refused", len(ids), p.a.must(request{Op: "stats"}).Stats.Fenced)
}

// An abort that is heard of late must not end the submission that runs by then.
func TestAbortEndsOnlyWhatItNames(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, address string) {
		st := newStage(t, address)
		st.setup.Late, st.setup.Lease = 60*time.Millisecond, 200*time.Millisecond
		st.raise(trap{})
		times := 1
		if soak {
			times = 10
		}
		for range times {
			st.stageTalk(talk{name: "late", hear: "upon", aborts: []int{0}, lines: []line{
				{"hang", "direct", "aborted", "submission_aborted"}, {"words", "direct", "completed", ""}, {"words", "direct", "completed", ""},
			}})
			st.stageTalk(talk{name: "late-queued", hear: "upon", aborts: []int{2, 1, 0}, lines: []line{
				{"hang", "direct", "aborted", "submission_aborted"}, {"words", "direct", "aborted", "submission_aborted"},
				{"words", "direct", "aborted", "submission_aborted"}, {"words", "direct", "completed", ""}, {"word", "direct", "completed", ""},
			}})
		}
		st.node.Stop()
	})
}
