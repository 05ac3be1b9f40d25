package crash_test

import (
	"errors"
	"testing"

	"svc.dev/svc/conversation"
	"svc.dev/svc/internal/critic"
	"svc.dev/svc/internal/sqldb/sqldbtest"
)

// ordealOf plays a conversation that kills processes itself, or whose processes all die in a trap.
func (st *stage) ordealOf(k talk, next trap) (c *critique, deaths int) {
	st.t.Helper()
	st.raise(next)
	for {
		ids, told, err := st.converse(k, k.name, &audience{})
		if err == nil {
			c = judge(told)
			c.checkTalk(k, ids)
			c.checkTools(allEffects(st.setup.Effects)["tool"], deaths)
			st.criticize(k.name, c)
			return c, deaths
		}
		if !errors.Is(err, errDied) || deaths > 20 {
			st.t.Fatalf("%s after %d deaths: %v\n%s", k.name, deaths, err, st.node.Complaints())
		}
		st.node.Wait()
		if deaths++; deaths >= 3 {
			next = trap{}
		}
		st.raise(next)
	}
}

func TestSubmissionThatKillsEveryProcessIsGivenUp(t *testing.T) {
	ordeals := []struct {
		play  string
		trap  trap
		first line
		phase string
		tools string // that the last attempt left without a result
	}{
		{"deadly", trap{}, line{"deadly", "direct", "failed", "submission_retry_exhausted"}, "", ""},
		{"deadly-at-once", trap{}, line{"deadly-at-once", "direct", "failed", "submission_retry_exhausted"}, "", ""},
		{"deadly-tool", trap{}, line{"deadly-tool", "direct", "failed", "submission_retry_exhausted"}, "", "die"},
		{"unheard", trap{onAppend, 1, false}, line{"words", "direct", "failed", "submission_interrupted"}, "retry_exhausted_before_input", ""},
	}
	sqldbtest.Each(t, func(t *testing.T, address string) {
		for _, o := range ordeals {
			t.Run(o.play, func(t *testing.T) {
				st := newStage(t, address)
				k := talk{name: "ordeal-" + o.play, agent: "mortal", lines: []line{o.first, {"word", "direct", "completed", ""}}}
				c, deaths := st.ordealOf(k, o.trap)
				var s *conversation.Settlement
				for _, r := range c.Records {
					if r.Type == conversation.Settled {
						s = r.Settlement
						break
					}
				}
				if s == nil || s.Error == nil || critic.Print(s.Error.Meta["attemptCount"]) != "3" || critic.Print(s.Error.Meta["maxAttempts"]) != "3" {
					t.Fatalf("ended %s", critic.Print(s))
				}
				if phase, _ := s.Error.Meta["phase"].(string); phase != o.phase {
					t.Errorf("phase is %q, want %q", phase, o.phase)
				}
				tools := ""
				if list, _ := s.Error.Meta["interruptedTools"].([]any); len(list) == 1 {
					tools, _ = list[0].(map[string]any)["name"].(string)
				}
				if tools != o.tools {
					t.Errorf("interrupted tools are %s, want %q", critic.Print(s.Error.Meta["interruptedTools"]), o.tools)
				}
				if deaths != 3 {
					t.Errorf("it took %d processes", deaths)
				}
				t.Logf("%s: %d processes, settled %s", o.play, deaths, critic.Print(s))
				st.node.Stop()
			})
		}
	})
}
